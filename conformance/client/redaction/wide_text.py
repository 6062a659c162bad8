"""UTF-16 and UTF-32 read as single bytes: their characters stand between NULs."""

from __future__ import annotations

from functools import cached_property

_NUL = "\0"


class WideText:
    """A text without its NULs; `span` maps positions back to the original text. `text` is empty where it has none."""

    def __init__(self, text: str) -> None:
        self._original = text
        self.text = text.replace(_NUL, "") if _NUL in text else ""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The positions of the first character and behind the last one."""
        return self._places[start], self._places[end - 1] + 1

    @cached_property
    def _places(self) -> list[int]:
        """The original position of each character; computed on demand."""
        return [at for at, character in enumerate(self._original) if character != _NUL]
