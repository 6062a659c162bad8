"""Two processes write the formats of a large run: the same files, and each error named."""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType

import pytest

from conformance import reports
from conformance.core.errors import ConformanceError
from conformance.core.model import Run
from conformance.reports import FORMATS, har, write_reports

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes can be forked here")


@pytest.fixture
def forking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some formats are written in a forked process, although the run is small and pytest has threads."""
    monkeypatch.setattr(reports, "_FEW_EXCHANGES", 0)
    monkeypatch.setattr(reports, "can_fork", lambda: True)


@pytest.mark.usefixtures("forking")
def test_two_processes_write_what_one_does(small: Run, tmp_path: Path) -> None:
    """Whichever of them writes a format: the same bytes, and the paths in the order of the formats."""
    paths = write_reports(small, tmp_path / "two")
    assert paths == [tmp_path / "two" / write(small, tmp_path).name for write in FORMATS.values()]
    for path in (path for path in tmp_path.rglob("*") if path.is_file() and "two" not in path.parts):
        assert (tmp_path / "two" / path.relative_to(tmp_path)).read_bytes() == path.read_bytes(), path.name


@pytest.mark.usefixtures("forking")
def test_a_format_that_fails_in_the_forked_process_is_named(
    small: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its error, as one that fails in the first process."""

    def fail(run: Run, directory: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(reports, "FORMATS", MappingProxyType({**FORMATS, "har": fail}))
    with pytest.raises(ConformanceError, match=r"har: OSError: .*No space left on device"):
        write_reports(small, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} >= {"junit.xml", "report.html", "run.json"}
    assert not (tmp_path / har.FILE).exists()


@pytest.mark.usefixtures("forking")
def test_a_forked_process_that_ends_is_made_good_for(
    small: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the system kills it for its memory: the first process writes its formats."""
    first = os.getpid()

    def end(run: Run, directory: Path) -> Path:
        if os.getpid() != first:
            os._exit(1)
        return FORMATS["har"](run, directory)

    monkeypatch.setattr(reports, "FORMATS", MappingProxyType({**FORMATS, "har": end}))
    assert len(write_reports(small, tmp_path)) == len(FORMATS)
    assert (tmp_path / har.FILE).exists()
