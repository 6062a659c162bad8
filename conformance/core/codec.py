"""Frozen values of plain data as JSON values, and back."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Hashable, Mapping
from enum import StrEnum
from functools import cache, partial
from typing import Any, Final

_PLAIN: Final = (str, int, float, bool, type(None))
_Codec = Callable[[Any], Any]


def to_json(value: Any) -> Any:
    """A JSON value (dict, list, str, number, bool, None) of a frozen value of plain data."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _encoder(typing.cast(Hashable, kind))(value)
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    return value


@cache
def _encoder(kind: Any) -> _Codec:
    """Made once for each type, from its annotations: thousands of exchanges are written in a run."""
    if kind in _PLAIN:
        return _same
    if typing.get_origin(kind) is tuple and set(typing.get_args(kind)) <= {str, int, float, bool, Ellipsis}:
        return list
    if not dataclasses.is_dataclass(kind):
        return to_json
    shown = [f.name for f in dataclasses.fields(kind) if not f.metadata.get("journal_only")]
    hints = _hints(typing.cast(type, kind))
    plan = [(name, _encoder(hints[name])) for name in shown]
    return lambda value: {name: encode(getattr(value, name)) for name, encode in plan}


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


_T = typing.TypeVar("_T")


def from_json(kind: type[_T], value: Any) -> _T:
    """The value of type `kind` that `to_json` gave. Unknown members are ignored, missing ones take their default.

    Raises TypeError, ValueError or KeyError on a value of another shape.
    """
    return typing.cast(_T, _decoder(typing.cast(Hashable, kind))(value))


def _same(value: Any) -> Any:
    return value


@cache
def _decoder(kind: Any) -> _Codec:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        inner = _decoder(next(argument for argument in arguments if argument is not type(None)))
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        return _tuple_decoder(arguments)
    if origin is not None and issubclass(origin, Mapping):
        item = _decoder(arguments[1])
        return lambda value: {key: item(held) for key, held in value.items()}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = _hints(kind)
        plan = {f.name: _decoder(hints[f.name]) for f in dataclasses.fields(kind)}
        return lambda value: kind(**{name: plan[name](held) for name, held in value.items() if name in plan})
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind
    return _same


def _exactly(length: int, value: Any) -> tuple[Any, ...]:
    """What is one already stays the same."""
    made = tuple(value)
    if len(made) != length:
        raise ValueError(f"{length} items are needed, not {len(made)}")
    return made


def _tuple_decoder(arguments: tuple[Any, ...]) -> _Codec:
    if arguments[-1] is Ellipsis:
        each = _decoder(arguments[0])
        return tuple if each is _same else lambda value: tuple([each(item) for item in value])
    codecs = [_decoder(argument) for argument in arguments]
    if set(codecs) == {_same}:
        return partial(_exactly, len(codecs))
    return lambda value: tuple([codec(item) for codec, item in zip(codecs, value, strict=True)])
