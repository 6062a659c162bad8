"""The options of a run: one value, whose fields are the one table of all options.

A field is a row: its name, type, help, default, its option on the command line and in pytest, its environment variable,
whether the command that repeats the run includes it, and whether a resumed run keeps it. `cli.options` derives the
options of the commands from the rows, `runner.options` those of pytest, and this module the form in the journal, which
workers and resumed runs use too. The command line overrides the environment, the environment overrides the profile.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from conformance.core.defaults import CONCURRENCY, DEPTHS, EXAMPLES, MAX_CONCURRENCY, MIN_RATE, QUICK_REQUESTS
from conformance.core.errors import UsageError
from conformance.core.option import Kind, Option, parse_shard, row

RESUMABLE: Final = {"kept_on_resume": True, "changeable_on_resume": True}
TARGET: Final = {**RESUMABLE, "in_repeat_command": True, "is_target": True}


@dataclass(frozen=True)
class RunOptions:
    """The options of a run. A field is a row of the table of options."""

    profile: Path | None = row(Kind.PATH, "--profile", metavar="FILE", help="The target's profile (TOML).", **TARGET)
    base_url: str = row(
        Kind.TEXT,
        "--base-url",
        metavar="URL",
        help="Overrides the profile's base_url; may have a path prefix.",
        **TARGET,
    )
    variables: Mapping[str, str] = row(
        Kind.PAIRS, "--var", metavar="NAME=VALUE", help="Overrides one of the profile's [variables].", **TARGET
    )
    report_dir: Path | None = row(
        Kind.PATH, "--report-dir", metavar="DIR", help="An empty folder for the reports [reports/TARGET-TIME]."
    )
    concurrency: int | None = row(
        Kind.INTEGER,
        "--concurrency",
        minimum=1,
        maximum=MAX_CONCURRENCY,
        metavar="N",
        help=f"Requests in flight at once [{CONCURRENCY}].",
        changeable_on_resume=True,
    )
    deadline_s: float | None = row(
        Kind.DURATION,
        "--deadline",
        minimum=1,
        metavar="TIME",
        help="End the run after this time, such as 90s, 10m or 2h.",
        changeable_on_resume=True,
    )
    seed: int | None = row(
        Kind.INTEGER,
        "--seed",
        minimum=0,
        maximum=2**32 - 1,
        metavar="N",
        help="Of generated requests; an equal seed generates equal requests.",
        in_repeat_command=True,
        kept_on_resume=True,
    )
    examples: int | None = row(
        Kind.INTEGER,
        "--examples",
        minimum=1,
        maximum=10_000,
        metavar="N",
        help=f"Number of generated requests for each property [{EXAMPLES}].",
        in_repeat_command=True,
        kept_on_resume=True,
    )
    keyword: str = row(
        Kind.TEXT, "-k", pytest="-k", metavar="EXPRESSION", help="Only checks whose names match, as in pytest."
    )
    markers: str = row(
        Kind.TEXT,
        "-m",
        pytest="-m",
        metavar="EXPRESSION",
        help="Only these tiers or levels: stable, 'required and not candidate'.",
    )
    only: tuple[str, ...] = row(Kind.TEXTS, "--only", metavar="NAME", help="Only this check on this operation.")
    workers: str = row(
        Kind.WORKERS,
        "-n",
        pytest="-n",
        metavar="N",
        help="Split the run over N processes, or 'auto' (pytest-xdist).",
        changeable_on_resume=True,
    )
    gateways: tuple[str, ...] = row(
        Kind.TEXTS,
        "--tx",
        pytest="--tx",
        metavar="SPEC",
        help="Split the run over gateways, such as ssh=HOST//python=PATH or socket=HOST:PORT.",
        changeable_on_resume=True,
    )
    shard: str = row(
        Kind.SHARD,
        "--shard",
        metavar="K/N",
        help="Only the K-th of N parts; `conformance merge` joins their folders.",
        kept_on_resume=True,
    )
    fail_fast: bool = row(
        Kind.FLAG, "-x", "--fail-fast", pytest="-x", help="Stop at the first failure.", changeable_on_resume=True
    )
    last_failed: bool = row(Kind.FLAG, "--lf", pytest="--lf", help="Only checks that failed in the previous run.")
    max_requests: int | None = row(
        Kind.INTEGER,
        "--max-requests",
        minimum=1,
        metavar="N",
        help="Send at most this many requests.",
        limit="max_requests",
        **RESUMABLE,
    )
    depth: str = row(
        Kind.TEXT,
        "--depth",
        choices=DEPTHS,
        help=f"How much is asked: quick (some {QUICK_REQUESTS} requests, never conformant), standard, or deep.",
        limit="depth",
        **RESUMABLE,
    )
    rate: float | None = row(
        Kind.NUMBER,
        "--rate",
        minimum=MIN_RATE,
        metavar="N",
        help=f"Maximum number of requests a second, on average; at least {MIN_RATE:g}.",
        limit="rate",
        **RESUMABLE,
    )
    timeout_s: float | None = row(
        Kind.DURATION,
        "--timeout",
        exclusive_minimum=0,
        metavar="TIME",
        help="Of each request [10].",
        limit="timeout_s",
        **RESUMABLE,
    )
    read_only: bool = row(
        Kind.FLAG,
        "--read-only",
        help="Send only requests that cannot change state; such a run is never conformant.",
        limit="read_only",
        **RESUMABLE,
    )
    proxy: str = row(
        Kind.TEXT,
        "--proxy",
        metavar="URL",
        help="Send through this HTTP proxy; HTTP_PROXY and similar variables are ignored.",
        limit="proxy",
        **RESUMABLE,
    )
    limits: Mapping[str, str] = row(
        Kind.PAIRS,
        "--limit",
        metavar="NAME=VALUE",
        help="Overrides any of [limits].",
        in_repeat_command=True,
        **RESUMABLE,
    )
    quiet: bool = row(
        Kind.FLAG,
        "-q",
        "--quiet",
        pytest="",
        help="Print only the verdict, with the report's path, and errors.",
        changeable_on_resume=True,
    )
    verbose: bool = row(
        Kind.FLAG,
        "-v",
        "--verbose",
        pytest="",
        help="Print each check when it ends, the evidence of every cause, and every gap with its reason.",
        changeable_on_resume=True,
    )
    command: str = row(
        Kind.TEXT, help="The command that started the run, where that is not `conformance run`.", kept_on_resume=True
    )

    @classmethod
    def parse(cls, texts: Mapping[str, Any], where: Callable[[Option], str]) -> RunOptions:
        """Converts texts by the names of the fields; None: not given. Raises UsageError with `where` as its place."""
        values = {
            option.name: option.parse(texts[option.name], where(option))
            for option in OPTIONS
            if texts.get(option.name) is not None
        }
        return cls(**values)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> RunOptions:
        """The inverse of `to_json`."""
        return cls.parse(document, lambda option: option.name)

    def to_json(self) -> dict[str, Any]:
        """The options that are given, as JSON values; paths are absolute."""
        values = {option.name: getattr(self, option.name) for option in self.explicit_options()}
        return {name: _as_json(value) for name, value in values.items()}

    def explicit_options(self) -> list[Option]:
        """The options that are given."""
        return [option for option in OPTIONS if getattr(self, option.name) != option.empty]

    @property
    def limit_overrides(self) -> dict[str, str]:
        """Overrides of the profile's [limits]: name -> text."""
        overrides = {option.limit: getattr(self, option.name) for option in self.explicit_options() if option.limit}
        return {**self.limits, **{name: "true" if value is True else str(value) for name, value in overrides.items()}}

    @property
    def shard_index(self) -> tuple[int, int]:
        """The index of this part of the run, from 0, and the number of parts."""
        return parse_shard(self.shard, "--shard") if self.shard else (0, 1)

    def normalize_limits(self) -> RunOptions:
        """The same options, each limit as `--limit NAME=VALUE`."""
        cleared: dict[str, Any] = {option.name: option.empty for option in OPTIONS if option.limit}
        return replace(self, limits=self.limit_overrides, **cleared)

    def arguments(self, options: Sequence[Option] = ()) -> list[str]:
        """These options, or all, as arguments of `conformance run`; paths are absolute."""
        selected = options or [option for option in OPTIONS if option.flags]
        return [argument for option in selected for argument in option.arguments(_absolute(getattr(self, option.name)))]

    def repeat_command(self) -> str:
        """The command line that repeats a run with these options, which must include target and seed."""
        normalized = self.normalize_limits()
        repeated = [
            option for option in OPTIONS if option.in_repeat_command and not (self.command and option.is_target)
        ]
        return f"{self.command or 'conformance run'} {shlex.join(normalized.arguments(repeated))}"

    def require_changeable(self) -> None:
        """Raises UsageError on an option that a resumed run must keep unchanged."""
        if flags := ", ".join(option.flags[0] for option in self.explicit_options() if not option.changeable_on_resume):
            hint = "a resumed run keeps its options"
            raise UsageError(f"{flags} cannot be given", where="--resume", hint=hint)

    def resume(self, changes: RunOptions) -> RunOptions:
        """These options of an interrupted run, updated with those that are given when it is resumed."""
        previous, changes = self.normalize_limits(), changes.normalize_limits()
        return RunOptions(**{option.name: _resume_value(option, previous, changes) for option in OPTIONS})


OPTIONS: Final[tuple[Option, ...]] = tuple(
    replace(run_field.metadata["option"], name=run_field.name) for run_field in fields(RunOptions)
)
"""The table, in the order of `--help`."""


def _resume_value(option: Option, previous: RunOptions, changes: RunOptions) -> Any:
    old, new = getattr(previous, option.name), getattr(changes, option.name)
    if not option.kept_on_resume:
        return new
    if option.kind is Kind.PAIRS:
        return {**old, **new}
    return old if new == option.empty else new


def _absolute(value: Any) -> Any:
    return value.absolute() if isinstance(value, Path) else value


def _as_json(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value.absolute())
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value
