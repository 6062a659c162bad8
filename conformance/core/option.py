"""One option of a run: its type, names and bounds, and the conversion of its text to a value."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final

from conformance.core.defaults import MAX_SHARDS
from conformance.core.errors import UsageError

_TRUE: Final = ("1", "true", "t", "yes", "y", "on")
_UNITS: Final[Mapping[str, float]] = {"s": 1.0, "m": 60.0, "h": 3600.0}
_FALSE: Final = ("", "0", "false", "f", "no", "n", "off")


class Kind(Enum):
    """The type of an option's value. An option that is not given is None, "", False, () or {}."""

    TEXT = "text"
    PATH = "path"
    INTEGER = "integer"
    NUMBER = "number"
    DURATION = "duration"
    """Seconds: `20`, `90s`, `10m` or `2h`."""
    FLAG = "flag"
    WORKERS = "workers"
    """A number of processes, or `auto`, as text."""
    SHARD = "shard"
    """`K/N`, as text."""
    TEXTS = "texts"
    """Repeatable."""
    PAIRS = "pairs"
    """`NAME=VALUE`, repeatable; a mapping."""


@dataclass(frozen=True)
class Option:
    """One row of the table."""

    kind: Kind
    flags: tuple[str, ...]
    """On the command line; without any, only a command itself sets the option."""
    help: str
    metavar: str = ""
    minimum: float | None = None
    exclusive_minimum: float | None = None
    maximum: float | None = None
    pytest: str | None = None
    """pytest's own option for it, "" where pytest has none; None: `--conformance-` and the option's name."""
    in_repeat_command: bool = False
    """Whether the command that repeats the run includes it."""
    kept_on_resume: bool = False
    """Whether a resumed run takes it from the interrupted run."""
    changeable_on_resume: bool = False
    """Whether it may be given when a run is resumed."""
    choices: tuple[str, ...] = ()
    """The texts that it may be; empty where any may."""
    is_target: bool = False
    """Whether it selects the target; a command that starts its own target sets it itself."""
    limit: str = ""
    """The name in [limits] that it overrides."""
    name: str = ""
    """The name of the field."""

    @property
    def flag(self) -> str:
        return next((flag for flag in self.flags if flag.startswith("--")), next(iter(self.flags), ""))

    @property
    def _public_name(self) -> str:
        return self.flag.lstrip("-") if self.flag.startswith("--") else self.name

    @property
    def environment(self) -> str:
        """Its environment variable; "" where it is not an option of the command line."""
        return f"CONFORMANCE_{self._public_name.replace('-', '_').upper()}" if self.flags else ""

    @property
    def pytest_flag(self) -> str:
        if self.pytest is None:
            return f"--conformance-{self._public_name}" if self.flags else ""
        return self.pytest

    @property
    def repeatable(self) -> bool:
        return self.kind in (Kind.TEXTS, Kind.PAIRS)

    @property
    def empty(self) -> Any:
        """The value of an option that is not given."""
        return _EMPTY.get(self.kind)

    def parse(self, value: Any, where: str) -> Any:
        """Converts a text of the command line. Raises UsageError with its place `where`."""
        if self.kind is Kind.PAIRS:
            return _parse_pairs(value, where)
        if self.kind is Kind.TEXTS:
            return tuple(value)
        if not isinstance(value, str):
            return self._within_bounds(value, where) if isinstance(value, float) else value
        if self.kind is Kind.FLAG:
            return _parse_flag(value, where)
        if self.choices and value and value not in self.choices:
            raise UsageError(f"{value!r} is not one of {', '.join(self.choices)}", where=where)
        if self.kind is Kind.SHARD and value:
            parse_shard(value, where)
        if self.kind is Kind.DURATION:
            return self._within_bounds(parse_duration(value, where), where)
        if self.kind in (Kind.INTEGER, Kind.NUMBER):
            return self._number(value, where)
        return Path(value) if self.kind is Kind.PATH else value

    def from_environment(self, environment: Mapping[str, str]) -> Any:
        """The value of its variable; of a repeatable option, split as a shell does. Raises UsageError."""
        text = environment.get(self.environment, "") if self.environment else ""
        if not text:
            return self.empty
        return self.parse(split_words(text, self.environment) if self.repeatable else text, self.environment)

    def arguments(self, value: Any) -> list[str]:
        """The option with its value, as arguments of a command line."""
        if value == self.empty:
            return []
        if self.kind is Kind.FLAG:
            return [self.flag]
        if self.kind is Kind.PAIRS:
            value = [f"{name}={text}" for name, text in value.items()]
        return [argument for text in (value if self.repeatable else [value]) for argument in (self.flag, str(text))]

    def _number(self, text: str, where: str) -> float:
        try:
            number = int(text) if self.kind is Kind.INTEGER else float(text)
        except ValueError:
            raise UsageError(f"{text!r} is not a number", where=where) from None
        return self._within_bounds(number, where)

    def _within_bounds(self, number: float, where: str) -> float:
        minimum, maximum = self.minimum if self.exclusive_minimum is None else self.exclusive_minimum, self.maximum
        if minimum is not None and not (number > minimum if self.exclusive_minimum is not None else number >= minimum):
            hint = f"more than {minimum:g}" if self.exclusive_minimum is not None else f"from {minimum:g} up"
            raise UsageError(f"{number:g} is out of bounds", where=where, hint=hint)
        if not number <= (2**32 if maximum is None else maximum):
            raise UsageError(f"{number:g} is out of bounds", where=where, hint=f"at most {maximum or 2**32:g}")
        return number


_EMPTY: Final[Mapping[Kind, Any]] = {
    **dict.fromkeys((Kind.TEXT, Kind.WORKERS, Kind.SHARD), ""),
    Kind.FLAG: False,
    Kind.TEXTS: (),
    Kind.PAIRS: {},
}


def row(kind: Kind, *flags: str, **rest: Any) -> Any:
    """A field of a dataclass that is a row of the table of options."""
    option = Option(kind, flags, **rest)
    default: Any = {"default_factory": dict} if kind is Kind.PAIRS else {"default": option.empty}
    return field(**default, metadata={"option": option})


def parse_duration(text: str, where: str) -> float:
    """`90s`, `10m`, `2h` or a number, as seconds. Raises UsageError."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    try:
        return float(number) * _UNITS[unit]
    except ValueError:
        raise UsageError(f"{text!r} is not a number of seconds", where=where, hint="write 90, 90s, 10m or 2h") from None


def parse_shard(text: str, where: str) -> tuple[int, int]:
    """`2/4` as (1, 4). Raises UsageError on any other form."""
    match = re.fullmatch(r"(\d{1,3})/(\d{1,3})", text, re.ASCII)
    number, count = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= count <= MAX_SHARDS:
        raise UsageError(f"{text!r} is not a shard", where=where, hint="the second of four is 2/4")
    return number - 1, count


def split_words(text: str, where: str) -> tuple[str, ...]:
    """The words of a text, split as a shell does. Raises UsageError."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"cannot be read: {error}", where=where) from None


def _parse_pairs(values: Iterable[str] | Mapping[str, str], where: str) -> Mapping[str, str]:
    if isinstance(values, Mapping):
        return values
    pairs = list(values)
    for pair in pairs:
        if "=" not in pair:
            raise UsageError(f"{pair!r} sets nothing", where=where, hint="write NAME=VALUE")
    return dict(pair.split("=", 1) for pair in pairs)


def _parse_flag(text: str, where: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise UsageError(f"{text!r} is neither true nor false", where=where)
    return text.lower() in _TRUE
