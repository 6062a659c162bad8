"""Options that several commands have: which target, and how to run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

MOST_WORKERS = 64


class Workers(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """A number of processes, or `auto`."""

    name = "workers"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        number = int(value) if value.isascii() and value.isdigit() else 0
        if value not in ("", "auto") and not 1 <= number <= MOST_WORKERS:
            self.fail(f"{value!r} is neither a number from 1 to {MOST_WORKERS} nor 'auto'.", param, ctx)
        return value


_RUN_OPTIONS: tuple[Any, ...] = (
    click.option(
        "--report-dir",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="An empty folder for the reports [reports/TARGET-TIME].",
    ),
    click.option("--concurrency", type=click.IntRange(1, 512), metavar="N", help="Requests in flight at once [16]."),
    click.option(
        "--deadline",
        "deadline_s",
        type=click.FloatRange(min=1),
        metavar="SECONDS",
        help="End the run after so long.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        metavar="N",
        help="For generated requests; an equal seed gives equal ones.",
    ),
    click.option(
        "--examples",
        type=click.IntRange(1, 10_000),
        metavar="N",
        help="How many generated requests each property is tried on [8].",
    ),
    click.option(
        "-k", "keyword", default="", metavar="EXPRESSION", help="Only checks whose names match, as in pytest."
    ),
    click.option(
        "-m",
        "markers",
        default="",
        metavar="EXPRESSION",
        help="Only these tiers or levels: stable, 'required and not candidate'.",
    ),
    click.option("--only", multiple=True, metavar="NAME", help="Only this check on this operation; repeatable."),
    click.option(
        "-n",
        "workers",
        type=Workers(),
        default="",
        metavar="N",
        help="Split the run over N processes, or 'auto' (pytest-xdist).",
    ),
    click.option(
        "--tx",
        "gateways",
        multiple=True,
        metavar="SPEC",
        help="Split the run over gateways, such as ssh=HOST//python=PATH or socket=HOST:PORT; repeatable.",
    ),
    click.option(
        "--shard", default="", metavar="K/N", help="Only the K-th of N parts; `conformance merge` joins their folders."
    ),
    click.option("-x", "--fail-fast", is_flag=True, help="Stop at the first failure."),
    click.option("--lf", "last_failed", is_flag=True, help="Only what failed the last time."),
    click.option("--max-requests", type=click.IntRange(1), metavar="N", help="Send no more than so many."),
    click.option("--rate", type=click.FloatRange(0, min_open=True), metavar="N", help="Requests a second at most."),
    click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="For one request [10]."),
    click.option("--read-only", is_flag=True, help="Send only what cannot change state; never conformant, then."),
    click.option("--proxy", metavar="URL", help="Send through this HTTP proxy; none is taken from the environment."),
    click.option(
        "--limit", "limits", multiple=True, metavar="NAME=VALUE", help="Overrides any of [limits]; repeatable."
    ),
    click.option("-q", "--quiet", is_flag=True, help="Print only the report's path."),
)


_LIMITS = {"max_requests": "max_requests", "rate": "rate", "timeout": "timeout_s", "proxy": "proxy"}


def run_options(function: Any) -> Any:
    """Gives a command those options; what bounds a run reaches it as `limits`, each `NAME=VALUE`."""

    @functools.wraps(function)
    def command(**given: Any) -> None:
        limits = [f"{name}={value}" for option, name in _LIMITS.items() if (value := given.pop(option)) is not None]
        limits += ["read_only=true"] if given.pop("read_only") else []
        function(**{**given, "limits": (*given["limits"], *limits)})

    for option in reversed(_RUN_OPTIONS):
        command = option(command)
    return command


def target_options(*, required: bool, several: bool = False) -> Callable[[Any], Any]:
    """Gives a command the options that say which target: its profile, and what stands in place of that."""
    told = "What the target says about itself (TOML)"
    profile = click.option(
        "--profile",
        required=required,
        multiple=several,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"{told}; repeatable, or a folder of them: side by side." if several else f"{told}.",
    )
    base_url = click.option(
        "--base-url", metavar="URL", help="Instead of the profile's base_url; may have a path prefix."
    )
    variables = click.option(
        "--var", "variables", multiple=True, metavar="NAME=VALUE", help="Overrides one of the profile's [variables]."
    )
    return lambda function: profile(base_url(variables(function)))
