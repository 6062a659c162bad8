"""Several profiles in one command: side by side, each with its own reports, one table and the gravest exit code."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main
from conformance.cli.options import options_from
from conformance.core.errors import UsageError
from conformance.core.option import Kind, Option
from conformance.core.run_options import OPTIONS, RunOptions
from conformance.runner.many_targets import _verdict_exit_code, profiles_in, shared_arguments
from tests.support.commands import REFERENCE, TIMEOUT_S, Desk, run_json, wait_until

pytestmark = pytest.mark.e2e

ONLY = ("-k", "getApiKeyIdentity and check_authentication")


def write_profile(desk: Desk, name: str, prefix: str, **instead: str) -> None:
    """The reference's, for one of the targets that it serves by prefix."""
    folder = desk.place / "profiles"
    folder.mkdir(exist_ok=True)
    text = REFERENCE.read_text(encoding="utf-8")
    text = text.replace("http://127.0.0.1:8765", instead.get("url", f"{desk.service.base_url}/{prefix}"))
    text = text.replace("http://127.0.0.1:8766", f"{desk.service.control_url}/{prefix}")
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    schemas = REFERENCE.with_name("reference.schemas.yaml")
    (folder / schemas.name).write_bytes(schemas.read_bytes())


def test_each_target_gets_its_verdict_and_the_gravest_is_that_of_all(desk: Desk) -> None:
    """A faulty one beside a good one and one that is not there; the template in the folder is not a target."""
    write_profile(desk, "good", "reference~many")
    write_profile(desk, "faulty", "F035")
    write_profile(desk, "gone", "", url="http://127.0.0.1:9")
    (desk.place / "profiles" / "template.toml").write_text("nothing = 1\n")
    done = desk.conformance("run", "--profile", "profiles", *ONLY, "--report-dir", "out")
    assert done.code == 4, done.text
    table = {line.split()[0]: line for line in done.out.splitlines() if re.match(r"(good|faulty|gone)\s{2,}", line)}
    assert set(table) == {"good", "faulty", "gone"}
    assert "incomplete" in table["good"]  # selected by -k
    assert "nonconformant" in table["faulty"]
    assert "unreachable" in table["gone"]
    assert "127.0.0.1:9" in done.out
    assert run_json(desk.place / "out" / "good" / "report")["counts"]["passed"] > 0
    assert run_json(desk.place / "out" / "faulty" / "report")["verdict"] == "nonconformant"
    assert (desk.place / "out" / "gone" / "output.txt").read_text().startswith("error: ")
    gone = run_json(desk.place / "out" / "gone" / "report")
    assert (gone["verdict"], "cannot connect" in gone["interrupted"]) == ("incomplete", True)


@pytest.mark.slow
def test_targets_share_nothing_but_the_command(desk: Desk) -> None:
    """Two profiles of one name, each with its own folder; what is said of one is not said of the other.

    What they are sent comes from one seed: they may be compared.
    """
    write_profile(desk, "one", "F035")
    (desk.place / "other").mkdir()
    for name in ("one.toml", "reference.schemas.yaml"):
        text = (desk.place / "profiles" / name).read_text().replace("/F035", "/reference~other")
        (desk.place / "other" / name).write_text(text)
    paths = ("--profile", "profiles/one.toml", "--profile", "other/one.toml")
    done = desk.conformance("run", *paths, *ONLY, "--report-dir", "out", "-q")
    assert done.code == 1, done.text
    told = [run_json(desk.place / "out" / name / "report") for name in ("one", "one-2")]
    assert [run["verdict"] for run in told] == ["nonconformant", "incomplete"]
    assert told[0]["seed"] == told[1]["seed"]
    assert re.fullmatch(r"\d+ [a-z]+(, \d+ [a-z]+)*; reports: out\n", done.out), done.out


@pytest.mark.parametrize(
    ("exit_code", "verdict", "stopping", "expected"),
    [
        (0, "conformant", False, 0),
        (1, "nonconformant", False, 1),
        (3, "incomplete", False, 3),
        (4, "incomplete", False, 4),
        (130, "incomplete", False, 130),
        (2, "", False, 2),
        (0, "", False, 5),
        (1, "", False, 5),
        (1, "incomplete", False, 5),
        (-9, "", False, 5),
        (1, "", True, 130),
        (-15, "", True, 130),
        (-2, "", True, 130),
    ],
)
def test_an_exit_code_is_a_verdict_if_the_report_has_the_same(
    exit_code: int, verdict: str, *, stopping: bool, expected: int
) -> None:
    """Python ends with 1 on an error, and a killed process with its signal: no run was judged there."""
    assert _verdict_exit_code(exit_code, verdict, stopping=stopping) == expected


def test_every_option_of_a_run_reaches_each_target(tmp_path: Path) -> None:
    """All that `conformance run` takes, but for what there is one of for each target."""
    given: dict[str, Any] = {option.name: value_for(option, tmp_path) for option in OPTIONS if option.flags}
    del given["base_url"], given["profile"]
    words = shared_arguments(RunOptions(**given))
    read = main.commands["run"].make_context("run", ["--profile", "x", *words]).params
    assert options_from({**read, "profile": None}) == RunOptions(**given)


