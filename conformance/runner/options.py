"""The table of options in pytest: its options are made of the rows, and read back from a configuration.

The commands and the workers of pytest-xdist are given the value itself, and only pytest's own options as words.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

import msgspec
import pytest

from conformance.core.errors import UsageError
from conformance.core.option import Kind, Option
from conformance.core.run_options import OPTIONS, RunOptions
from conformance.engine.options import RunPart
from conformance.engine.session import Session
from conformance.journal.segments import PreviousSegments

_PREFIX: Final = "--conformance-"
WORKER_INPUT: Final = "conformance"
"""The name, in the input of a worker of pytest-xdist, of what `worker_input` gives."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "conformance of a Commerce Service implementation")
    for option in _own():
        told: dict[str, Any] = {"help": f"{option.help} [env var: {option.environment}]"}
        if option.kind is Kind.FLAG:
            group.addoption(option.pytest_flag, action="store_true", **told)
        elif option.repeatable:
            group.addoption(option.pytest_flag, action="append", default=[], metavar=option.metavar, **told)
        else:
            group.addoption(option.pytest_flag, metavar=option.metavar, **told)


def options_of(config: pytest.Config) -> tuple[RunOptions, RunPart]:
    """What pytest was asked for, here or in the process that started this worker. Raises UsageError."""
    if told := getattr(config, "workerinput", {}).get(WORKER_INPUT):
        return _options_of_worker(told, config.workerinput["workerid"])  # type: ignore[attr-defined]
    given = {option.name: config.getoption(option.pytest_flag) for option in _own()}
    found = RunOptions.parse({name: value for name, value in given.items() if value}, lambda option: option.pytest_flag)
    unset = {option.name: option.from_environment(os.environ) for option in _own() if not given[option.name]}
    if not found.profile and not unset.get("profile"):
        raise UsageError("no profile was given", where="--conformance-profile", hint="name the target's TOML file")
    expressions = {"keyword": config.option.keyword, "markers": config.option.markexpr}
    return replace(found, **unset, **expressions, fail_fast=config.getvalue("maxfail") == 1), RunPart()


def pytest_words(options: RunOptions) -> list[str]:
    """What of the options is pytest's own, as words of its command line."""
    theirs = [option for option in options.explicit_options() if option.pytest]
    return [
        word
        for option in theirs
        for word in replace(option, flags=(str(option.pytest),)).arguments(getattr(options, option.name))
    ]


def worker_input(session: Session, share: tuple[int, int]) -> dict[str, Any]:
    """What a worker needs to know of the run, as plain values that execnet sends."""
    options = replace(session.options, report_dir=session.directory, seed=session.seed)
    part = RunPart(share=share, run=session.run, again=session.again)
    earlier = msgspec.to_builtins(session.earlier) if session.earlier else None
    return {"options": options.to_json(), "part": {**asdict(part), "earlier": earlier}}


def _options_of_worker(told: Mapping[str, Any], worker: str) -> tuple[RunOptions, RunPart]:
    part = RunPart(**{**told["part"], "worker": worker, "share": tuple(told["part"]["share"])})
    earlier = msgspec.convert(told["part"]["earlier"], PreviousSegments) if part.earlier else None
    return RunOptions.from_json(told["options"]), replace(part, earlier=earlier)


def _own() -> list[Option]:
    return [option for option in OPTIONS if option.pytest_flag.startswith(_PREFIX)]
