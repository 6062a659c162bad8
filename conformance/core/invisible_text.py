"""Invisible characters of a text: reports leave them out, and secrets are looked for without them."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE_SEQUENCES: Final = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)"  # OSC, DCS and friends: titles, links, clipboard
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_CHARACTERS: Final = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb"  # zero width, bidi, separators
    "\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
)
CHARACTER: Final = re.compile(_CHARACTERS)
"""One control, bidi or zero-width character, or half of a surrogate pair; tabs and newlines are none."""
PART: Final = re.compile(f"{_ESCAPE_SEQUENCES}|{_CHARACTERS}")
"""A command to a terminal, or one such character."""


def without_invisible_parts(text: str) -> str:
    """The text without commands to a terminal and invisible characters; tabs and newlines stay."""
    return text if is_printable(text) else PART.sub("", text)


def is_printable(text: str) -> bool:
    """Whether nothing of a text, newlines apart, is invisible: a quick test that may be false for visible text."""
    return text.isprintable() or text.replace("\n", "").isprintable()
