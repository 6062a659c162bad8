"""The depth of a JSON stream, counted piece by piece."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.client.traffic.nesting import EntryLimitError, NestingGuard
from conformance.core.strict_json import MAX_DEPTH, NestingLimitError


def read_all(text: bytes, size: int) -> bytes:
    guard = NestingGuard(io.BytesIO(text))
    return b"".join(iter(lambda: guard.read(size), b""))


def nested(levels: int, core: str = "") -> bytes:
    return ('[{"a":' * (levels // 2) + f"[{core}]" + "}]" * (levels // 2)).encode()


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_the_bound_is_exact_however_the_stream_is_cut(size: int) -> None:
    allowed = nested(MAX_DEPTH - 2, "[]")
    assert read_all(allowed, size) == allowed
    with pytest.raises(NestingLimitError, match=f"deeper than {MAX_DEPTH} levels"):
        read_all(nested(MAX_DEPTH - 2, "[[]]"), size)


@given(st.text(st.sampled_from('[{"\\\\ü')), st.integers(1, 9))
def test_brackets_in_strings_are_text(text: str, size: int) -> None:
    """Quotes and backslashes at the end of a piece too."""
    written = json.dumps([text + "[" * 2 * MAX_DEPTH, {"a" + text: []}] * 3).encode()
    assert read_all(written, size) == written


def test_siblings_do_not_count() -> None:
    written = json.dumps([[{}]] * 5000).encode()
    assert read_all(written, 1000) == written


def test_an_entry_is_bounded_and_many_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser holds all of an entry: its bytes count, and its arrays and objects."""
    monkeypatch.setattr("conformance.client.traffic.nesting._MAX_ENTRY", 1000)
    monkeypatch.setattr("conformance.client.traffic.nesting._MAX_VALUES", 100)
    with pytest.raises(EntryLimitError, match="too large in one entry"):
        read_all(json.dumps(["a" * 1100]).encode(), 50)
    with pytest.raises(EntryLimitError):
        read_all(b"[" + b"{}," * 110 + b"{}]", 50)
    guard = NestingGuard(io.BytesIO(b"[" + b"{}," * 2000 + b"{}]"))
    for _ in iter(lambda: guard.read(50), b""):
        guard.begin_entry()
