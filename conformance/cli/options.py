"""The table of options as options of the commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from conformance.core.defaults import MAX_WORKERS
from conformance.core.errors import UsageError
from conformance.core.option import Kind, Option, split_words
from conformance.core.run_options import OPTIONS, RunOptions

SEVERAL_PROFILES = "What the target says about itself (TOML); repeatable, or a folder of them: side by side."


class Workers(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """A number of processes, or `auto`."""

    name = "workers"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        number = int(value) if value.isascii() and value.isdigit() else 0
        if value not in ("", "auto") and not 1 <= number <= MAX_WORKERS:
            self.fail(f"{value!r} is neither a number from 1 to {MAX_WORKERS} nor 'auto'.", param, ctx)
        return value


class _Repeatable(click.Option):
    """Its environment variable holds several words, as a shell reads them."""

    def value_from_envvar(self, ctx: click.Context) -> Any:
        text = self.resolve_envvar_value(ctx)
        try:
            return None if text is None else split_words(text, str(self.envvar))
        except UsageError as error:
            raise click.UsageError(str(error), ctx) from None


def table_options(*names: str, **more: dict[str, Any]) -> Callable[[Any], Any]:
    """Gives a command the options of these names; `more` is what this command's option of a name has of its own."""

    def with_options(command: Any) -> Any:
        for option in reversed(OPTIONS):
            if option.name in names and option.flags:
                command = _option(option, **more.get(option.name, {}))(command)
        return command

    return with_options


run_options = table_options(*(option.name for option in OPTIONS if not option.is_target))
"""Gives a command the options of a run, but for those that say which target."""


def target_options(*, required: bool, several: bool = False) -> Callable[[Any], Any]:
    """Gives a command the options that say which target: its profile, and what stands in place of that."""
    profile = {"required": required} | ({"multiple": True, "help": SEVERAL_PROFILES} if several else {})
    return table_options(*(option.name for option in OPTIONS if option.is_target), profile=profile)


def options_from(given: dict[str, Any], **rest: Any) -> RunOptions:
    """The value of what a command was given. Raises UsageError."""
    return RunOptions.parse({**given, **rest}, lambda option: option.flag)


def without_environment(given: dict[str, Any], ctx: click.Context) -> dict[str, Any]:
    """What a command that resumes a run was given: what the run had has precedence over the environment."""
    settled = {option.name for option in OPTIONS if option.kept_on_resume or not option.changeable_on_resume}
    return {
        name: None if name in settled and ctx.get_parameter_source(name) is ParameterSource.ENVIRONMENT else value
        for name, value in given.items()
    }


def _option(option: Option, **more: Any) -> Callable[[Any], Any]:
    told: dict[str, Any] = {"help": option.help, "metavar": option.metavar or None, "type": _type(option)}
    told |= {"envvar": option.environment, "show_envvar": True}
    if option.kind is Kind.FLAG:
        told = {**told, "is_flag": True, "type": None}
    elif option.repeatable:
        told |= {"multiple": True, "help": f"{option.help.removesuffix('.')}; repeatable."}
    told |= more
    if told.get("multiple"):
        told["cls"] = _Repeatable
    return click.option(*option.flags, option.name, **told)


def _type(option: Option) -> Any:
    if option.kind is Kind.INTEGER:
        return click.IntRange(option.minimum, option.maximum)  # type: ignore[arg-type]
    if option.kind is Kind.NUMBER:
        return click.FloatRange(
            option.minimum if option.exclusive_minimum is None else option.exclusive_minimum,
            option.maximum,
            min_open=option.exclusive_minimum is not None,
        )
    if option.kind is Kind.PATH:
        return click.Path(path_type=Path)
    return Workers() if option.kind is Kind.WORKERS else str
