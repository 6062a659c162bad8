"""Other spellings of one URL: an unreserved character and its percent-encoding are equivalent (RFC 3986, 6.2.2.2)."""

from __future__ import annotations

from urllib.parse import quote


def percent_encode_all(text: str) -> str:
    """Every octet of the UTF-8 text percent-encoded."""
    return "".join(f"%{octet:02X}" for octet in text.encode("utf-8", "surrogatepass"))


def percent_encode_first(text: str) -> str:
    """As usual, but for the first character, which is percent-encoded although it need not be."""
    return percent_encode_all(text[:1]) + quote(text[1:], safe="", errors="surrogatepass")
