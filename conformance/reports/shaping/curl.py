"""An exchange as a line for a POSIX shell with curl, its secrets as environment variables.

A redacted credential `«credential:full»` becomes `$CONFORMANCE_KEY_FULL`, any other redaction `«redacted:proof»`
becomes `$CONFORMANCE_REDACTED_PROOF`: the line runs once those are set.
"""

from __future__ import annotations

import re
import shlex

from conformance.core.model import Exchange

_PLACEHOLDER = re.compile("«(credential|redacted)(?::([^»]*?))?(?:#[0-9a-f]{16})?»")
_PLAIN = re.compile(r"[^\"\\$`!\x00-\x1f\x7f]*")
_PRINTABLE = re.compile(r"[\n\t -~¡-¬®-\u05ff]*")
_FRAMING = frozenset({"host", "content-length", "accept-encoding", "connection", "transfer-encoding", "user-agent"})


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
    return list(dict.fromkeys(_variable(found) for text in texts for found in _PLACEHOLDER.finditer(text)))


def shell(text: str) -> str:
    """One shell word that yields the text, with redacted parts read from variables."""
    if not _PLACEHOLDER.search(text):
        return _quote(text)
    pieces: list[tuple[str, bool]] = []
    position = 0
    for found in _PLACEHOLDER.finditer(text):
        pieces += [(text[position : found.start()], False), (_variable(found), True)]
        position = found.end()
    pieces.append((text[position:], False))
    if all(is_variable or _PLAIN.fullmatch(piece) for piece, is_variable in pieces):
        return '"' + _join(pieces) + '"'
    return "".join(f'"${piece}"' if is_variable else _quote(piece) for piece, is_variable in pieces if piece)


def _join(pieces: list[tuple[str, bool]]) -> str:
    text = ""
    for index, (piece, is_variable) in enumerate(pieces):
        if not is_variable:
            text += piece
            continue
        following = pieces[index + 1][0][:1] if index + 1 < len(pieces) else ""
        needs_braces = following == "_" or following.isalnum()
        text += f"${{{piece}}}" if needs_braces else f"${piece}"
    return text


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
    kind = "KEY" if found[1] == "credential" else "REDACTED"
    name = re.sub(r"[^A-Z0-9]+", "_", (found[2] or "").upper()).strip("_")
    return f"CONFORMANCE_{kind}_{name}" if name else f"CONFORMANCE_{kind}"