def value_for(option: Option, place: Path) -> Any:
    """A value that is not the empty one."""
    numbers = {Kind.INTEGER: 3, Kind.NUMBER: 9.5, Kind.DURATION: 9.5, Kind.FLAG: True, Kind.WORKERS: "2"}
    others = {Kind.SHARD: "1/2", Kind.PATH: place, Kind.TEXT: "a", Kind.TEXTS: ("a", "b"), Kind.PAIRS: {"a": "1"}}
    return option.choices[0] if option.choices else {**numbers, **others}[option.kind]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_command_alone_ends_all_while_they_start(desk: Desk, number: signal.Signals) -> None:
    """To targets that take a connection and never answer, before any run has anything to judge."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        for name in ("a", "b"):
            write_profile(desk, name, "", url=f"http://127.0.0.1:{mute.getsockname()[1]}")
        process = desk.started(["-m", "conformance", "run", "--profile", "profiles", "--report-dir", "out"])
        wait_until(lambda: len(list((desk.place / "out").glob("*/output.txt"))) == 2, process)
        time.sleep(1.0)
        process.send_signal(number)
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130, out + err
    assert "Traceback" not in "".join(path.read_text() for path in (desk.place / "out").glob("*/output.txt"))


@pytest.mark.slow
def test_runs_end_with_the_command_that_was_killed(desk: Desk) -> None:
    """Nobody watches them any more: they send nothing more, and leave a report."""
    for name in ("a", "b"):
        write_profile(desk, name, f"reference~killed{name}")
    process = desk.started(["-m", "conformance", "run", "--profile", "profiles", "--report-dir", "out"])
    journals = [desk.place / "out" / name / "report" / "journal.ndjson" for name in ("a", "b")]
    wait_until(lambda: all(path.is_file() and path.stat().st_size > 200_000 for path in journals), process)
    process.kill()
    process.communicate(timeout=TIMEOUT_S)
    reports = [path.with_name("run.json") for path in journals]
    wait_until(lambda: all(path.is_file() for path in reports))
    assert [run_json(path.parent)["interrupted"] for path in reports] == ["SIGTERM", "SIGTERM"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_of_them_with_a_report_each(desk: Desk, number: signal.Signals) -> None:
    """As a terminal sends it, to the whole group, or as a pipeline does, to the command alone."""
    for name in ("a", "b"):
        write_profile(desk, name, f"reference~{name}{number}")
    process = desk.started(["-m", "conformance", "run", "--profile", "profiles", "--report-dir", "out"])
    journals = [desk.place / "out" / name / "report" / "journal.ndjson" for name in ("a", "b")]
    wait_until(lambda: all(path.is_file() and path.stat().st_size > 200_000 for path in journals), process)
    if number is signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130, out + err
    assert "Traceback" not in out + err
    for name in ("a", "b"):
        told = run_json(desk.place / "out" / name / "report")
        assert told["interrupted"] == number.name
        assert told["verdict"] == "incomplete"


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (("--base-url", "http://127.0.0.1:9"), "--base-url: not available with several targets"),
        (("--profile", "profiles/a.toml"), "is named twice"),
        (("--profile", "empty"), "empty: there is no profile in this folder"),
        (("--report-dir", "profiles"), "the report directory is not empty"),
        (("--resume", "profiles"), "--resume: not available with several targets"),
    ],
)
def test_what_makes_no_sense_for_several_is_said(desk: Desk, given: tuple[str, ...], what: str) -> None:
    for name in ("a", "b"):
        write_profile(desk, name, "reference")
    (desk.place / "empty").mkdir()
    done = desk.conformance("run", "--profile", "profiles", *given)
    assert done.code == 2
    assert what in done.one_line()


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["misspelt", "absent"])
def test_a_profile_that_does_not_load_is_refused_before_anything_is_sent(desk: Desk, trouble: str) -> None:
    """The other targets are not run for nothing."""
    for name in ("a", "b"):
        write_profile(desk, name, "reference")
    if trouble == "misspelt":
        with (desk.place / "profiles" / "b.toml").open("a") as file:
            file.write("\n[limmits]\nrate = 1\n")
    last = "b" if trouble == "misspelt" else "c"
    paths = ("--profile", "profiles/a.toml", "--profile", f"profiles/{last}.toml")
    done = desk.conformance("run", *paths, "--report-dir", "out")
    assert done.code == 2, done.text
    assert f"profiles/{last}.toml" in done.one_line()
    assert not (desk.place / "out").exists()


def test_a_variable_of_one_profile_is_none_of_the_others(desk: Desk) -> None:
    """Each run gets the variables that its own profile knows; one that no profile knows is refused."""
    for name in ("a", "b"):
        write_profile(desk, name, "reference")
    path = desk.place / "profiles" / "a.toml"
    path.write_text(path.read_text().replace("[variables]", '[variables]\nregion = "north"'))
    done = desk.conformance("run", "--profile", "profiles", "--var", "region=south", *ONLY, "--report-dir", "out")
    assert done.code == 3, done.text
    planned = desk.conformance("run", "--profile", "profiles", "--var", "region=south", "--plan", *ONLY)
    assert planned.code == 0, planned.text
    assert desk.conformance("run", "--profile", "profiles", "--var", "regoin=south", *ONLY).code == 2


def test_the_plan_of_several_is_that_of_each(desk: Desk) -> None:
    for name in ("a", "b"):
        write_profile(desk, name, "reference")
    done = desk.conformance("run", "--profile", "profiles", "--plan", *ONLY)
    assert done.code == 0, done.text
    assert "profiles/a.toml:" in done.out
    assert "profiles/b.toml:" in done.out


def test_a_file_is_taken_as_it_is_named(tmp_path: Path) -> None:
    """A folder's profiles are in order; a file that is not there is told by whoever reads it."""
    for name in ("b.toml", "a.toml", "template.toml", "notes.txt"):
        (tmp_path / name).write_text("")
    assert profiles_in([tmp_path]) == [tmp_path / "a.toml", tmp_path / "b.toml"]
    assert profiles_in([tmp_path / "template.toml", Path("gone.toml")]) == [
        tmp_path / "template.toml",
        Path("gone.toml"),
    ]
    with pytest.raises(UsageError):
        profiles_in([tmp_path, tmp_path / "a.toml"])
