"""Whatever is wrong with what a person gave: one line that says what, where and what to do, and its exit code."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main
from tests.support.commands import REFERENCE, Desk, Done, listening

pytestmark = pytest.mark.e2e

MINIMAL = """\
name = "mini"
base_url = "http://127.0.0.1:9"
[authorization]
format = "Bearer {key}"
"""
ONE_KEY_TWICE = """\
credentials.a = { scopes = [], installation = "a", secret = { command = ["pwd"] } }
credentials.b = { scopes = [], installation = "b", secret = { command = ["pwd"] } }
"""


def called(desk: Desk, *given: object) -> Done:
    """The command within this process, in the desk's folder: quicker, and enough where pytest is never reached."""
    before = Path.cwd()
    os.chdir(desk.place)
    try:
        outcome = CliRunner().invoke(main, [str(word) for word in given], env=desk.environment)
    finally:
        os.chdir(before)
    return Done(outcome.exit_code, outcome.stdout, outcome.stderr)


def with_profile(text: str) -> Callable[[Desk], list[object]]:
    def write(desk: Desk) -> list[object]:
        (desk.place / "mine.toml").write_text(text)
        return ["run", "--profile", "mine.toml"]

    return write


def endless_file(desk: Desk) -> list[object]:
    words = with_profile("x")(desk)
    os.truncate(desk.place / "mine.toml", 1_000_000_000)
    return words


def schemas(text: str | None) -> Callable[[Desk], list[object]]:
    def write(desk: Desk) -> list[object]:
        if text is not None:
            (desk.place / "shapes.yaml").write_text(text)
        return with_profile(f'{MINIMAL}[schemas]\nfile = "shapes.yaml"\n')(desk)

    return write


def base_url(url: str) -> Callable[[Desk], list[object]]:
    return lambda desk: [*with_profile(MINIMAL)(desk), "--base-url", url]


def report_dir(make: Callable[[Path], object]) -> Callable[[Desk], list[object]]:
    def prepare(desk: Desk) -> list[object]:
        return ["run", *desk.target(), "--report-dir", make(desk.place)]

    return prepare


def filled(place: Path) -> Path:
    (place / "full").mkdir()
    (place / "full" / "thesis.txt").write_text("keep me")
    return place / "full"


def below_a_file(place: Path) -> Path:
    (place / "note").write_text("")
    return place / "note" / "report"


def sparse(place: Path) -> Path:
    with (place / "sparse.yaml").open("wb") as file:
        file.truncate(2**28)
    return place / "sparse.yaml"


def below_proc(place: Path) -> Path:
    return Path("/proc/nowhere/report")


