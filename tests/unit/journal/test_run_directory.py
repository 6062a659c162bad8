"""Two runs that begin at once do not share a folder."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from conformance.core.errors import ConformanceError, ReportDirError
from conformance.journal import run_directory
from conformance.journal.run_directory import claim_directory


def _claims(requested: Path | None) -> list[Path | None]:
    """The folders of two claims at the same time; None for one that was refused."""
    barrier = Barrier(2)

    def claim() -> Path | None:
        barrier.wait(5)
        try:
            return claim_directory(requested, "http://127.0.0.1")[0]
        except ConformanceError:
            return None

    with ThreadPoolExecutor(2) as pool:
        return [future.result(10) for future in [pool.submit(claim) for _ in range(2)]]


def test_a_requested_folder_is_claimed_once(tmp_path: Path) -> None:
    """The other run ends with an error: it has not asked for another folder."""
    for number in range(40):
        folder = tmp_path / str(number)
        assert sorted(map(str, _claims(folder))) == sorted(["None", str(folder)])


def test_default_folders_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs without a requested folder each get one."""
    monkeypatch.chdir(tmp_path)
    for _ in range(40):
        first, second = _claims(None)
        assert first is not None and second is not None and first != second


@pytest.mark.parametrize("requested", [None, Path("reports"), Path("reports/mine")])
def test_a_broken_link_is_named(requested: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`reports` may be a link to a disk that is not there: no run has claimed that folder. The link stays."""
    monkeypatch.chdir(tmp_path)
    Path("reports").symlink_to("not/there")
    with pytest.raises(ReportDirError, match=r"^reports: broken symbolic link to not/there .*--report-dir"):
        claim_directory(requested, "http://127.0.0.1")
    assert Path("reports").is_symlink() and not Path("not").exists()


def test_rivals_come_to_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each folder is claimed by another run, the error says so."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reports/taken").mkdir(parents=True)
    monkeypatch.setattr(run_directory, "_unused_path", lambda _: Path("reports/taken"))
    with pytest.raises(ReportDirError, match=r"^reports: other runs claim every folder"):
        claim_directory(None, "http://127.0.0.1")
