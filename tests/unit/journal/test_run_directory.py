"""Two runs that begin at once do not share a folder."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from conformance.core.errors import ConformanceError
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