PROBE = ["probe", "--base-url", "http://127.0.0.1:9", "--key", "env:PATH", "-o", "new.toml"]
BAD = {
    "profile missing": (lambda desk: ["run", "--profile", "nope.toml"], 2, ["nope.toml", "--profile"]),
    "folder without profiles": (lambda desk: ["run", "--profile", "."], 2, ["no profile in this folder", ".toml"]),
    "profile is not TOML": (with_profile("name = \n"), 2, ["mine.toml:1", "TOML"]),
    "profile is not a text": (lambda desk: ["run", "--profile", os.devnull], 2, ["name"]),
    "unknown key": (with_profile(MINIMAL + "[limits]\ntimeot_s = 3\n"), 2, ["limits.timeot_s", "timeout_s"]),
    "wrong type": (with_profile(MINIMAL + '[limits]\ntimeout_s = "soon"\n'), 2, ["limits.timeout_s"]),
    "unset secret": (
        with_profile(MINIMAL + '[credentials.full]\nscopes = []\nsecret = { env = "NOT_SET_ANYWHERE" }\n'),
        2,
        ["credentials.full.secret", "NOT_SET_ANYWHERE", "export"],
    ),
    "one key for two installations": (
        with_profile(ONE_KEY_TWICE + MINIMAL),
        2,
        ["credentials.b.secret", "the same key as credentials.a.secret, of other installation"],
    ),
    "schema file missing": (schemas(None), 2, ["schemas.file", "shapes.yaml"]),
    "schema file no YAML": (schemas("{ [ }"), 2, ["shapes.yaml"]),
    "schema invalid": (schemas("PublicErrorResponse: { type: 12 }\n"), 2, ["shapes.yaml", "PublicErrorResponse"]),
    "schema with half a character": (
        schemas('{"PublicErrorResponse": {"enum": ["\\ud800"]}}'),
        2,
        ["shapes.yaml", "PublicErrorResponse", "not Unicode"],
    ),
    "schema that lies elsewhere": (
        schemas('PublicErrorResponse: { "$schema": "http://127.0.0.1:9/dialect", type: object }\n'),
        2,
        ["shapes.yaml", "$schema", "leave it out"],
    ),
    "host with a long label": (base_url(f"http://{'a' * 64}.example"), 2, ["--base-url", "1 to 63 characters"]),
    "schema file with a long name": (
        with_profile(f'{MINIMAL}[schemas]\nfile = "{"a/" * 5000}"\n'),
        2,
        ["schemas.file"],
    ),
    "secret file with a long name": (
        with_profile(f'{MINIMAL}[credentials.full]\nscopes = []\nsecret = {{ file = "{"a" * 300}" }}\n'),
        2,
        ["credentials.full.secret", "too long"],
    ),
    "pattern without end": (
        with_profile(
            f'{MINIMAL}[idempotency]\ncarrier = "header"\nname = "K"\nformat = {{ pattern = "(a{{9999}}){{9999}}" }}\n'
        ),
        2,
        ["idempotency.format.pattern", "99,980,001 repetitions"],
    ),
    "tables in tables": (with_profile(f"{MINIMAL}[{'a.' * 5000}a]\n"), 2, ["mine.toml", "nested too deeply"]),
    "arrays in arrays": (with_profile(f"{MINIMAL}[variables]\nx = {'[' * 250}{']' * 250}\n"), 2, ["nested too deeply"]),
    "profile without end": (lambda desk: ["run", "--profile", "/dev/zero"], 2, ["/dev/zero", "is a device"]),
    "profile without end in a file": (endless_file, 2, ["mine.toml", "16,000,000 bytes"]),
    "openapi without end": (
        lambda desk: [*PROBE, "--openapi", "/dev/zero"],
        2,
        ["/dev/zero", "not a regular file"],
    ),
    "openapi of many megabytes": (
        lambda desk: [*PROBE, "--openapi", sparse(desk.place)],
        2,
        ["sparse.yaml", "longer than 16 MiB"],
    ),
    "target that is no text": (base_url("http://127.0.0.1:9/\udcff"), 2, ["--base-url"]),
    "target that is empty": (base_url(""), 2, ["--base-url", "empty", "variable"]),
    "variable without value": (
        lambda desk: [*with_profile(MINIMAL)(desk), "--var", "control"],
        2,
        ["--var", "NAME=VALUE"],
    ),
    "misspelt variable": (
        lambda desk: [*with_profile(MINIMAL + '[variables]\ncontrol = "x"\n')(desk), "--var", "contrl=y"],
        2,
        ["--var", "contrl", "did you mean control?"],
    ),
    "no URL": (base_url("shop"), 2, ["--base-url", "shop"]),
    "another scheme": (base_url("ftp://127.0.0.1/"), 2, ["--base-url", "http or https"]),
    "report folder not empty": (report_dir(filled), 2, ["full", "not empty", "--report-dir"]),
    "report folder below a file": (report_dir(below_a_file), 2, ["note", "--report-dir"]),
    "report folder with a long name": (report_dir(lambda place: place / ("r" * 256)), 2, ["--report-dir", "too long"]),
    "matrix that cannot be written": (
        lambda desk: ["faults", "F031", "--json", below_a_file(desk.place) / "matrix.json"],
        2,
        ["note"],
    ),
    "more gateways than a machine bears": (
        lambda desk: ["run", *desk.target(), "--tx", "99999*popen"],
        2,
        ["--tx", "more than 64 processes"],
    ),
    "report folder nowhere": (report_dir(below_proc), 2, ["/proc/nowhere", "--report-dir"]),
    "unknown fault": (lambda desk: ["demo", "--fault", "F999"], 2, ["F999", "`conformance list --faults`"]),
    "a fault as a variant": (lambda desk: ["demo", "--variant", "F031"], 2, ["F031 is a fault", "--fault F031"]),
    "unknown variant": (lambda desk: ["demo", "--variant", "nope"], 2, ["nope", "`conformance list --faults`"]),
    "misspelt fault": (lambda desk: ["faults", "F0031"], 2, ["F0031", "did you mean F031?"]),
    "list of faults by operation": (
        lambda desk: ["list", "--faults", "--operation", "checkoutPublicCart"],
        2,
        ["--operation: cannot be combined with --faults", "`conformance list --faults IDEM-4`"],
    ),
    "list of faults with checks": (lambda desk: ["list", "--faults", "--checks"], 2, ["--checks: cannot be combined"]),
    "list of faults by level": (lambda desk: ["list", "--faults", "--level", "required"], 2, ["--level: cannot be"]),
    "explain nothing": (lambda desk: ["explain", ""], 2, ["the ID is empty", "`conformance list --checks`"]),
    "explain a space": (lambda desk: ["explain", " ", "--run", "."], 2, ["the ID is empty"]),
    "list of no fault": (lambda desk: ["list", "--faults", "zebra"], 2, ["`conformance list --faults`"]),
    "explain what nothing resembles": (
        lambda desk: ["explain", "NOPE-1"],
        2,
        ["no requirement or check 'NOPE-1' (`conformance list --checks`"],
    ),
    "explain what there is not": (lambda desk: ["explain", "IDM-4"], 2, ["IDM-4", "IDEM-4"]),
    "list what there is not": (lambda desk: ["list", "zebra"], 2, ["conformance list"]),
    "list of an unknown operation": (lambda desk: ["list", "--operation", "checkoutCart"], 2, ["checkoutPublicCart"]),
    "report of nothing": (lambda desk: ["report", "nowhere"], 2, ["nowhere"]),
    "report of an empty folder": (lambda desk: ["report", "."], 2, ["journal.ndjson"]),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_one_line_with_its_exit_code(desk: Desk, case: str) -> None:
    """It names the place and the remedy, is not a traceback, and leaves no folder of reports behind."""
    prepare, code, words = BAD[case]
    given = prepare(desk)
    before = desk.left_behind()
    done = called(desk, *given)
    line = done.one_line()
    assert line.startswith("error: ")
    assert not done.out
    assert done.code == code, line
    assert [word for word in words if word not in line] == [], line
    assert desk.left_behind() == before


@pytest.mark.parametrize("case", ["profile missing", "report folder not empty"])
def test_a_process_says_the_same(desk: Desk, case: str) -> None:
    prepare, code, words = BAD[case]
    done = desk.conformance(*prepare(desk))
    assert (done.code, done.out) == (code, "")
    assert all(word in done.one_line() for word in words)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"220 mail.example ESMTP\r\n", ["does not speak HTTP", "http or https"]),
        (b"\x15\x03\x01\x00\x02\x02\x46", ["does not speak HTTP"]),
        (b"", ["does not speak HTTP"]),
    ],
    ids=["mail", "tls", "hangs up"],
)
def test_what_is_no_http_service_is_unreachable(desk: Desk, answer: bytes, words: list[str]) -> None:
    with listening(answer) as url:
        done = called(desk, *base_url(url)(desk))
    assert done.code == 4
    assert [word for word in [url, *words] if word not in done.one_line()] == []


