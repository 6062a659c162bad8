"""The table of options as options of the commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from conformance.core.defaults import MAX_WORKERS
from conformance.core.errors import ConformanceError, UsageError
from conformance.core.option import Kind, Option, split_words
from conformance.core.run_options import OPTIONS, RunOptions

_EXAMPLES: Final = {"--profile": "profiles/mine.toml (`conformance probe` drafts one)"}
VARIABLES: Final = "conformance.variables"
"""Among the values of a command: option -> the environment variable that its value is from."""
PROFILES_HELP = "The target's profile (TOML); repeatable, or a folder of profiles."


class WorkersType(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """A number of processes, or `auto`."""

    name = "workers"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        number = int(value) if value.isascii() and value.isdigit() else 0
        if value not in ("", "auto") and not 1 <= number <= MAX_WORKERS:
            self.fail(f"{value!r} is neither a number from 1 to {MAX_WORKERS} nor 'auto'.", param, ctx)
        return value


class NonEmptyTextType(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """A text. With `--base-url "$URL"`, where that variable is not set, the run would test the profile's base URL."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        if not value:
            raise UsageError("is empty", where=param.opts[0] if param else "", hint="is a variable not set?")
        return value


def name_variable(error: ConformanceError, ctx: click.Context) -> None:
    """Makes an error name the environment variable that its value is from, where it names the option."""
    variables: dict[str, str] = ctx.meta.get(VARIABLES, {})
    limit = error.where.removeprefix("limits.")
    options = [option for option in OPTIONS if option.limit == limit or option.flag == error.where]
    if limit != error.where:
        options += [option for option in OPTIONS if option.name == "limits"]
    if variable := next((variables[option.flag] for option in options if option.flag in variables), ""):
        error.where = variable if limit == error.where else f"{variable}: {error.where}"


def missing_option(flag: str) -> str:
    """The message for an option that was not given, with an example."""
    return f"Missing option '{flag}'" + (f": {flag} {_EXAMPLES[flag]}" if flag in _EXAMPLES else ".")


class ValueType(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """A number or a time, converted and bounded by the table of options."""

    def __init__(self, option: Option) -> None:
        self.name = option.kind.value
        self._option = option

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._option.parse(value, "")
        except UsageError as error:
            self.fail(str(error), param, ctx)


class _TableOption(click.Option):
    """An option that says, where it is missing, how it is given, and in errors which variable its value is from."""

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        if ctx.get_parameter_source(str(self.name)) is ParameterSource.ENVIRONMENT:
            ctx.meta.setdefault(VARIABLES, {}).update(dict.fromkeys(self.opts, self.envvar))
        try:
            return super().process_value(ctx, value)
        except click.MissingParameter:
            raise click.UsageError(missing_option(self.opts[0]), ctx) from None


class _RepeatableOption(_TableOption):
    """An option whose environment variable holds several words, split as in a shell."""

    def value_from_envvar(self, ctx: click.Context) -> Any:
        text = self.resolve_envvar_value(ctx)
        try:
            return None if text is None else split_words(text, str(self.envvar))
        except UsageError as error:
            raise click.UsageError(str(error), ctx) from None


def table_options(*names: str, **overrides: dict[str, Any]) -> Callable[[Any], Any]:
    """A decorator that adds the options of these names; `more` holds further settings by option name."""

    def add_options(command: Any) -> Any:
        for option in reversed(OPTIONS):
            if option.name in names and option.flags:
                command = _click_option(option, **overrides.get(option.name, {}))(command)
        return command

    return add_options


def verbosity_options(*, quiet: str, verbose: str) -> Callable[[Any], Any]:
    """A decorator that adds --quiet and --verbose, with these helps. Together they are refused."""

    def add_options(command: Any) -> Any:
        @wraps(command)
        def checked_command(**parameters: Any) -> Any:
            if parameters["quiet"] and parameters["verbose"]:
                raise UsageError("cannot be combined with --verbose", where="--quiet")
            return command(**parameters)

        checked_command = click.option("-v", "--verbose", is_flag=True, help=verbose)(checked_command)
        return click.option("-q", "--quiet", is_flag=True, help=quiet)(checked_command)

    return add_options


run_options = table_options(*(option.name for option in OPTIONS if not option.is_target))
"""A decorator that adds the options of a run, except those of the target."""


def target_options(*, required: bool, several: bool = False) -> Callable[[Any], Any]:
    """A decorator that adds the options of the target: its profile, and what overrides it."""
    profile = {"required": required} | ({"multiple": True, "help": PROFILES_HELP} if several else {})
    return table_options(*(option.name for option in OPTIONS if option.is_target), profile=profile)


def options_from(parameters: dict[str, Any], **overrides: Any) -> RunOptions:
    """The options of a run from the parameters of a command. Raises UsageError."""
    return RunOptions.parse({**parameters, **overrides}, lambda option: option.flag)


def drop_environment(parameters: dict[str, Any], ctx: click.Context) -> dict[str, Any]:
    """The parameters of a command that resumes a run; the options of that run override the environment."""
    fixed_names = {option.name for option in OPTIONS if option.kept_on_resume or not option.changeable_on_resume}
    return {
        name: None if name in fixed_names and ctx.get_parameter_source(name) is ParameterSource.ENVIRONMENT else value
        for name, value in parameters.items()
    }


def _click_option(option: Option, **overrides: Any) -> Callable[[Any], Any]:
    settings: dict[str, Any] = {"help": option.help, "metavar": option.metavar or None, "type": _click_type(option)}
    settings |= {"envvar": option.environment, "show_envvar": True}
    if option.kind is Kind.FLAG:
        settings = {**settings, "is_flag": True, "type": None}
    elif option.repeatable:
        settings |= {"multiple": True, "help": f"{option.help.removesuffix('.')}; repeatable."}
    settings |= overrides
    settings["cls"] = _RepeatableOption if settings.get("multiple") else _TableOption
    return click.option(*option.flags, option.name, **settings)


def _click_type(option: Option) -> Any:
    if option.kind is Kind.INTEGER:
        return click.IntRange(option.minimum, option.maximum)  # type: ignore[arg-type]
    if option.kind in (Kind.NUMBER, Kind.DURATION):
        return ValueType(option)
    if option.choices:
        return click.Choice(option.choices)
    if option.kind is Kind.PATH:
        return click.Path(path_type=Path)
    if option.kind is Kind.WORKERS:
        return WorkersType()
    return NonEmptyTextType() if option.kind is Kind.TEXT and option.is_target else str
