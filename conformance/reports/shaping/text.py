"""Text that a target may have written, made safe for a terminal, a page or a file.

Three degrees: `clean` removes terminal control sequences, `visible` shows them by name, `utf8` only replaces what a
file cannot contain. `cut` bounds the length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, TypeVar

import msgspec

from conformance.core.invisible_text import CHARACTER as INVISIBLE
from conformance.core.invisible_text import is_printable, without_invisible_parts

_T = TypeVar("_T")

_JSON_WITH_SURROGATES = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=msgspec.json.decode).encode
"""`default` is called for `msgspec.Raw`, the only other kind of value."""
_JSON = msgspec.json.Encoder()
_MAX_INDENT = 8
"""Members below this indent, in spaces, are written on one line."""
_PIECE = 1 << 18
"""Characters."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_CONTROL = re.compile(r"\\[urbf]")
"""In JSON: a possible escaped control character other than tab and newline."""


def compact_json(value: Any) -> str:
    """Compact JSON text. Raises TypeError for what is not a JSON value."""
    try:
        return _JSON.encode(value).decode()
    except UnicodeEncodeError:  # a lone surrogate
        return _JSON_WITH_SURROGATES(value)


def clean(text: str) -> str:
    """The text without terminal control sequences and invisible characters; tabs and newlines stay."""
    return without_invisible_parts(text)


def console_text(text: str) -> str:
    """`clean`, and no command for the runner of GitHub Actions, which obeys `##[name]` anywhere in a line."""
    return clean(text).replace("##[", "## [")


def visible(text: str) -> str:
    """The text with control, bidi and zero-width characters shown as `⟨U+001B⟩`."""
    return text if is_printable(text) else INVISIBLE.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def visible_name(text: str) -> str:
    """`visible`, with line ends and tabs shown too: of a path, which may have any character."""
    return visible(re.sub(r"[\n\t]", lambda match: f"⟨U+{ord(match[0]):04X}⟩", text))


def utf8(text: str) -> str:
    """The text with surrogate pairs combined and lone surrogates replaced by U+FFFD, so that it can be encoded as
    UTF-8."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def cut(text: str, limit: int) -> str:
    """About `limit` characters at most, with the number of missing ones."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def one_line(text: str, limit: int = 200) -> str:
    """The text on one line, whitespace collapsed."""
    return cut(" ".join(text[: limit * 8].split()), limit)


def milliseconds(value: float) -> str:
    """`0.4 ms`, `12 ms`, `3.2 s`."""
    if value >= 1000:
        return f"{value / 1000:.1f} s"
    return f"{value:.1f} ms" if value < 10 else f"{value:.0f} ms"


def map_strings(value: _T, change: Callable[[str], str]) -> _T:
    """The same value with `change` applied to every string, member names included. `change` is one of the functions
    above: ordinary text stays unchanged."""
    return _map_strings(value, change)  # type: ignore[no-any-return]


def _map_strings(value: Any, change: Callable[[str], str]) -> Any:
    if type(value) is str:
        return change(value)
    if isinstance(value, dict):
        if _ordinary(value):
            return value
        return {change(str(key)): _map_strings(item, change) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_map_strings(item, change) for item in value)
    if isinstance(value, msgspec.Struct):
        members = {name: _map_strings(getattr(value, name), change) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **members)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _map_strings(getattr(value, f.name), change) for f in fields(value)})
    return value


def _ordinary(value: Any) -> bool:
    """Whether no string of a value would change, tested on its encoded form: much faster than testing each."""
    try:
        return _is_ordinary(compact_json(value))
    except TypeError:  # not a JSON value
        return False


def _is_ordinary(encode_json: str) -> bool:
    return _is_printable_json(encode_json) and not _ESCAPED_CONTROL.search(encode_json)


def _is_printable_json(text: str) -> bool:
    """Whether JSON text is printable: of ASCII only DEL is not, since other control characters are escaped."""
    return "\x7f" not in text if text.isascii() else text.isprintable()


def encode_json(value: Any, change: Callable[[str], str]) -> str:
    """Compact JSON text of a value with `change` applied to each string, as in `map_strings`."""
    text = compact_json(value)
    return text if _is_ordinary(text) else utf8(compact_json(map_strings(value, change)))


def write(path: Path, text: str) -> Path:
    """Write the text as UTF-8, completely or not at all. Raises OSError."""
    with whole_file(path) as file:
        file.writelines(_encode_chunks(text))
    return path


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that takes its name when all is written; after an error nothing of it is left. Raises OSError.

    Its first name is new: a killed run may have left a file, and a run folder from another machine may have links.
    """
    partial = path.with_name(f"{path.name}.{token_hex(8)}.partial")
    try:
        with partial.open("xb") as file:
            yield file
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def size(text: str) -> int:
    """The size in bytes of the file that `write` creates."""
    return len(text) if text.isascii() else sum(map(len, _encode_chunks(text)))


def _encode_chunks(text: str) -> Iterator[bytes]:
    """Encoded in chunks, so that a long text is not duplicated in memory."""
    text = utf8(text)
    return (text[at : at + _PIECE].encode() for at in range(0, len(text), _PIECE))


def _laid_out(value: Any, margin: str, indent: str) -> str:
    """One line for each member and list item: ten times as fast as the layout of the standard library."""
    deeper = margin + indent
    if isinstance(value, dict) and value and len(margin) <= _MAX_INDENT:
        members = (f"{compact_json(str(name))}: {_laid_out(item, deeper, indent)}" for name, item in value.items())
        return "{" + deeper + ("," + deeper).join(members) + margin + "}"
    if isinstance(value, (list, tuple)) and value:
        lone = len(value) == 1  # as the one run of a SARIF log
        items = (_laid_out(item, deeper, indent) if lone else compact_json(item) for item in value)
        return "[" + deeper + ("," + deeper).join(items) + margin + "]"
    return compact_json(value)


def dumps(value: Any, *, indent: int | None = 1) -> str:
    """JSON text of a value, safe to print: invisible characters are escaped, and restored when it is parsed.

    Lone surrogates become U+FFFD: most JSON parsers refuse them, escaped or not. Members and list items are indented by
    `indent` spaces, unless it is None.
    """
    text = _laid_out(value, "\n", " " * indent) if indent else compact_json(value)
    if _is_printable_json(text):
        return text + "\n"
    return INVISIBLE.sub(lambda found: json.dumps(found[0])[1:-1], utf8(text)) + "\n"
