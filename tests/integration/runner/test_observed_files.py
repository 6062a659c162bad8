"""`conformance observe --har`: a recording is judged, reported, compared and explained as a run is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conformance.cli import main
from conformance.core.errors import JournalError
from conformance.journal.journal import Journal
from conformance.journal.lines import Line
from tests.support.recordings import BASE, GOOD, JSON, entry, har, profile

NOT_FOUND = '{"error":{"code":"not_found","message":"no such thing"}}'


def observe(folder: Path, raw: bytes, *words: str, stated: str = "") -> Result:
    (folder / "a.har").write_bytes(raw)
    arguments = ["--profile", str(profile(folder, stated)), "--har", str(folder / "a.har")]
    return CliRunner().invoke(main, ["observe", *arguments, "--report-dir", str(folder / "out"), *words])


def run_of(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "out" / "run.json").read_text())
    return loaded


def test_good_traffic_is_incomplete(tmp_path: Path) -> None:
    """Exit 3; every report is written, and each says that it was observed."""
    done = observe(tmp_path, har([entry(), entry("/api/v1/catalog/merchants/x/products", 404, NOT_FOUND)]))
    assert done.exit_code == 3, done.output
    assert run_of(tmp_path)["verdict"] == "incomplete"
    for name in ("summary.md", "report.html"):
        text = (tmp_path / "out" / name).read_text()
        assert "never conformant" in text and "not seen in the traffic" in text
    assert "never conformant" in done.output


def test_a_violation_is_found_and_explained(tmp_path: Path) -> None:
    """Exit 1; `explain`, `compare`, `history` and `report` take the folder as any other."""
    done = observe(tmp_path, har([entry(text='{"data":[]}'), entry(status=500, text=NOT_FOUND)]))
    assert done.exit_code == 1, done.output
    failed = {r["requirement"] for r in run_of(tmp_path)["results"] if r["outcome"] == "failed"}
    assert failed == {"ENV-2", "STA-1"}
    out = str(tmp_path / "out")
    runner = CliRunner()
    assert "data is an array" in runner.invoke(main, ["explain", "ENV-2", "--run", out]).output
    assert runner.invoke(main, ["compare", out, out]).exit_code == 0
    assert runner.invoke(main, ["history", str(tmp_path)]).exit_code == 0
    assert runner.invoke(main, ["report", out]).exit_code == 0


@pytest.mark.parametrize(("words", "failed"), [((), set()), (("--all-traffic",), {"RATE-7"})])
def test_whether_a_limit_ends_is_judged_where_all_traffic_is_seen(
    tmp_path: Path, words: tuple[str, ...], failed: set[str]
) -> None:
    """Otherwise another client may have used the limit up again; the advice names the option."""
    limited = '{"error":{"code":"rate_limited","message":"too many requests"}}'
    again = [entry(status=429, text=limited, at=at, headers={**JSON, "Retry-After": "1"}) for at in (0, 1, 9, 10)]
    done = observe(tmp_path, har(again), *words, stated="[rate_limit]\nretry_after = true\n")
    results = run_of(tmp_path)["results"]
    assert {r["requirement"] for r in results if r["outcome"] == "failed"} == failed, done.output
    assert any("--all-traffic" in r["message"] for r in results if r["requirement"] == "RATE-7")


def test_what_is_left_out_is_counted_and_named(tmp_path: Path) -> None:
    """Other hosts are counted; requests that are not operations are named without ids and people's data."""
    others = [entry(base="https://cdn.example"), entry("/api/v1/users/jane@example.com/17"), entry(_fromCache="disk")]
    observe(tmp_path, har([entry(), *others, 5]))
    observed = run_of(tmp_path)["observed"]
    assert observed["foreign"] == 1
    assert observed["unknown"] == {"GET /api/v1/users/{}/{}": 1}
    assert observed["skipped"] == {"answered by the recorder's cache": 1, "an entry without request": 1}


@pytest.mark.parametrize(
    ("made", "requirement"),
    [
        (entry(text=None), "ENV-1"),
        (entry(text='{"data":', content={"size": 99}), "ENV-1"),
        (entry(text="", status=304, sent={"If-None-Match": '"a"'}), "STA-1"),
        (entry(text="", status=412, sent={"If-Match": '"a"'}), "STA-1"),
        (entry(text='{"data":["«redacted»"]}'), "ENV-2"),
        (entry("/api/v1/catalog/merchants/a%2fb/products", 500, "no"), "STA-1"),
    ],
)
def test_what_a_recording_does_not_show_for_sure_is_not_judged(tmp_path: Path, made: Any, requirement: str) -> None:
    """Bodies that are missing, cut or redacted; statuses of HTTP's own; paths that servers read differently."""
    done = observe(tmp_path, har([made]))
    assert done.exit_code == 3, done.output
    outcomes = {r["outcome"] for r in run_of(tmp_path)["results"] if r["requirement"] == requirement}
    assert outcomes <= {"untested", "unstated", "inapplicable"}


