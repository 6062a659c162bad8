"""The lines of a journal are typed, their schema is published, and what no reader knows is refused by name."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from click.testing import CliRunner

import conformance
from conformance.cli import main
from conformance.core.errors import JournalError
from conformance.core.model import Finding, Waiver
from conformance.journal.lines import (
    JOURNAL_VERSION,
    KINDS,
    SCHEMA,
    FixtureSpent,
    Line,
    ResourceCreated,
    ResourceRemoved,
    SegmentResumed,
    Shard,
    TrafficCounted,
    TrafficSource,
    decode,
    encode,
    json_schema,
    render_schema,
)
from conformance.journal.reader import read
from conformance.judge.assemble import assemble, load
from conformance.reports import runjson
from tests.integration.cli.test_odd_files import COMMANDS
from tests.support.journals import END, conformant_lines, exchange, journal, result, write_journal

PACKAGE = Path(conformance.__file__).parent
LINES: list[Line] = [
    *journal(
        [exchange(1, 200, Finding("ENV-1", "code", "m")), exchange(2, None, trouble="reset", retry_of="x1")],
        [result("a", notes=("n",), waived_by=1)],
        end=END,
        waivers=(Waiver("AUTH-1", "r", "o", "i", "2030-01-01"),),
        shard=Shard(1, 2, 5, "-k a"),
        observed=TrafficSource(("HAR a.har",), "shape"),
    ),
    ResourceCreated("cart", "open", ("1", "2")),
    ResourceRemoved("cart", ("1",), "409"),
    FixtureSpent("cart.open", 4),
    TrafficCounted("HAR a.har", 2, {"GET /x": 1}, {"cache": 3}),
    SegmentResumed(2, "SIGINT", 3, "c2", "2030-01-15T00:00:00Z"),
]
VALIDATOR = jsonschema_rs.validator_for(json.loads(SCHEMA.read_bytes()))


def test_the_published_schema_is_that_of_the_types() -> None:
    """`python -m conformance.journal.lines` writes it."""
    assert SCHEMA.read_text(encoding="utf-8") == render_schema()
    assert jsonschema_rs.meta.is_valid(json_schema())
    assert json_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_every_kind_of_line_is_what_the_schema_says_and_comes_back() -> None:
    """A line that lacks a member that has no default, or is of no kind, is not."""
    assert {json.loads(encode(line))["kind"] for line in LINES} == KINDS
    for line in LINES:
        value = json.loads(encode(line))
        VALIDATOR.validate(value)
        assert decode(encode(line)) == line
        assert not VALIDATOR.is_valid({**value, "kind": "note"})
        assert not VALIDATOR.is_valid({"kind": value["kind"]})


@pytest.mark.parametrize("text", ["é\u2028 \x9b31m«»", "\U0001f600", "\ud83d\ude00", "a\nb\x00\x1b[2J"])
def test_a_line_is_ascii_and_one_line(text: str) -> None:
    """A terminal that is shown the file obeys nothing in it, and no reader takes it for two lines."""
    raw = encode(FixtureSpent(text, 1))
    assert raw.isascii() and raw.decode().rstrip("\n").isprintable()
    assert len(raw.decode().splitlines()) == 1


@pytest.mark.parametrize("text", ["\ud800", "a\udc00b", "\udfff\ud800"])
def test_what_is_no_unicode_text_does_not_end_a_run(text: str) -> None:
    """A lone surrogate is escaped as in an answer: as one character for private use."""
    (line,) = [decode(encode(FixtureSpent(text, 1)))]
    assert isinstance(line, FixtureSpent)
    assert len(line.name) == len(text)
    line.name.encode()


@pytest.mark.parametrize(
    "bad",
    [
        '{"kind":"exchange"}',
        '{"kind":"exchange","exchange":{"id":"x","request":[]}}',
        '{"kind":"result","result":{"check":"a"}}',
        '{"kind":"fixture","name":"a","place":"b"}',
        json.dumps({"kind": "result", "result": {**json.loads(encode(LINES[3]))["result"], "outcome": "excellent"}}),
        json.dumps({"kind": "exchange", "exchange": {**json.loads(encode(LINES[1]))["exchange"], "findings": 5}}),
        json.dumps({"kind": "run", "schema_version": JOURNAL_VERSION}),
    ],
)
def test_a_line_of_another_shape_is_refused_with_its_place(bad: str, tmp_path: Path) -> None:
    """JournalError names the file, the line, and what is wrong with it; never a traceback."""
    path = tmp_path / "journal.ndjson"
    path.write_bytes(encode(FixtureSpent("a", 1)) + bad.encode() + b"\n")
    with pytest.raises(
        JournalError, match=r"line 2 does not fit the schema: .+ - at `\$|line 2 does not fit the schema: .+"
    ) as told:
        list(read(path))
    assert told.value.where == str(path)


@pytest.mark.parametrize(
    "started_at",
    [
        *("", "yesterday", "2030-01-15", "2030-01-15T00:00:00", "2030-13-15T00:00:00Z"),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"),  # in UTC of no year that Python knows
    ],
)
def test_a_start_without_a_time_is_refused(started_at: str) -> None:
    """A run that is resumed needs the time that has passed."""
    text = json.dumps({**json.loads(encode(LINES[0])), "started_at": started_at}).encode()
    with pytest.raises(JournalError, match=r"line 1 does not fit the schema: started_at is .*, which is not a time"):
        decode(text)


def test_memory_and_file_give_the_same_run(tmp_path: Path) -> None:
    """One fold: what a run in memory is judged by is what its file would be judged by."""
    lines = [line for line in LINES if not isinstance(line, SegmentResumed)]
    run, other = assemble(lines), load(write_journal(tmp_path, lines))
    assert run == other
    assert list(run.exchanges) == list(other.exchanges)


def _journal_of_another_version(folder: Path, version: Any) -> None:
    head, *rest = conformant_lines()
    told = json.loads(encode(head)) | {"schema_version": version}
    write_journal(folder, rest)
    text = (folder / "journal.ndjson").read_bytes()
    (folder / "journal.ndjson").write_bytes(json.dumps(told).encode() + b"\n" + text)


def _run_json(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(runjson.render(assemble(conformant_lines())))
    folder.mkdir(exist_ok=True)
    return value


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("version", [2, JOURNAL_VERSION + 1, None])
def test_a_journal_of_another_version_is_refused_by_every_command(
    command: str, version: int | None, tmp_path: Path
) -> None:
    """In one line: the file, the version found, the suite that wrote it, and the version read."""
    odd, good = tmp_path / "odd", write_journal(tmp_path / "good", conformant_lines())
    (good / "key.pem").write_text("none")
    _journal_of_another_version(odd, version)
    done = CliRunner().invoke(main, COMMANDS[command](odd, good))
    assert done.exit_code == 2
    found = f"is a journal of version {version}, written by version 1 of the suite; this suite reads version 3"
    assert f"{odd}/journal.ndjson: {found}" in done.output


@pytest.mark.parametrize("command", COMMANDS)
def test_a_line_of_an_unknown_kind_is_refused_by_every_command(command: str, tmp_path: Path) -> None:
    """A reader that passed over it would judge less than was recorded."""
    odd, good = tmp_path / "odd", write_journal(tmp_path / "good", conformant_lines())
    (good / "key.pem").write_text("none")
    lines = b"".join(map(encode, conformant_lines()))
    write_journal(odd, [])
    (odd / "journal.ndjson").write_bytes(lines.replace(b'\n{"kind":"end"', b'\n{"kind":"note"}\n{"kind":"end"'))
    done = CliRunner().invoke(main, COMMANDS[command](odd, good))
    assert done.exit_code == 2
    number = lines.count(b"\n")
    assert f"{odd}/journal.ndjson: line {number} has the kind 'note', which is unknown in version 3" in done.output


@pytest.mark.parametrize("version", [1, 3, None])
def test_history_names_a_run_json_of_another_version(version: int | None, tmp_path: Path) -> None:
    """And goes on with the others."""
    for name, value in (("a", {}), ("b", {"schema_version": version})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps(_run_json(tmp_path / name) | value))
    done = CliRunner().invoke(main, ["history", str(tmp_path)])
    assert done.exit_code == 0, done.output
    what = f"schema_version is {version!r}, written by version 1 of the suite; this suite reads 2"
    assert f"{tmp_path}/b/run.json: {what}" in done.output


def test_nobody_outside_of_the_journal_reads_its_lines_by_string_keys() -> None:
    """A line is a typed value: nothing is looked up in one, and no module but the journal's knows its JSON."""
    members = {
        name for kind in msgspec.json.schema_components([Line])[1].values() for name in kind.get("properties", ())
    }
    holders = re.compile(r"^(record|line|head|end|journal_line|planned|exchange)s?$")
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if {"journal", "reference"} & set(path.relative_to(PACKAGE).parts):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name, key = _lookup(node)
            if holders.match(name) and key in members | {"kind"}:
                found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}")  # type: ignore[attr-defined]
    assert found == []


