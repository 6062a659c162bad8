"""A run where its folder or its terminal is odd."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support.commands import REFERENCE, Desk, shared_reference

pytestmark = pytest.mark.e2e


def test_a_folder_whose_name_is_no_utf8(tmp_path: Path) -> None:
    """Old archives hold such names, and in the C locale every name beyond ASCII is one."""
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xff\xe9"))
    try:
        place.mkdir()
    except OSError:
        pytest.skip("this file system takes no such name")
    for file in (REFERENCE, REFERENCE.with_name("reference.schemas.yaml")):
        shutil.copy(file, place)
    desk = Desk(tmp_path, shared_reference())
    given = ["--profile", place / REFERENCE.name, *desk.target()[2:], "--report-dir", place / "out"]
    done = desk.conformance("run", *given, "-k", "check_not_found", "-q")
    assert done.code == 3, done.text
    assert (place / "out" / "report.html").stat().st_size


def test_a_folder_whose_name_controls_the_terminal(desk: Desk) -> None:
    """Its name is shown, and not obeyed; in the line of the report, in that which resumes the run, and in errors."""
    folder = "out\x1b[31m\nred"
    words = ["run", *desk.target(), "-k", "check_not_found", "--report-dir", folder]
    done = desk.conformance(*words, "--max-requests", "5")
    assert done.code == 3, done.text
    assert "report: out⟨U+001B⟩[31m⟨U+000A⟩red/report.html\n" in done.out
    assert (desk.place / folder / "report.html").is_file()
    again = desk.conformance(*words)
    assert (again.code, "out⟨U+001B⟩[31m red: the report directory is not empty" in again.err) == (2, True), again.text
    plain = desk.pytest("-k", "check_not_found", "--conformance-report-dir", "b\x1b[31m")
    assert "report: b⟨U+001B⟩[31m/report.html\n" in plain.out
    assert "\x1b" not in done.text + again.text + plain.text


@pytest.mark.parametrize("encoding", ["ascii", "ascii:strict", "utf-16", "cp037"])
def test_a_terminal_of_another_encoding(tmp_path: Path, encoding: str) -> None:
    """The output is in that encoding; a character that it lacks is a question mark."""
    desk = Desk(tmp_path, shared_reference(), {"PYTHONIOENCODING": encoding})
    codec = encoding.partition(":")[0]
    process = desk.started(
        ["-m", "conformance", "demo", "-k", "check_not_found", "--report-dir", "out"], encoding=codec
    )
    done = desk.finished(process)
    assert done.code == 3, done.text
    assert "INCOMPLETE: 11 of 20 operations" in done.out
    (tmp_path / "b.toml").write_text('name = "b"\nbase_url = "http://127.0.0.1:9"\n[authorization]\nformat = "{key}"\n')
    (tmp_path / "c.toml").write_text('name = "c"\nbase_url = "http://127.0.0.1:9"\n[authorization]\nformat = "{key}"\n')
    several = ["-m", "conformance", "run", "--profile", "b.toml", "--profile", "c.toml", "--report-dir", "two"]
    done = desk.finished(desk.started(several, encoding=codec))
    assert done.code == 4, done.text
    assert "cannot connect: Connection refused" in done.out


@pytest.mark.parametrize("columns", ["0", "1", "none"])
def test_a_terminal_of_no_width_still_shows_the_verdict(tmp_path: Path, columns: str) -> None:
    """Serial consoles and some pipelines say that they have 0 columns."""
    desk = Desk(tmp_path, shared_reference(), {"COLUMNS": columns})
    done = desk.conformance("run", *desk.target(), "-k", "check_not_found", "-q")
    assert done.code == 3
    assert "INCOMPLETE" in done.out
