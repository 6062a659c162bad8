"""A change of an API key as data: applied to send it, and written in the evidence beside the key's name.

`«credential:full|drop:1»` is the key `full` without its last character. Reports turn it into words and into a shell
expression, so that a reader sees what was sent and can send it again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

_CHANGE: Final = r"(?P<action>[a-z]+)(?::(?P<number>\d{1,6}))?(?::(?P<text>[A-Za-z0-9]{1,40}))?"
PLACEHOLDER: Final = re.compile(
    rf"«(?P<kind>credential|redacted)(?::(?P<name>[^»]*?))?(?:\|{_CHANGE})?(?:#[0-9a-f]{{16}})?»"
)
"""A redacted text, with the change of the key where there is one."""


class KeyChange(msgspec.Struct, frozen=True):
    """`number` is a place, from 0, or a number of characters; `text` what is put there, letters and digits only."""

    action: str
    number: int = 0
    text: str = ""

    def apply(self, key: str) -> str:
        """The changed key; it may be the same one."""
        return _ACTIONS[self.action].apply(key, self.number, self.text)

    def placeholder(self, credential: str) -> str:
        """What the evidence shows in place of the changed key."""
        parts = [self.action, *([str(self.number)] if _ACTIONS[self.action].counts else [])]
        return f"«credential:{credential}|{':'.join([*parts, *([self.text] if self.text else [])])}»"

    @property
    def words(self) -> str:
        """What was done to the key: `its last character cut off`."""
        return _ACTIONS[self.action].words(self.number, self.text)

    def shell(self, variable: str) -> str:
        """The changed key as a POSIX shell expression, for use between double quotes."""
        return _ACTIONS[self.action].shell(variable, self.number, self.text)


class _Action(msgspec.Struct, frozen=True):
    apply: Callable[[str, int, str], str]
    words: Callable[[int, str], str]
    shell: Callable[[str, int, str], str]
    counts: bool = True


def change_in(found: re.Match[str]) -> KeyChange | None:
    """The change that a placeholder states; None for the key as it is, or for a change that is not known."""
    if found["action"] not in _ACTIONS:
        return None
    return KeyChange(found["action"], int(found["number"] or 0), found["text"] or "")


def _sed_command(variable: str, program: str) -> str:
    return f"$(printf %s \"${variable}\" | sed '{program}')"


def _before(number: int) -> str:
    return rf"s/^\(.\{{{number}\}}\)"


def _drop(variable: str, number: int, _text: str) -> str:
    return f"${{{variable}%{'?' * number}}}" if number <= 20 else _sed_command(variable, rf"s/.\{{{number}\}}$//")


def _last(number: int, _text: str) -> str:
    return "its last character cut off" if number == 1 else f"its last {number} characters cut off"


_ACTIONS: Final[Mapping[str, _Action]] = {
    "drop": _Action(lambda key, number, _: key[: len(key) - number], _last, _drop),
    "keep": _Action(
        lambda key, number, _: key[:number],
        lambda number, _: f"cut after character {number}",
        lambda variable, number, _: f'$(printf %s "${variable}" | cut -c1-{number})',
    ),
    "append": _Action(
        lambda key, _, text: key + text,
        lambda _, text: f"with {text} added at its end",
        lambda variable, _, text: f"${{{variable}}}{text}",
        counts=False,
    ),
    "repeat": _Action(
        lambda key, number, _: key + key[:number],
        lambda number, _: f"with its first {number} characters again at its end",
        lambda variable, number, _: f'${{{variable}}}$(printf %s "${variable}" | cut -c1-{number})',
    ),
    "replace": _Action(
        lambda key, number, text: key[:number] + text + key[number + 1 :],
        lambda number, text: f"its character {number + 1} replaced by {text}",
        lambda variable, number, text: _sed_command(variable, rf"{_before(number)}./\1{text}/"),
    ),
    "insert": _Action(
        lambda key, number, text: key[:number] + text + key[number:],
        lambda number, text: f"with {text} put in before character {number + 1}",
        lambda variable, number, text: _sed_command(variable, rf"{_before(number)}/\1{text}/"),
    ),
    "delete": _Action(
        lambda key, number, _: key[:number] + key[number + 1 :],
        lambda number, _: f"without its character {number + 1}",
        lambda variable, number, _: _sed_command(variable, rf"{_before(number)}./\1/"),
    ),
    "swap": _Action(
        lambda key, number, _: (
            key[:number] + key[number + 1 : number + 2] + key[number : number + 1] + key[number + 2 :]
        ),
        lambda number, _: f"its characters {number + 1} and {number + 2} exchanged",
        lambda variable, number, _: _sed_command(variable, rf"{_before(number)}\(.\)\(.\)/\1\3\2/"),
    ),
    "swapcase": _Action(
        lambda key, _, __: key.swapcase(),
        lambda _, __: "with small letters for capitals and capitals for small letters",
        lambda variable, _, __: f"$(printf %s \"${variable}\" | tr 'A-Za-z' 'a-zA-Z')",
        counts=False,
    ),
}
