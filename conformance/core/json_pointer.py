"""JSON pointers (RFC 6901). No function modifies its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

JsonValue = Any
_REMOVED = object()


def get(value: JsonValue, pointer: str) -> JsonValue:
    """The value at `pointer`. Raises KeyError where there is none, ValueError on a malformed pointer."""
    for token in tokens(pointer):
        value = value[_key(value, token, pointer)]
    return value


def has(value: JsonValue, pointer: str) -> bool:
    try:
        get(value, pointer)
    except KeyError:
        return False
    return True


def replace(value: JsonValue, pointer: str, new: JsonValue) -> JsonValue:
    """A copy with `new` at `pointer`. Only a last member of an object may be new. Raises as `get` does."""
    return _rebuild(value, tokens(pointer), pointer, new)


def put(value: JsonValue, pointer: str, new: JsonValue) -> JsonValue:
    """As `replace`, but creates missing objects on the path."""
    path = tokens(pointer)
    for depth in range(1, len(path)):
        if not has(value, join(*path[:depth])):
            value = replace(value, join(*path[:depth]), {})
    return replace(value, pointer, new)


def remove(value: JsonValue, pointer: str) -> JsonValue:
    """A copy without the value at `pointer`. Raises as `get` does, and ValueError on the empty pointer."""
    if not pointer:
        raise ValueError("the whole value cannot be removed")
    return _rebuild(value, tokens(pointer), pointer, _REMOVED)


def expand(value: JsonValue, pattern: str) -> Iterator[str]:
    """The pointers that a pattern stands for: a `*` in it matches every member and element. They may lead nowhere."""
    head, star, suffix = pattern.partition("/*")
    if not star:
        yield pattern
    elif has(value, head):
        inside = get(value, head)
        names = list(inside) if isinstance(inside, dict) else range(len(inside)) if isinstance(inside, list) else ()
        for name in names:
            yield from expand(value, f"{head}{join(name)}{suffix}")


def remove_matching(value: JsonValue, patterns: Sequence[str]) -> JsonValue:
    """A copy without the values that the patterns of `expand` match; the whole value is never removed."""
    for pattern in patterns:
        for pointer in reversed(list(expand(value, pattern))):  # from the end: a removal moves what comes after it
            if pointer and has(value, pointer):
                value = remove(value, pointer)
    return value


def leaves(value: JsonValue) -> list[tuple[str, JsonValue]]:
    """Every scalar in `value`, array elements included, with its pointer, in document order."""
    return list(_leaves(value, ""))


def places_of(value: JsonValue, leaf: JsonValue) -> list[str]:
    """The pointers to every leaf that equals this one."""
    return [where for where, found in leaves(value) if found == leaf]


def join(*names: str | int) -> str:
    """The pointer through these members and indices."""
    return "".join("/" + str(name).replace("~", "~0").replace("/", "~1") for name in names)


def tokens(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError(f"a JSON pointer begins with a slash: {pointer!r}")
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _leaves(value: JsonValue, prefix: str) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, prefix + join(name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, prefix + join(index))
    else:
        yield prefix, value


def _key(value: JsonValue, token: str, pointer: str) -> str | int:
    if isinstance(value, dict) and token in value:
        return token
    if isinstance(value, list) and _is_index(token) and int(token) < len(value):
        return int(token)
    raise KeyError(f"nothing at {pointer!r}")


def _is_index(token: str) -> bool:
    return token.isascii() and token.isdigit() and (token == "0" or token[0] != "0")  # noqa: S105


def _rebuild(value: JsonValue, path: list[str], pointer: str, new: JsonValue) -> JsonValue:
    if not path:
        return new
    token, rest = path[0], path[1:]
    removes = not rest and new is _REMOVED
    if isinstance(value, dict) and not rest and not removes:
        return {**value, token: new}
    key = _key(value, token, pointer)
    child = None if removes else _rebuild(value[key], rest, pointer, new)
    if isinstance(value, dict):
        return {name: child if name == key else item for name, item in value.items() if not (removes and name == key)}
    index = int(key)
    return [*value[:index], *([] if removes else [child]), *value[index + 1 :]]
