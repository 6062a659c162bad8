"""Commands before the first run: probe drafts a profile from a live target, init prompts for its options first."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from conformance.cli.files import is_terminal
from conformance.cli.options import ValueType
from conformance.core.defaults import PROBE_DEADLINE_S, PROBE_REQUESTS
from conformance.core.messages import PREFIX_ADVICE
from conformance.core.option import Kind, Option

if TYPE_CHECKING:
    from conformance.setup.probe.probe import DraftResult

_F = TypeVar("_F", bound=Callable[..., Any])
_EXIT_CODES = """\b
Exit codes:
  0 drafted    2 bad command line, key or --fixtures file    4 target unreachable
"""
_DEFAULT_OUTPUT = Path("profiles/mine.toml")

_SHARED_OPTIONS = (
    click.option("--openapi", default="", metavar="FILE|URL", help="The target's OpenAPI document, or its schemas."),
    click.option(
        "--fixtures",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Known parts of the profile (TOML): [fixtures], [operations], [oauth]...; copied into the draft.",
    ),
    click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="Set one of [variables]; repeatable."),
    click.option("--name", default="", metavar="NAME", help="The profile's name [the name of the file]."),
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
        help="Send at most this many requests, repeated ones included.",
    ),
    click.option(
        "--deadline",
        "deadline_s",
        type=ValueType(Option(Kind.DURATION, ("--deadline",), "", minimum=1, maximum=3600)),
        default=PROBE_DEADLINE_S,
        show_default=True,
        metavar="TIME",
        help="Stop probing after this time, such as 90s or 10m, and draft with what is known.",
    ),
)


def _add_shared_options(command: _F) -> _F:
    for option in reversed(_SHARED_OPTIONS):
        command = option(command)
    return command


_KEY_HELP = "The source of an API key: env:VARIABLE, file:PATH or command:PROGRAM; NAME is full by default. Repeatable."


@click.command(epilog=_EXIT_CODES)
@click.option("--base-url", required=True, metavar="URL", help="The target; may have a path prefix.")
@click.option("--key", "keys", multiple=True, metavar="[NAME=]SOURCE", help=_KEY_HELP)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=_DEFAULT_OUTPUT,
    show_default=True,
    metavar="FILE",
    help="The draft; its schemas are written beside it.",
)
@_add_shared_options
def probe(base_url: str, keys: tuple[str, ...], output: Path, **parameters: Any) -> None:
    """Draft a profile from a live target. Each line of the draft names its evidence.

    Creates webhook endpoints, and uses up the fixtures of --fixtures. What the probe looked for and did not find is
    marked TODO.

    \b
    Examples:
      conformance probe --base-url http://127.0.0.1:8080 --key env:SHOP_KEY -o profiles/mine.toml
      conformance probe --base-url https://staging.example/shop --key file:keys/full.txt --openapi shop.yaml
      conformance probe --base-url http://127.0.0.1:8080 --key env:FULL --key revoked=env:OLD --fixtures known.toml
    """
    draft = _draft(base_url, keys, output, parameters)
    _print_next_steps(draft)


@click.command(epilog=_EXIT_CODES)
@click.option("--base-url", default="", metavar="URL", help="The target; prompted for if omitted.")
@click.option("--key", "keys", multiple=True, metavar="[NAME=]SOURCE", help=_KEY_HELP)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The draft; prompted for if omitted."
)
@_add_shared_options
@click.option("--restart", is_flag=True, help="Discard the answers of an interrupted init.")
def init(base_url: str, keys: tuple[str, ...], output: Path | None, restart: bool, **parameters: Any) -> None:
    """Ask for what only a person knows of the target, then draft its first profile.

    Each question names the requirements that its answer enables. Every answer is stored beside the profile, without
    secrets: after Ctrl-C or an error the same command continues, and the file is removed at the end. Without a terminal
    nothing is asked: the options are enough.

    \b
    Examples:
      conformance init
      conformance init -o profiles/staging.toml                # also continues an interrupted one
      conformance init -o profiles/staging.toml --restart      # from the first question
      conformance init --base-url http://127.0.0.1:8080 --key env:SHOP_KEY -o profiles/mine.toml
      conformance init --base-url https://staging.example/shop --key env:FULL --openapi shop.yaml --fixtures known.toml
    """
    from conformance.core.errors import UsageError

    if is_terminal(sys.stdin):
        _draft_interactively(base_url, keys, output, parameters, restart=restart)
        return
    if missing := [option for option, value in (("--base-url", base_url), ("--key", keys)) if not value]:
        hint = "use these options, or run it in a terminal"
        raise UsageError("cannot prompt: standard input is not a terminal", where=" and ".join(missing), hint=hint)
    _print_next_steps(_draft(base_url, keys, output or _DEFAULT_OUTPUT, parameters))


def _draft_interactively(
    base_url: str, keys: tuple[str, ...], output: Path | None, parameters: dict[str, Any], *, restart: bool
) -> None:
    """Asks, drafts, and removes the stored answers."""
    from conformance.cli.init import accept_any_bytes, answers_of_options, ask_questions, print_stop, prompt_output
    from conformance.core.errors import ConformanceError
    from conformance.setup.questionnaire.answer_file import remove_answers
    from conformance.setup.questionnaire.questions import key_options, stated_facts

    accept_any_bytes()
    if output is None or (output.exists() and not parameters["force"]):
        output, parameters["force"] = prompt_output(output or _DEFAULT_OUTPUT, force=parameters["force"])
    if output == _DEFAULT_OUTPUT:
        output.parent.mkdir(exist_ok=True)
    option_answers, other_keys = answers_of_options(base_url, keys, parameters["openapi"], parameters["fixtures"])
    try:
        answers = ask_questions(output, option_answers, restart=restart)
        parameters["openapi"] = answers["openapi"]
        parameters["fixtures"] = Path(answers["fixtures"]) if answers["fixtures"] else None
        sources = (*key_options(answers), *other_keys)
        draft = _draft(answers["base_url"], sources, output, {**parameters, "answers": stated_facts(answers)})
    except (click.Abort, KeyboardInterrupt, ConformanceError):
        print_stop(output)
        raise
    remove_answers(output)
    _print_next_steps(draft)


def _draft(base_url: str, keys: Sequence[str], output: Path, parameters: dict[str, Any]) -> DraftResult:
    from conformance.client.redaction.secrets import clean_with_all
    from conformance.core.errors import UsageError
    from conformance.reports.shaping.text import clean, one_line
    from conformance.setup.probe.options import ProbeOptions, key_source, relocate_source
    from conformance.setup.probe.probe import draft_profile as probe_target

    for pair in parameters["variables"]:
        if "=" not in pair:
            raise UsageError(f"{pair!r} has no value", where="--var", hint="write NAME=VALUE")
    if output == _DEFAULT_OUTPUT:
        output.parent.mkdir(exist_ok=True)
    probe_options = ProbeOptions(
        base_url=base_url,
        output=output,
        keys=tuple(relocate_source(key_source(text), output.parent) for text in keys),
        **{**parameters, "variables": dict(pair.split("=", 1) for pair in parameters["variables"])},
    )

    def print_progress(text: str) -> None:
        text = clean_with_all(text)
        indent = len(text) - len(text.lstrip())
        click.echo(" " * indent + one_line(clean(text)), err=True)

    return probe_target(probe_options, print_progress)


def _print_next_steps(draft: DraftResult) -> None:
    from conformance.core.paths import display_path

    profile = display_path(draft.profile)
    files = f"{profile}{f' and {draft.schemas.name}' if draft.schemas else ''}"
    click.echo(
        f"drafted {files}: {draft.proven_operations} of {draft.operations} operations answered 200, "
        f"{draft.todo_count} TODO, {draft.requests} requests in {draft.seconds:.0f} s"
    )
    if not draft.proven_operations:
        click.echo(f"no operation was answered 200: is the key right? {PREFIX_ADVICE.capitalize()}")
    path = shlex.quote(profile)
    click.echo("next:")
    click.echo(f"  grep -n TODO {path}                       # facts to fill in")
    click.echo(f"  conformance doctor --profile {path}       # tests the set-up")
    click.echo(f"  conformance run --profile {path}          # a first verdict")


COMMANDS = (probe, init)
