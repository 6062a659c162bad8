"""Texts with invisible characters between the others, such as the NULs of UTF-16 that is read as single bytes."""

from __future__ import annotations

from functools import cached_property

from conformance.core.invisible_text import PART, without_invisible_parts


class WideText:
    """A text without its invisible characters, as reports show it; `span` maps positions back to the original text.

    `text` is empty where it has none.
    """

    def __init__(self, text: str) -> None:
        self._original = text
        plain = without_invisible_parts(text)
        self.text = plain if len(plain) < len(text) else ""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The positions of the first character and behind the last one."""
        return self._places[start], self._places[end - 1] + 1

    @cached_property
    def _places(self) -> list[int]:
        """The original position of each character; computed on demand."""
        places, at = list[int](), 0
        for part in PART.finditer(self._original):
            places += range(at, part.start())
            at = part.end()
        return [*places, *range(at, len(self._original))]
