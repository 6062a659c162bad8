"""The run folders of a reports folder: `NAME`, and `targets-TIME/NAME/report` of runs of several targets."""

from __future__ import annotations

import os
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from conformance.journal.journal import NAME as JOURNAL
from conformance.reports.runjson import FILE

_OF_SEVERAL_TARGETS: Final = "targets-*/*/report/"
_PREFIX, _LEAF = "targets-", "report"


def reports_folder(directory: Path) -> Path:
    """The reports folder that a run's folder belongs to."""
    directory = directory.resolve()
    is_one_of_several = directory.name == _LEAF and directory.parent.parent.name.startswith(_PREFIX)
    return directory.parents[2] if is_one_of_several else directory.parent


def run_files(folder: Path) -> list[Path]:
    """The `run.json` files of the runs of a reports folder, sorted by path."""
    return sorted(path for prefix in ("*/", _OF_SEVERAL_TARGETS) for path in folder.glob(prefix + FILE))


def page_link(folder: Path, page: Path | None) -> str:
    """The relative address of a run's page from another page; empty where one of the two is missing."""
    target = folder / "report.html"
    if page is None or not target.is_file():
        return ""
    return quote(os.fsencode(os.path.relpath(target.resolve(), page.resolve().parent)))


def folders_without_report(folder: Path) -> list[Path]:
    """The folders of runs that were killed before their reports were written, or still run."""
    journals = (path for prefix in ("*/", _OF_SEVERAL_TARGETS) for path in folder.glob(prefix + JOURNAL))
    return sorted(path.parent for path in journals if not (path.parent / FILE).exists())


def is_same_target(first: str, second: str) -> bool:
    """Whether two base URLs are of one target. On the loopback interface, a port may be another one in each run."""
    return first == second or (
        _is_loopback(first)
        and _is_loopback(second)
        and urlsplit(first).path.rstrip("/") == urlsplit(second).path.rstrip("/")
    )


def _is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
