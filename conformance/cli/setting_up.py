"""Commands that come before the first run: probe drafts a profile from a live target, init asks and calls it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from conformance.core.defaults import PROBE_DEADLINE_S, PROBE_REQUESTS

if TYPE_CHECKING:
    from conformance.setup.probe.probe import DraftResult

_F = TypeVar("_F", bound=Callable[..., Any])
_ENDINGS = """\b
Exit codes:
  0 drafted    2 bad command line, key or fragment    4 target unreachable
"""
_DEFAULT_OUTPUT = Path("profiles/mine.toml")

_SHARED = (
    click.option("--openapi", default="", metavar="FILE|URL", help="The target's OpenAPI document, or its schemas."),
    click.option(
        "--fixtures",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="What you know already: [fixtures], [operations], [oauth] ... as in a profile; carried into the draft.",
    ),
    click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="One of [variables]; repeatable."),
    click.option("--name", default="", metavar="NAME", help="The profile's name [that of the file]."),
    click.option("--force", is_flag=True, help="Overwrite the files of an earlier draft."),
    click.option(
        "--provoke-429",
        type=click.IntRange(0, 10_000),
        default=0,
        metavar="N",
        help="Send up to N requests in a row to see a rate limit [none].",
    ),
    click.option(
        "--max-requests",
        type=click.IntRange(1, 10_000),
        default=PROBE_REQUESTS,
        show_default=True,
        metavar="N",
        help="So many requests at most, repeated ones included.",
    ),
    click.option(
        "--deadline",
        "deadline_s",
        type=click.FloatRange(1, 3600),
        default=PROBE_DEADLINE_S,
        show_default=True,
        metavar="SECONDS",
        help="Draft with what is known after so long.",
    ),
)


def _shared(command: _F) -> _F:
    for option in reversed(_SHARED):
        command = option(command)
    return command


_KEY_HELP = (
    "Where an API key comes from: env:VARIABLE, file:PATH or command:PROGRAM; NAME is full by default. Repeatable."
)


@click.command(epilog=_ENDINGS)
@click.option("--base-url", required=True, metavar="URL", help="The target; may have a path prefix.")
@click.option("--key", "keys", multiple=True, metavar="[NAME=]SOURCE", help=_KEY_HELP)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=_DEFAULT_OUTPUT,
    show_default=True,
    metavar="FILE",
    help="The draft; schemas go beside it.",
)
@_shared
def probe(base_url: str, keys: tuple[str, ...], output: Path, **given: Any) -> None:
    """Draft a profile from a live target: what it does is tried, and each line says what it rests on.

    It creates webhook endpoints, and uses fixtures up if it is given any. What only a person can know is a TODO.

    \b
    Examples:
      conformance probe --base-url http://127.0.0.1:8080 --key env:SHOP_KEY -o profiles/mine.toml
      conformance probe --base-url https://staging.example/shop --key file:keys/full.txt --openapi shop.yaml
      conformance probe --base-url http://127.0.0.1:8080 --key env:FULL --key revoked=env:OLD --fixtures known.toml
    """
    drafted = _drafted(base_url, keys, output, given)
    _tell_next(drafted)


@click.command(epilog=_ENDINGS)
@click.option("--base-url", default="", metavar="URL", help="The target; asked for if not given.")
@click.option("--key", "keys", multiple=True, metavar="[NAME=]SOURCE", help=_KEY_HELP)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The draft; asked for if not given."
)
@_shared
def init(base_url: str, keys: tuple[str, ...], output: Path | None, **given: Any) -> None:
    """Ask the few questions that a first profile needs, then draft it. Every question is an option too.

    \b
    Examples:
      conformance init
      conformance init --base-url http://127.0.0.1:8080 --key env:SHOP_KEY -o profiles/mine.toml
    """
    from conformance.core.errors import UsageError

    asks = sys.stdin.isatty()
    lacking = [option for option, value in (("--base-url", base_url), ("--key", keys)) if not value]
    if lacking and not asks:
        hint = "give them as options, or run it in a terminal"
        raise UsageError("nobody is there to answer questions", where=" and ".join(lacking), hint=hint)
    base_url = base_url or click.prompt(
        "The target's base URL (what comes before /api/v1)", default="http://127.0.0.1:8080"
    )
    keys = keys or _asked_keys()
    if asks:
        given["openapi"] = given["openapi"] or _optional("Its OpenAPI document, file or URL")
        given["fixtures"] = given["fixtures"] or (Path(path) if (path := _optional("A file with fixtures")) else None)
    if output is None:
        output = Path(click.prompt("The profile", default=str(_DEFAULT_OUTPUT))) if asks else _DEFAULT_OUTPUT
    if asks and output.exists() and not given["force"]:
        given["force"] = click.confirm(f"{output} exists already. Overwrite it?", default=False)
    _tell_next(_drafted(base_url, keys, output, given))


def _asked_keys() -> tuple[str, ...]:
    """Sources only: what would be a secret itself is refused without being repeated."""
    from conformance.core.errors import UsageError
    from conformance.setup.probe.options import key_source

    while True:
        given = click.prompt(
            "Where a key with every scope comes from (env:VARIABLE, file:PATH, command:...)", default="env:API_KEY"
        )
        try:
            key_source(given)
        except UsageError as error:
            click.echo(str(error), err=True)
            continue
        return (given,)


def _optional(question: str) -> str:
    return str(click.prompt(f"{question} (Enter: none)", default="", show_default=False)).strip()


def _drafted(base_url: str, keys: Sequence[str], output: Path, given: dict[str, Any]) -> DraftResult:
    from conformance.client.redaction.secrets import clean_with_all
    from conformance.core.errors import UsageError
    from conformance.reports.shaping.text import clean, one_line
    from conformance.setup.probe.options import ProbeOptions, key_source, relocate_source
    from conformance.setup.probe.probe import draft_profile as probed

    for pair in given["variables"]:
        if "=" not in pair:
            raise UsageError(f"{pair!r} sets nothing", where="--var", hint="write NAME=VALUE")
    if output == _DEFAULT_OUTPUT:
        output.parent.mkdir(exist_ok=True)
    asked = ProbeOptions(
        base_url=base_url,
        output=output,
        keys=tuple(relocate_source(key_source(text), output.parent) for text in keys),
        **{**given, "variables": dict(pair.split("=", 1) for pair in given["variables"])},
    )

    def tell(text: str) -> None:
        text = clean_with_all(text)
        indent = len(text) - len(text.lstrip())
        click.echo(" " * indent + one_line(clean(text)), err=True)

    return probed(asked, tell)


def _tell_next(drafted: DraftResult) -> None:
    files = f"{drafted.profile}{f' and {drafted.schemas.name}' if drafted.schemas else ''}"
    click.echo(
        f"drafted {files}: {drafted.proven_operations} of {drafted.operations} operations answered 200, "
        f"{drafted.todo_count} TODO, {drafted.requests} requests in {drafted.seconds:.0f} s"
    )
    path = shlex.quote(str(drafted.profile))
    click.echo("next:")
    click.echo(f"  conformance run --profile {path}          # a first verdict")
    click.echo(f"  grep -n TODO {path}                       # what only a person can know")


COMMANDS = (probe, init)
