"""Reports in a folder that has files of others: what the suite did not write stays."""

from __future__ import annotations

from pathlib import Path

from conformance.core.model import Run
from conformance.reports import write_reports


def test_a_report_is_written_through_no_link(small: Run, tmp_path: Path) -> None:
    """A run folder may be somebody else's: what its links lead to stays. Rests of a killed run do no harm."""
    kept = tmp_path / "kept"
    kept.write_text("keep me")
    directory = tmp_path / "run"
    directory.mkdir()
    for name in ("report.html", "run.json"):
        (directory / name).symlink_to(kept)
        (directory / f"{name}.partial").symlink_to(kept)
    (directory / "junit.xml.partial").write_text("<testsu")
    write_reports(small, directory)
    assert kept.read_text() == "keep me"
    assert "<!doctype html>" in (directory / "report.html").read_text()
    assert {path.name for path in directory.glob("*.partial")} == {
        *("report.html.partial", "run.json.partial", "junit.xml.partial"),
    }


def test_reports_have_the_permissions_of_other_files(small: Run, tmp_path: Path) -> None:
    """Whom the umask lets read may read them."""
    (tmp_path / "other").write_text("")
    for path in write_reports(small, tmp_path, ["runjson", "html"]):
        assert path.stat().st_mode == (tmp_path / "other").stat().st_mode
