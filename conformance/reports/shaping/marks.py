"""The decisive words of an answer: those that the result's texts quote and the answer contains."""

from __future__ import annotations

import re

from conformance.core.model import Exchange, Result

_QUOTED = re.compile(
    r"'([^']{2,80})'|\"([^\"]{2,80})\"|`([^`]{2,80})`"  # a value, a member
    r"|/([\w.-]{2,60})(?![\w.-]*/)"  # the last part of a JSON pointer
    r"|\b([A-Z][A-Za-z]*(?:-[A-Za-z]+)+)\b"  # a header
)
MAX_WORDS = 8


def marks(result: Result, exchange: Exchange) -> tuple[str, ...]:
    """The words to mark in the decisive exchange's answer, the longest first; its status is always marked."""
    texts = [
        result.observed,
        result.message,
        *(f.message for f in exchange.findings if f.requirement == result.requirement),
    ]
    answer = "\n".join([exchange.response.body, *(f"{name}: {value}" for name, value in exchange.response.headers)])
    small = answer.lower()
    found = {next(filter(None, match)) for text in texts for match in _QUOTED.findall(text[:4_000])}
    present = [word for word in found if word.lower() in small]
    return tuple(sorted(present, key=lambda word: (-len(word), word))[:MAX_WORDS])


def pieces(text: str, words: tuple[str, ...]) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it is marked; letter case is ignored."""
    if not words:
        return [(text, False)]
    pattern = re.compile("(" + "|".join(re.escape(word) for word in words) + ")", re.IGNORECASE)
    return [(piece, index % 2 == 1) for index, piece in enumerate(pattern.split(text)) if piece]