def _lookup(node: ast.AST) -> tuple[str, str]:
    """The name that is looked into, and the string that is looked up: `head["seed"]`, `self.head.get("seed")`."""
    match node:
        case ast.Subscript(value=of, slice=ast.Constant(value=str(key))):
            return ast.unparse(of).rpartition(".")[2], key
        case ast.Call(func=ast.Attribute(value=of, attr="get" | "pop"), args=[ast.Constant(value=str(key)), *_]):
            return ast.unparse(of).rpartition(".")[2], key
    return "", ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('record["kind"]', ("record", "kind")),
        ('self.head.get("limits", {})', ("head", "limits")),
        ('record.pop("kind")', ("record", "kind")),
        ('end["finished_at"]', ("end", "finished_at")),
        ("end.finished_at", ("", "")),
    ],
)
def test_the_search_for_string_keys_sees_each_form_of_them(text: str, found: tuple[str, str]) -> None:
    assert _lookup(ast.parse(text, mode="eval").body) == found


@pytest.mark.parametrize("kind", [b"{}", b"[]", b"7", b"null"])
def test_a_kind_that_is_no_text_is_an_unknown_one(kind: bytes) -> None:
    """It is an error of the journal, not of the suite."""
    with pytest.raises(JournalError, match=r"line 3 (has the kind|is not a journal line|does not fit)"):
        decode(b'{"kind":' + kind + b"}", "j", 3)
