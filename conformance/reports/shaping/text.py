"""Text that a target may have written, made safe for a terminal, a page or a file.

Three degrees: `clean` drops what a terminal would obey, `visible` names it, `utf8` only mends what no file
may hold. `cut` bounds any of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

_T = TypeVar("_T")

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)"  # OSC, DCS and friends: titles, links, clipboard
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb"  # zero width, bidi, separators
    "\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
)
_ENCODED = json.JSONEncoder(ensure_ascii=False).encode
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_DEEPEST = 8
"""Members of what lies deeper, counted in spaces, are not set off from one another."""
_PIECE = 1 << 18
"""Characters."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_ODD = re.compile(r"\\[urbf]")
"""In JSON: what may be an escaped control character, other than tab and newline."""


def clean(text: str) -> str:
    """The text without anything that a terminal or a log viewer would obey; tabs and newlines stay."""
    return text if _plain(text) else _INVISIBLE.sub("", _ESCAPES.sub("", text))


def visible(text: str) -> str:
    """The text with control, bidi and zero-width characters named as `⟨U+001B⟩`, so that none of them acts."""
    return text if _plain(text) else _INVISIBLE.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def _plain(text: str) -> bool:
    """Printable ASCII, as nearly all of it is: nothing to look for."""
    return text.isascii() and text.isprintable()


def utf8(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced by U+FFFD, so that UTF-8 can carry it."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def cut(text: str, limit: int) -> str:
    """At most about `limit` characters, saying how many are missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def one_line(text: str, limit: int = 200) -> str:
    """The text on one line, whitespace collapsed."""
    return cut(" ".join(text[: limit * 8].split()), limit)


def plural(count: int, noun: str, many: str = "") -> str:
    """`1 result`, `2 results`, `1,000 results`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def milliseconds(value: float) -> str:
    """`0.4 ms`, `12 ms`, `3.2 s`."""
    if value >= 1000:
        return f"{value / 1000:.1f} s"
    return f"{value:.1f} ms" if value < 10 else f"{value:.0f} ms"


def mapped(value: _T, change: Callable[[str], str]) -> _T:
    """The same plain value with every string in it, member names too, passed through `change`, which is one of these:
    ordinary text stays as it is."""
    return _mapped(value, change)  # type: ignore[no-any-return]


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if type(value) is str:
        return change(value)
    if isinstance(value, dict):
        if _ordinary(value):
            return value
        return {change(str(key)): _mapped(item, change) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_mapped(item, change) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _mapped(getattr(value, f.name), change) for f in fields(value)})
    return value


def _ordinary(value: Any) -> bool:
    """Whether no string in a value is changed, by how it is encoded: much faster than to look at each."""
    try:
        return _is_ordinary(_ENCODED(value))
    except TypeError:  # it holds more than JSON has
        return False


def _is_ordinary(encoded: str) -> bool:
    return encoded.isprintable() and not _ODD.search(encoded)


def encoded(value: Any, change: Callable[[str], str]) -> str:
    """Compact JSON text of a plain value, of which each string is passed through `change`, as in `mapped`."""
    text = _COMPACT(value)
    return text if _is_ordinary(text) else utf8(_COMPACT(mapped(value, change)))


def write(path: Path, text: str) -> Path:
    """Put the text into the file as UTF-8, whole or not at all. Raises OSError."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        file.writelines(_encoded(text))
    partial.replace(path)
    return path


def size(text: str) -> int:
    """The bytes of the file that `write` makes of it."""
    return len(text) if text.isascii() else sum(map(len, _encoded(text)))


def _encoded(text: str) -> Iterator[bytes]:
    """Piece by piece, so that a long text is not held twice."""
    text = utf8(text)
    return (text[at : at + _PIECE].encode() for at in range(0, len(text), _PIECE))


def _laid_out(value: Any, margin: str, indent: str) -> str:
    """Members a line each, and the items of a list: the standard library's own layout takes ten times as long."""
    deeper = margin + indent
    if isinstance(value, dict) and value and len(margin) <= _DEEPEST:
        members = (f"{_ENCODED(str(name))}: {_laid_out(item, deeper, indent)}" for name, item in value.items())
        return "{" + deeper + ("," + deeper).join(members) + margin + "}"
    if isinstance(value, (list, tuple)) and value:
        lone = len(value) == 1  # as the one run of a SARIF log
        items = (_laid_out(item, deeper, indent) if lone else _ENCODED(item) for item in value)
        return "[" + deeper + ("," + deeper).join(items) + margin + "]"
    return _ENCODED(value)


def dumps(value: Any, *, indent: int | None = 1) -> str:
    """JSON text of a plain value, safe to print: the invisible is escaped and comes back when it is read.

    Lone surrogates become U+FFFD: most readers of JSON refuse them, escaped or not. Unless it is None, an
    indent of so many spaces sets off members, and the items of a list.
    """
    text = _laid_out(value, "\n", " " * indent) if indent else _COMPACT(value)
    if text.isprintable() or (text.isascii() and "\x7f" not in text):
        return text + "\n"  # what else is invisible the standard library escapes
    return _INVISIBLE.sub(lambda found: json.dumps(found[0])[1:-1], utf8(text)) + "\n"
