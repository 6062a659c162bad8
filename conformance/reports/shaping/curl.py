"""An exchange as a line for a POSIX shell with curl, its secrets as environment variables.

A redacted credential `«credential:full»` becomes `$CONFORMANCE_KEY_FULL`, any other redaction `«redacted:proof»`
becomes `$CONFORMANCE_REDACTED_PROOF`: the line runs once those are set. A changed key `«credential:full|drop:1»` is
computed from its variable: `${CONFORMANCE_KEY_FULL%?}`.
"""

from __future__ import annotations

import re
import shlex

from conformance.core.key_change import PLACEHOLDER, change_in
from conformance.core.model import Exchange

_PLAIN = re.compile(r"[^\"\\$`!\x00-\x1f\x7f]*")
_PRINTABLE = re.compile(r"[\n\t -~¡-¬®-\u05ff]*")
_FRAMING = frozenset({"host", "content-length", "accept-encoding", "connection", "user-agent"})


def curl(exchange: Exchange) -> str:
    """The command that sends the exchange's request again, ending with a comment where it cannot be exact."""
    parts = ["curl", "-sS", "-i", "-X", shell(exchange.method)]
    if re.search(r"/\.\.?(/|\?|$)", exchange.url):
        parts.append("--path-as-is")
    if set("[]{}") & set(exchange.url):
        parts.append("-g")
    names = {name.lower() for name, _ in exchange.request.headers}
    for name, value in exchange.request.headers:
        if name.lower() not in _FRAMING:
            parts += ["-H", shell(f"{name}: {value}" if value.strip() else f"{name};")]
    if exchange.request.body:
        if "content-type" not in names:
            parts += ["-H", "'Content-Type:'"]
        parts += ["--data-binary", shell(_literal_body(exchange.request.body))]
    parts.append(shell(exchange.url))
    note = "  # the body was cut in the journal" if exchange.request.truncated else ""
    return " ".join(parts) + note


def _literal_body(body: str) -> str:
    """curl reads a body that begins with @ from a file; a leading blank changes no JSON."""
    return f" {body}" if body.startswith("@") else body


def variables(exchange: Exchange) -> list[str]:
    """The environment variables that the line of this exchange reads, in order."""
    texts = [exchange.url, exchange.request.body]
    texts += [value for name, value in exchange.request.headers if name.lower() not in _FRAMING]
    return list(dict.fromkeys(_variable(found) for text in texts for found in PLACEHOLDER.finditer(text)))


def in_words(text: str) -> str:
    """The text with each change of a key in words: `«credential:full, its last character cut off»`."""
    return PLACEHOLDER.sub(_in_words, text)


def _in_words(found: re.Match[str]) -> str:
    change = change_in(found)
    return f"«credential:{found['name']}, {change.words}»" if change else found[0]


def credential_of(exchange: Exchange) -> str:
    """What the request says of its caller: `the key full, its last character cut off`, `no credential`."""
    values = [value for name, value in exchange.request.headers if name.lower() == "authorization"]
    if not values:
        return "no Authorization header"
    if not values[0]:
        return "an empty Authorization header"
    if not (found := PLACEHOLDER.search(values[0])):
        return "an Authorization header without a key of the profile"
    if found["kind"] != "credential":
        return "an Authorization header that is not shown"
    change = change_in(found)
    return f"the key {found['name']}{f', {change.words}' if change else ''}"


def shell(text: str) -> str:
    """One shell word that yields the text, with redacted parts read from variables."""
    if not PLACEHOLDER.search(text):
        return _quote(text)
    pieces: list[tuple[str, re.Match[str] | None]] = []
    position = 0
    for found in PLACEHOLDER.finditer(text):
        pieces += [(text[position : found.start()], None), ("", found)]
        position = found.end()
    pieces.append((text[position:], None))
    if all(found or _PLAIN.fullmatch(piece) for piece, found in pieces):
        return '"' + _join(pieces) + '"'
    return "".join(f'"{_read(found, "")}"' if found else _quote(piece) for piece, found in pieces if found or piece)


def _join(pieces: list[tuple[str, re.Match[str] | None]]) -> str:
    following = [piece for piece, _ in pieces[1:]] + [""]
    return "".join(
        _read(found, after) if found else piece for (piece, found), after in zip(pieces, following, strict=True)
    )


def _read(found: re.Match[str], following: str) -> str:
    """The expression that reads a redacted text from its variable, before another text."""
    name = _variable(found)
    if change := change_in(found):
        return change.shell(name)
    needs_braces = following[:1] == "_" or following[:1].isalnum()
    return f"${{{name}}}" if needs_braces else f"${name}"


def _quote(text: str) -> str:
    """Quoted for the shell; with $'' where a character would be invisible."""
    if _PRINTABLE.fullmatch(text):
        return shlex.quote(text)
    escaped = "".join(_ansi_c(char) for char in text)
    return f"$'{escaped}'"


def _ansi_c(char: str) -> str:
    if char in "\\'":
        return "\\" + char
    if " " <= char <= "~":
        return char
    if "\ud800" <= char <= "\udfff":
        return "\ufffd"
    return "".join(f"\\x{byte:02x}" for byte in char.encode())


def _variable(found: re.Match[str]) -> str:
    kind = "KEY" if found["kind"] == "credential" else "REDACTED"
    name = re.sub(r"[^A-Z0-9]+", "_", (found["name"] or "").upper()).strip("_")
    return f"CONFORMANCE_{kind}_{name}" if name else f"CONFORMANCE_{kind}"
