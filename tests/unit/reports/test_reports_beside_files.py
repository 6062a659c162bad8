"""Reports in a folder that has files of others: what the suite did not write stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.core.errors import ReportDirError
from conformance.core.model import Run
from conformance.reports import allure, write_reports
from tests.support.runs import run_of


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


RESULT = "0b138457-a33f-4306-a712-f015e4c2f2a4-result.json"


@pytest.mark.parametrize("name", [RESULT, "categories.json", "environment.properties", "notes.txt", "history"])
def test_results_of_another_tool_stay(name: str, small: Run, tmp_path: Path) -> None:
    """Other tools of a project write `allure-results/` too. The other formats are written."""
    folder = tmp_path / allure.FOLDER
    folder.mkdir()
    (folder / name).write_text('{"labels":[{"name":"framework","value":"pytest"}]}')
    with pytest.raises(ReportDirError, match="has files that the suite did not write, such as") as raised:
        write_reports(small, tmp_path)
    assert name in str(raised.value) and str(folder) in str(raised.value) and "-o" in str(raised.value)
    assert [path.name for path in folder.iterdir()] == [name]
    assert {path.name for path in tmp_path.iterdir()} > {"run.json", "junit.xml", "report.html"}


def test_results_of_a_link_stay(small: Run, tmp_path: Path) -> None:
    """The error names the link, and what to do; the command that failed is no remedy."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / allure.FOLDER).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ReportDirError, match=r"allure-results: is a symbolic link \(move it") as raised:
        write_reports(small, tmp_path / "run", ["allure"])
    assert "writes all again" not in str(raised.value)
    assert not list((tmp_path / "elsewhere").iterdir())
    assert [path.name for path in (tmp_path / "run").iterdir()] == [allure.FOLDER]


def test_own_results_are_replaced(small: Run, tmp_path: Path) -> None:
    """Those of an earlier run, with evidence, and of none whose checks had results."""
    allure.write_file(small, tmp_path)
    first = {path.name for path in (tmp_path / allure.FOLDER).iterdir()}
    assert any(name.endswith("-attachment.txt") for name in first)
    allure.write_file(run_of([]), tmp_path)
    assert {path.name for path in (tmp_path / allure.FOLDER).iterdir()} == {"categories.json", "environment.properties"}
    allure.write_file(small, tmp_path)
    assert {path.name for path in (tmp_path / allure.FOLDER).iterdir()} == first
    assert {path.name for path in tmp_path.iterdir()} == {allure.FOLDER, allure.CONFIGURATION}
