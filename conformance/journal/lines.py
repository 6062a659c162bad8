"""The lines of a journal: one type for each kind, their JSON, and the version of the format.

A line is one JSON object in ASCII, whose member `kind` names its type. Its JSON Schema is `journal.schema.json`, which
`python -m conformance.journal.lines` writes.
"""

from __future__ import annotations

import codecs
import inspect
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import msgspec

from conformance.core.errors import JournalError
from conformance.core.law_facts import LawFacts
from conformance.core.model import Exchange, OperationInfo, ProfileInfo, Requirement, Result, Suite, Waiver
from conformance.core.outcomes import Level
from conformance.core.strict_json import replace_surrogates

JOURNAL_VERSION: Final = 3
"""Incremented whenever a reader of the previous version would misread a line."""
SCHEMA: Final = Path(__file__).with_name("journal.schema.json")


class _Line(msgspec.Struct, frozen=True, tag_field="kind"):
    """One line."""


class PlannedCheck(msgspec.Struct, frozen=True):
    """One check that a run will judge."""

    check: str
    requirement: str
    operation: str
    case: str
    level: Level = Level.REQUIRED
    reproduce: str = ""
    left_out: bool = False
    """It is not run in this depth, and stays untested."""


class Shard(msgspec.Struct, frozen=True):
    """The part of a run that a journal holds: number `number` of `of`, from 1."""

    number: int
    of: int
    all: int
    """The number of checks that the profile calls for."""
    asked: str = ""
    """The selection of checks, as text."""


class TrafficSource(msgspec.Struct, frozen=True):
    """Where the exchanges of an observed run come from."""

    sources: tuple[str, ...]
    bodies: str = "redacted"
    """`redacted` or `shape`."""


class RunStarted(_Line, frozen=True, tag="run"):
    """The first line: the identity of the run, and everything that it will judge."""

    schema_version: Literal[3]
    suite: Suite
    target: str
    profile: ProfileInfo
    seed: int
    run: str
    """The prefix of all names that the run creates at the target."""
    started_at: str
    requirements: tuple[Requirement, ...]
    operations: tuple[OperationInfo, ...]
    planned: tuple[PlannedCheck, ...]
    examples: int
    depth: str = "standard"
    """`quick`, `standard` or `deep`."""
    filtered: bool = False
    again: str = ""
    """The command that runs this profile against this target again."""
    options: Mapping[str, Any] = {}
    """The options of the run, as `RunOptions.to_json` returns them."""
    unreachable: Mapping[str, Mapping[str, str]] = {}
    """operationId -> declared status -> why no caller can cause it."""
    exclusions: Mapping[str, str] = {}
    """The profile's exclusions: dotted key -> reason."""
    provokes: bool = False
    """Whether the profile allows provoking a rate limit."""
    answer_schemas: Mapping[str, str] = {}
    """operationId -> the interface's name of the schema of its 200."""
    unverified: bool = False
    """Whether the target is called over TLS and the profile says not to verify its certificate."""
    further_members: str = ""
    """The profile's word on members that schemas do not name: `allowed`, `never`, or empty."""
    laws: LawFacts | None = None
    """For observed traffic: what the laws over several exchanges need to know. None: they do not judge this run."""
    waivers: tuple[Waiver, ...] = ()
    shard: Shard | None = None
    shards: int = 0
    """The number of shards that were merged into this journal; 0 where it was not merged."""
    observed: TrafficSource | None = None
    """Of a run that sends nothing and judges the traffic of others."""


class ExchangeRecorded(_Line, frozen=True, tag="exchange"):
    """A request was sent: the exchange."""

    exchange: Exchange


class TrafficCounted(_Line, frozen=True, tag="traffic"):
    """How much of an observed source was left out so far. The last line about a source counts."""

    source: str
    foreign: int = 0
    unknown: Mapping[str, int] = {}
    """Requests to the target that are not operations of the interface."""
    skipped: Mapping[str, int] = {}
    """Reason -> number of exchanges."""


class CheckConcluded(_Line, frozen=True, tag="result"):
    """A check ended. The last line about a check counts."""

    result: Result


class ResourceCreated(_Line, frozen=True, tag="created"):
    """The run created resources of one kind in one state."""

    of: str
    state: str
    ids: tuple[str, ...]


class ResourceRemoved(_Line, frozen=True, tag="removed"):
    """The run removed resources of one kind. `trouble`: why some of them could not be removed."""

    of: str
    ids: tuple[str, ...]
    trouble: str = ""


class FixtureSpent(_Line, frozen=True, tag="fixture"):
    """The value at `place` of a static list was used; no later segment of the run may use it again."""

    name: str
    place: int


class SegmentResumed(_Line, frozen=True, tag="resumed"):
    """The run was resumed after an interruption. `after`: how the previous segment ended."""

    part: int
    """The number of the new segment; 2 for the first that is resumed."""
    after: str
    left: int
    """The number of checks that it will judge."""
    run: str
    started_at: str