def test_a_truncated_file_keeps_what_was_judged_before(tmp_path: Path) -> None:
    """Exit 2 with one line; the reports hold the exchanges before that place, and say why it ended."""
    done = observe(tmp_path, har([entry(), entry(text="[]")])[:-200])
    assert done.exit_code == 2, done.output
    run = run_of(tmp_path)
    assert run["traffic"]["requests"] == 1
    assert "after entry 1" in run["interrupted"]


@pytest.mark.parametrize("raw", [b"", b"no har", b"[]", b"PK\x03\x04"])
def test_no_har_leaves_no_folder(tmp_path: Path, raw: bytes) -> None:
    """One line, exit 2, nothing written."""
    done = observe(tmp_path, raw)
    assert done.exit_code == 2
    assert len(done.output.strip().splitlines()) == 1 and "a.har" in done.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "either --har or --listen"),
        (["--har", "none.har"], "No such file"),
        (["--har", "a.har", "--for", "10m"], "needs --listen"),
        (["--har", "a.har", "--strict"], "needs --listen"),
        (["--listen", "8899"], "is not an address"),
        (["--listen", "127.0.0.1:0", "--for", "soon"], "is not a number of seconds"),
    ],
)
def test_bad_options_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], problem: str
) -> None:
    """Exit 2, and the line says what to give."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.har").write_bytes(har([entry()]))
    done = CliRunner().invoke(main, ["observe", "--profile", str(profile(tmp_path)), *words])
    assert (done.exit_code, problem in done.output) == (2, True), done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.har", "shop.toml"]


def test_standard_input_and_several_files(tmp_path: Path) -> None:
    """`-` is read once; an exchange that two files have counts once."""
    for name in ("a.har", "b.har"):
        (tmp_path / name).write_bytes(har([entry(at=1), entry(at=2 if name == "a.har" else 3)]))
    words = ["--profile", str(profile(tmp_path)), "--report-dir", str(tmp_path / "out")]
    files = [word for name in ("a.har", "b.har") for word in ("--har", str(tmp_path / name))]
    done = CliRunner().invoke(main, ["observe", *words, *files, "--har", "-"], input=har([entry(at=9)]))
    assert done.exit_code == 3, done.output
    run = run_of(tmp_path)
    assert run["traffic"]["requests"] == 4
    assert run["observed"]["skipped"] == {"recorded in another file too": 1}
    assert run["observed"]["sources"] == ["HAR a.har", "HAR b.har", "HAR standard input"]


def test_the_gate_fails_on_new_violations_only(tmp_path: Path) -> None:
    """Without --observed it is blocked, since an observed run is incomplete; with it, only what is new blocks."""
    runner, folders = CliRunner(), {}
    for name, text in (("good", GOOD), ("bad", '{"data":[]}')):
        folders[name] = tmp_path / name / "out"
        folders[name].parent.mkdir()
        observe(tmp_path / name, har([entry(text=text)]))

    def gate(*words: object) -> int:
        return runner.invoke(main, ["gate", *map(str, words)]).exit_code

    good, bad = folders["good"], folders["bad"]
    assert gate(good) == 3
    assert gate(good, "--observed") == 0
    assert gate(bad, "--observed") == 1
    assert gate(bad, "--observed", "--baseline", good) == 1
    assert gate(bad, "--observed", "--baseline", bad) == 0
    answer = runner.invoke(main, ["gate", str(good), "--observed"]).output
    assert "no violation was found in the observed traffic" in answer and "not a verdict" in answer


def test_a_key_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Observing needs no key: the traffic is judged without it."""
    words = ["--profile", str(profile(tmp_path, '[credentials.full]\nsecret = { env = "NO_SUCH_KEY" }\nscopes = []\n'))]
    (tmp_path / "a.har").write_bytes(har([entry()]))
    words += ["--har", str(tmp_path / "a.har"), "--report-dir", str(tmp_path / "out")]
    done = CliRunner().invoke(main, ["observe", *words])
    assert done.exit_code == 3 and "not recognised: full" in done.output


def test_base_url_and_headers_of_recordings(tmp_path: Path) -> None:
    """A recording of another host is judged with --base-url; a response without headers has its media type."""
    made = entry(base="http://127.0.0.1:9/x", headers={})
    done = observe(tmp_path, har([made]), "--base-url", "http://127.0.0.1:9/x")
    assert done.exit_code == 3, done.output
    run = run_of(tmp_path)
    assert run["traffic"]["requests"] == 1
    assert BASE not in json.dumps(run) and JSON


def test_a_full_disk_keeps_what_was_judged_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 5 with one line that names the folder; its reports hold the exchanges before that."""
    written: list[Line] = []
    append = Journal.append

    def full_after_three(self: Journal, line: Line) -> None:
        if len(written) == 3:
            raise JournalError("No space left on device", where=str(self.path))
        written.append(line)
        append(self, line)

    monkeypatch.setattr(Journal, "append", full_after_three)
    done = observe(tmp_path, har([entry(at=number) for number in range(9)]), "-q")
    assert done.exit_code == 5
    assert "No space left on device" in done.output and str(tmp_path / "out") in done.output
    assert len(done.output.strip().splitlines()) == 1
    assert run_of(tmp_path)["traffic"]["requests"] == 2
