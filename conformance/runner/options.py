"""The run's options in pytest: added to its parser from the table of options, and read from its configuration.

Commands and workers of pytest-xdist receive the `RunOptions` value; only pytest's own options are words for it.
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
"""The key of `worker_input` in the input of a worker of pytest-xdist."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "conformance of a Commerce Service implementation")
    for option in _suite_options():
        help_argument: dict[str, Any] = {"help": f"{option.help} [env var: {option.environment}]"}
        if option.kind is Kind.FLAG:
            group.addoption(option.pytest_flag, action="store_true", **help_argument)
        elif option.repeatable:
            group.addoption(option.pytest_flag, action="append", default=[], metavar=option.metavar, **help_argument)
        else:
            group.addoption(option.pytest_flag, metavar=option.metavar, **help_argument)


def read_options(config: pytest.Config) -> tuple[RunOptions, RunPart]:
    """The options of this process or, in a worker, of the controller. Raises UsageError."""
    if worker_data := getattr(config, "workerinput", {}).get(WORKER_INPUT):
        return _read_worker_options(worker_data, config.workerinput["workerid"])  # type: ignore[attr-defined]
    values = {option.name: config.getoption(option.pytest_flag) for option in _suite_options()}
    options = RunOptions.parse(
        {name: value for name, value in values.items() if value}, lambda option: option.pytest_flag
    )
    environment_values = {
        option.name: option.from_environment(os.environ) for option in _suite_options() if not values[option.name]
    }
    if not options.profile and not environment_values.get("profile"):
        raise UsageError("no profile was given", where="--conformance-profile", hint="name the target's TOML file")
    expressions = {"keyword": config.option.keyword, "markers": config.option.markexpr}
    return replace(options, **environment_values, **expressions, fail_fast=config.getvalue("maxfail") == 1), RunPart()


def pytest_words(options: RunOptions) -> list[str]:
    """The options that are pytest's own, as words of its command line."""
    pytest_options = [option for option in options.explicit_options() if option.pytest]
    return [
        word
        for option in pytest_options
        for word in replace(option, flags=(str(option.pytest),)).arguments(getattr(options, option.name))
    ]


def worker_input(session: Session, share: tuple[int, int]) -> dict[str, Any]:
    """The part of the run for a worker, as plain values that execnet can send."""
    options = replace(session.options, report_dir=session.directory, seed=session.seed)
    part = RunPart(share=share, run_name=session.run_name, rerun_command=session.rerun_command)
    previous_segments = msgspec.to_builtins(session.previous_segments) if session.previous_segments else None
    return {"options": options.to_json(), "part": {**asdict(part), "previous_segments": previous_segments}}


def _read_worker_options(data: Mapping[str, Any], worker: str) -> tuple[RunOptions, RunPart]:
    part = RunPart(**{**data["part"], "worker": worker, "share": tuple(data["part"]["share"])})
    previous_segments = (
        msgspec.convert(data["part"]["previous_segments"], PreviousSegments) if part.previous_segments else None
    )
    return RunOptions.from_json(data["options"]), replace(part, previous_segments=previous_segments)


def _suite_options() -> list[Option]:
    return [option for option in OPTIONS if option.pytest_flag.startswith(_PREFIX)]
