"""On a disk that fills up, what is read first is there, and nothing that was written in part."""

from __future__ import annotations

import resource
from pathlib import Path
from types import MappingProxyType

import pytest

from conformance import reports
from conformance.core.errors import ConformanceError
from conformance.core.model import Run
from conformance.reports import FORMATS, write_reports


def test_what_is_read_first_is_written_first(small: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a disk that fills up, Allure's many files do not take the room of the verdict."""
    order: list[str] = []

    def writer(name: str) -> reports.Writer:
        return lambda _, directory: order.append(name) or directory

    monkeypatch.setattr(reports, "FORMATS", MappingProxyType({name: writer(name) for name in FORMATS}))
    write_reports(small, tmp_path)
    assert order[:4] == ["runjson", "junit", "summary", "html"]
    assert order[-1] == "allure" and set(order) == set(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_cannot_be_written_leaves_nothing(name: str, small: Run, tmp_path: Path) -> None:
    """No file without a byte that a pipeline would take for a report, and no half of Allure's folder."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(ConformanceError, match=f"not written: {name}: (File too large|No space left)"):
            write_reports(small, tmp_path, [name])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.iterdir())
