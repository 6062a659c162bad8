"""The sentences of an operator's guide, and the statements of the profile that was written from it.

A profile quotes a sentence in comments that begin with `#> `. What follows the quotation states it: keys, or a comment
that begins with `# Left out: ` and gives the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SENTENCE_END = re.compile(r"(?<=\.)\s+(?=[A-Z`])")
_QUOTE, _LEFT_OUT = "#> ", "# Left out: "


def sentences(guide: Path) -> list[str]:
    """The sentences of a guide after its introduction, in order; a block of code is one of its own."""
    text = guide.read_text(encoding="utf-8").partition("\n## ")[2]
    found: list[str] = []
    for number, part in enumerate(text.split("```")):
        if number % 2:
            found.append("```" + part.partition("\n")[0])
            continue
        for line in part.splitlines()[1:] if number == 0 else part.splitlines():
            if line and not line.startswith("#"):
                found += _SENTENCE_END.split(line.removeprefix("- ").strip())
    return found


@dataclass(frozen=True, slots=True)
class Quotation:
    """Sentences of a guide, and what a profile makes of them."""

    sentences: tuple[str, ...]
    keys: tuple[str, ...]
    """The lines that state them."""
    left_out: str
    """The reason why they are not stated; empty where they are."""


def quotations(profile: Path) -> Iterator[Quotation]:
    """Every quotation of a profile, in order."""
    blocks = re.split(r"^(?=#> )", profile.read_text(encoding="utf-8"), flags=re.MULTILINE)
    pending: list[str] = []
    for block in blocks[1:]:
        lines = block.splitlines()
        pending.append(lines[0].removeprefix(_QUOTE))
        statements = [line for line in lines[1:] if line and not line.startswith("#")]
        reasons = [line.removeprefix(_LEFT_OUT) for line in lines[1:] if line.startswith(_LEFT_OUT)]
        if statements or reasons:
            yield Quotation(tuple(pending), tuple(statements), " ".join(reasons))
            pending = []
    if pending:
        yield Quotation(tuple(pending), (), "")