def test_a_port_that_says_nothing_is_unreachable(desk: Desk) -> None:
    """It is waited for no longer than the profile's own time limit."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        done = called(desk, *with_profile(MINIMAL + "[limits]\ntimeout_s = 0.3\n")(desk), "--base-url", url)
    assert done.code == 4
    assert "no answer within 0.3 s" in done.one_line()


def test_https_spoken_to_an_http_port_is_unreachable(desk: Desk) -> None:
    secure = desk.service.base_url.replace("http:", "https:")
    done = called(desk, *base_url(secure)(desk))
    assert (done.code, secure in done.one_line()) == (4, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(desk: Desk) -> None:
    (desk.place / "locked").mkdir(mode=0o500)
    done = called(desk, "run", *desk.target(), "--report-dir", "locked/report")
    assert done.code == 2
    assert "locked/report" in done.one_line()


SELECTIONS = {
    "matches nothing": (["-k", "no_such_check"], "no check matches"),
    "no such marker": (["-m", "no_such_tier"], "no check matches"),
    "no such name": (["--only", "no_such_check[here]"], "no check matches"),
    "no expression": (["-k", "and and"], "-k: 'and and'"),
    "nothing, over two processes": (["-k", "no_such_check", "-n", "2"], "no check matches"),
}


@pytest.mark.parametrize("case", SELECTIONS)
def test_an_empty_selection_is_never_a_success(desk: Desk, case: str) -> None:
    """Nothing was certified: exit 2, and no folder stays behind."""
    given, words = SELECTIONS[case]
    done = desk.conformance("run", *desk.target(), "-q", *given)
    assert done.code == 2
    assert words in done.one_line()
    assert desk.left_behind() == []


@pytest.mark.parametrize(
    "given",
    [["-n", "many"], ["-n", "0"], ["--concurrency", "0"], ["--seed", "x"], ["--deadline", "-1"], ["--nonsense"]],
    ids=" ".join,
)
def test_a_command_line_that_makes_no_sense_is_exit_2(desk: Desk, given: list[str]) -> None:
    done = called(desk, "run", "--profile", REFERENCE, *given)
    assert done.code == 2
    assert given[0] in done.err
    assert "Traceback" not in done.text


@pytest.mark.parametrize("word", ["", "bogus"])
def test_no_command_and_an_unknown_one_are_exit_2(desk: Desk, word: str) -> None:
    assert called(desk, *([word] if word else [])).code == 2