class TrafficStats(msgspec.Struct, frozen=True):
    """The traffic of one process; the members are those of `model.Traffic`."""

    waited_s: float = 0.0
    waited_clock_s: float = 0.0
    limited: int = 0
    lost: int = 0
    most_in_flight: int = 0
    slowest_rate: float | None = None


class SegmentEnded(_Line, frozen=True, tag="end"):
    """A process of a segment ended. Without such a line of the controller (no `worker`), the segment was killed."""

    finished_at: str
    interrupted: str = ""
    """Why it ended early; empty where it is complete."""
    worker: str = ""
    traffic: TrafficStats = TrafficStats()
    fixtures: Mapping[str, int] = {}
    """Fixture -> number of values used."""


Line: TypeAlias = (
    RunStarted
    | ExchangeRecorded
    | TrafficCounted
    | CheckConcluded
    | ResourceCreated
    | ResourceRemoved
    | FixtureSpent
    | SegmentResumed
    | SegmentEnded
)
KINDS: Final = frozenset(str(line.__struct_config__.tag) for line in get_args(Line))
_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Line)
_ESCAPE: Final = "conformance.json-escape"
codecs.register_error(_ESCAPE, lambda error: (json.dumps(error.object[error.start : error.end])[1:-1], error.end))  # type: ignore[attr-defined]


def encode(line: Line) -> bytes:
    """The line as ASCII JSON with its newline, so that no terminal interprets control sequences of a target."""
    try:
        text = _ENCODER.encode(line)
    except UnicodeEncodeError:  # a lone surrogate in a generated value or in the command line
        text = _ENCODER.encode(replace_surrogates(msgspec.to_builtins(line)))
    if not text.isascii():
        text = text.decode().encode("ascii", _ESCAPE)
    return text + b"\n"


class NoJson(ValueError):
    """The text of a line is not JSON, such as an incomplete last line of a killed run."""


def decode(text: bytes, where: str = "journal", number: int = 1) -> Line:
    """Parses a line. `where` and `number` name the file and the line in errors.

    Raises NoJson, and JournalError where the version or the kind is unknown, or the line does not fit the schema.
    """
    try:
        line: Line = _DECODER.decode(text)
    except msgspec.ValidationError as error:
        raise _line_error(text, number, where, str(error)) from None
    except (ValueError, RecursionError):
        raise NoJson from None
    if isinstance(line, RunStarted) and not _has_time_zone(line.started_at):
        problem = f"started_at is {line.started_at[:40]!r}, which is not a time with a time zone"
        message = f"line {number} does not fit the schema: {problem}, in the years 1 to 9999 (UTC)"
        raise JournalError(message, where=where)
    return line


def _has_time_zone(text: str) -> bool:
    """Whether a text is a time in the format of ISO 8601 with a time zone, which is a time of the years 1 to 9999 in
    UTC too."""
    try:
        time = datetime.fromisoformat(text)
        time.astimezone(UTC)
    except (ValueError, OverflowError):
        return False
    return time.tzinfo is not None


def _line_error(text: bytes, number: int, where: str, problem: str) -> JournalError:
    try:
        value: Any = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        raise NoJson from None
    if not isinstance(value, dict) or "kind" not in value:
        return JournalError(f"line {number} is not a journal line", where=where)
    kind, version = value["kind"], value.get("schema_version")
    if kind == "run" and version != JOURNAL_VERSION:
        suite = value.get("suite")
        return _version_error(version, suite.get("version") if isinstance(suite, dict) else None, where)
    if not isinstance(kind, str) or kind not in KINDS:
        message = f"line {number} has the kind {kind!r}, which is unknown in version {JOURNAL_VERSION} of the journal"
        return JournalError(message, where=where, hint="read it with the version of the suite that wrote it")
    return JournalError(f"line {number} does not fit the schema: {problem}", where=where)


def _version_error(version: Any, suite: Any, where: str) -> JournalError:
    writer = f", written by version {suite} of the suite" if suite else ""
    message = f"is a journal of version {version}{writer}; this suite reads version {JOURNAL_VERSION}"
    hint = "run it again, or read it with the version of the suite that wrote it"
    return JournalError(message, where=where, hint=hint)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of one line, generated from the types."""
    schema = msgspec.json.schema(Line)
    schema.pop("discriminator", None)  # OpenAPI's
    for definition in schema["$defs"].values():
        if "description" in definition:  # a docstring, which only Python 3.13 dedents itself
            definition["description"] = inspect.cleandoc(definition["description"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A line of a conformance journal, version {JOURNAL_VERSION}",
        **schema,
    }


def render_schema() -> str:
    """The text of `journal.schema.json`."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(render_schema(), encoding="utf-8")
