"""The eight situations in which people read the pages: their runs, their pages, and their pictures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.browser import NEEDED
from tests.support.commands import Desk, run_json, shared_reference
from tests.support.screenshots import picture_names, take_pictures
from tests.support.situations import MISSING, ONE_FAULT, REPORTS, SITUATIONS, TEN_FAULTS, make_situations

EIGHT = ["conformant", "incomplete", "one-fault", "ten-faults", "waived", "interrupted", "compare", "history"]
VERDICTS = {
    "conformant": "conformant",
    "incomplete": "incomplete",
    "one-fault": "nonconformant",
    "ten-faults": "nonconformant",
    "interrupted": "incomplete",
}


def test_the_situations_are_the_eight() -> None:
    """In two widths and two colour schemes each."""
    assert list(SITUATIONS) == EIGHT
    assert len(picture_names()) == len(set(picture_names())) == 8 * 2 * 2
    assert len(set(TEN_FAULTS)) == 10
    assert len(MISSING) == 3


@pytest.fixture(scope="module")
def situations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Path]]]:
    desk = Desk(tmp_path_factory.mktemp("situations"), shared_reference())
    yield desk.place / REPORTS, make_situations(desk)


@pytest.mark.slow
def test_each_run_is_in_its_situation(situations: tuple[Path, dict[str, Path]]) -> None:
    """By its verdict, its gaps, its waivers and how it ended."""
    reports, _ = situations
    runs = {name: run_json(reports / name) for name in (*VERDICTS, "waived")}
    assert {name: runs[name]["verdict"] for name in VERDICTS} == VERDICTS
    assert len(runs["incomplete"]["missing"]) == 3
    assert not runs["incomplete"]["causes"]
    assert runs["one-fault"]["target"].endswith(ONE_FAULT)
    assert runs["interrupted"]["interrupted"]
    assert all(cause["waived_by"] is not None for cause in runs["waived"]["causes"] if cause["outcome"] == "failed")
    assert runs["waived"]["scope"]["waived"]


@pytest.mark.slow
def test_the_history_names_the_torn_run(situations: tuple[Path, dict[str, Path]]) -> None:
    """And links to all others."""
    _, pages = situations
    text = pages["history"].read_text(encoding="utf-8")
    assert "torn/run.json: not a JSON document" in text
    assert all(f'href="{name}/report.html"' in text for name in EIGHT[:6])


@NEEDED
@pytest.mark.slow
def test_one_command_takes_all_pictures(situations: tuple[Path, dict[str, Path]], tmp_path: Path) -> None:
    """Into one folder, with a page that shows all of them."""
    _, pages = situations
    pictures = list(take_pictures({"history": pages["history"]}, tmp_path / "pictures", tmp_path / "browser"))
    assert [path.name for path in pictures] == [name for name in picture_names() if name.startswith("history")]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)
    assert all(name in (tmp_path / "pictures" / "index.html").read_text() for name in picture_names())
