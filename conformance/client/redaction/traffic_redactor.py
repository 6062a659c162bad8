"""The redaction of observed exchanges: what any run redacts, and besides it what the suite has not sent itself.

Headers are kept by a list of harmless names. Values that were replaced anywhere in an exchange are replaced in all of
it; credentials, cookies, tokens, codes and tickets in the rest of the run too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, unquote_plus

from msgspec.structs import replace

from conformance.client.redaction.header_credentials import AuthorizationForm
from conformance.client.redaction.marks import Marks
from conformance.client.redaction.personal_data import (
    DocumentRedactor,
    PatternRedactor,
    is_secret_member,
    is_suspect,
)
from conformance.client.redaction.secrets import WHOLE_HEADERS, Secrets
from conformance.client.response import Answer
from conformance.core.model import Exchange, Finding, Message
from conformance.core.query import parameters
from conformance.profile.model import Profile

_KEPT_HEADERS: Final = re.compile(
    r"accept|accept-(?:encoding|language|charset|ranges)|access-control-[\w-]+|age|allow|cache-control|connection"
    r"|content-(?:disposition|encoding|language|length|type|security-policy)|date|etag|expect|expires|host"
    r"|if-(?:match|none-match|modified-since|unmodified-since)|keep-alive|last-modified|location|origin|pragma"
    r"|(?:x-)?ratelimit[\w-]*|retry-after|sec-[\w-]+|server|strict-transport-security|te|trailer|transfer-encoding"
    r"|traceparent|upgrade|user-agent|vary|via|www-authenticate|x-(?:content-type-options|frame-options|request-id)"
    r"|x-correlation-id|(?:x-)?idempotency-key|x-powered-by",
    re.IGNORECASE,
)
_MIN_LEARNED: Final = 8
_MIN_REPLACED: Final = 4
_MEMBER: Final = re.compile(r'("((?:[^"\\]|\\.){1,80}+)"\s*+:\s*+")((?:[^"\\]|\\.){1,}+)("|\\?\Z)', re.DOTALL)
_FORM: Final = re.compile(r"[\w%.\[\]+~*-]{1,100}=[^\s<>{}\"]*")
_OF_BODY: Final = re.compile(r"^(.*? does not match \w+ at /\S*).*", re.DOTALL)
_UNUSUAL_SEGMENT: Final = re.compile(r"(?<=[^/]/)(?![\w.:~-]{1,64}(?:/|$))[^/«»]+(?=/|$)", re.ASCII)
"""A segment of a path that does not look like an id: it may be a name, a text or a password."""
_MAX_LEARNED: Final = 20_000
_MAX_PAIRS: Final = 4_096
_LONGEST_PAIR: Final = 100


class TrafficRedactor:
    """`learn` before an exchange is written, `redact` on what is written of it."""

    def __init__(self, profile: Profile, secrets: Secrets, *, shape: bool = False) -> None:
        self._secrets = secrets
        self._form = AuthorizationForm(profile.authorization.format)
        marks = self._marks = secrets.marks or Marks()
        self._patterns = PatternRedactor(marks)
        self._document = DocumentRedactor(marks, marked=sensitive_names(profile.schemas.by_name), shape=shape)
        self._shape = shape
        self._harmless_headers = frozenset(
            name.lower() for name in (*profile.answers.fresh_headers, *_key_header(profile))
        )
        self._parameters = _PARAMETERS | frozenset(_key_parameter(profile))
        self._public = {value for name, value in _public_values(profile)}
        self._learned_count = 0
        self._harmless_pairs: set[str] = set()
        """Names with values of queries and forms, as sent."""

    def learn(self, answer: Answer) -> None:
        """Adds the credentials, cookies, tokens, codes and tickets of an exchange to the secrets of the run."""
        found: list[tuple[str, str]] = []
        for name, value in (*answer.sent_headers, *answer.headers):
            lower = name.lower()
            if lower == "authorization":
                found.append(("authorization", self._form.secret_of(value)))
            elif lower in ("cookie", "set-cookie"):
                parts = value.split(";") if lower == "cookie" else value.split(";")[:1]
                found += [("cookie", part.partition("=")[2].strip(' "')) for part in parts]
            elif lower in WHOLE_HEADERS or is_secret_member(name):
                found.append(("header", value.strip()))
        query = answer.url.partition("?")[2]
        found += [("parameter", value) for name, value in parameters(query) if is_secret_member(name)]
        for body in (answer.sent_body, answer.body):
            found += self._members(body, answer.request.operation.auth)
        for kind, value in found:
            self._add(kind, value)

    def _members(self, body: bytes, auth: str) -> Iterable[tuple[str, str]]:
        """The values of secret members. `code` is one in a token exchange; in other bodies it names an error."""
        text = body[: 1 << 20].decode("utf-8", "replace")
        if not is_suspect(text):
            return
        names_code = auth == "oauth"
        for _, name, value, _ in _MEMBER.findall(text):
            if is_secret_member(name) or (names_code and name in ("code", "refresh", "id_token")):
                yield "member", value
        if _FORM.match(text):
            for name, value in parse_qsl(text[:8192]):
                if is_secret_member(name) or (names_code and name == "code"):
                    yield "parameter", value

    def _add(self, kind: str, value: str) -> None:
        value = value.strip()
        if (
            len(value) < _MIN_LEARNED
            or value.startswith("«")
            or value in self._public
            or self._learned_count > _MAX_LEARNED
        ):
            return
        if value not in self._secrets.values:
            self._learned_count += 1
            self._secrets.add_ephemeral_secrets(self._marks.tag(kind, value), [value])

    def redact(self, exchange: Exchange, answer: Answer) -> Exchange:
        """An exchange that was cleaned of known secrets, without the rest."""
        replaced: dict[str, str] = {}
        url = self._url(exchange.url, replaced)
        request = self._message(exchange.request, answer.sent_headers, exchange.credential, replaced)
        response = self._message(exchange.response, answer.headers, "", replaced)
        findings = tuple(self._finding(finding, replaced) for finding in exchange.findings)
        trouble = self._rest(self._patterns(exchange.trouble), replaced)
        exchange = replace(exchange, url=url, request=request, response=response, findings=findings, trouble=trouble)
        return self._everywhere(exchange, replaced) if replaced and not self._shape else exchange

    def text(self, text: str) -> str:
        """A text of the traffic that is not a part of an exchange, such as an unknown path."""
        return self._patterns(self._secrets.clean(text))

    def _url(self, url: str, replaced: dict[str, str]) -> str:
        base, mark, query = url.partition("?")
        base = self._patterns(
            _UNUSUAL_SEGMENT.sub(lambda match: self._marks.placeholder("segment", unquote(match[0])), base)
        )
        return base + mark + "&".join([self._pair(pair, replaced) for pair in query.split("&")])

    def _pair(self, pair: str, replaced: dict[str, str]) -> str:
        """A name and its value as in a query or form; those that are harmless are remembered, since they repeat."""
        if pair in self._harmless_pairs:
            return pair
        name, sign, value = pair.partition("=")
        clean = f"{name}{sign}{self._parameter(name, value, replaced)}"
        if clean == pair and len(pair) <= _LONGEST_PAIR and len(self._harmless_pairs) < _MAX_PAIRS:
            self._harmless_pairs.add(pair)
        return clean

    def _parameter(self, name: str, value: str, replaced: dict[str, str]) -> str:
        plain = unquote_plus(value)
        clean = self._document.value(name, plain, replaced) if not self._shape else self._patterns(plain)
        if clean != plain:
            return clean
        return (
            self._marks.placeholder("parameter", plain)
            if name not in self._parameters and len(plain) >= _MIN_REPLACED
            else value
        )

    def _message(
        self, message: Message, headers: tuple[tuple[str, str], ...], credential: str, replaced: dict[str, str]
    ) -> Message:
        found = tuple(
            self._header(name, value, original, credential)
            for (name, value), (_, original) in zip(message.headers, headers, strict=False)
        )
        body = message.body
        if body and (self._shape or is_suspect(body)):
            body = self._body(body, replaced)
        return replace(message, headers=found, body=body)

    def _header(self, name: str, value: str, original: str, credential: str) -> tuple[str, str]:
        lower = name.lower()
        if lower == "authorization" and not credential:
            secret = self._form.secret_of(original) or original
            return name, original if original == _NOT_RECORDED else self._marks.placeholder("authorization", secret)
        if value.startswith("«") and lower in WHOLE_HEADERS:
            return name, value
        if lower not in self._harmless_headers and not _is_kept_header(lower):
            return name, self._marks.placeholder("header", original)
        return name, self._patterns(value)

    def _body(self, body: str, replaced: dict[str, str]) -> str:
        clean = self._document.redact(body, replaced)
        if clean is not None:
            return clean
        if self._shape:
            return f"«{len(body)} characters that are not JSON»"
        if _FORM.fullmatch(body):
            body = "&".join([self._pair(pair, replaced) for pair in body.split("&")])
        body = _MEMBER.sub(lambda match: self._cut_member(match, replaced), body)
        return self._patterns(body)

    def _cut_member(self, match: re.Match[str], replaced: dict[str, str]) -> str:
        """A member of a text that is not complete JSON: a plain `name` may be a person's."""
        opening, name, value, closing = match.groups()
        name = "full_name" if name == "name" else name
        return opening + self._document.value(name, value, replaced) + closing

    def _finding(self, finding: Finding, replaced: dict[str, str]) -> Finding:
        message = finding.message
        if self._shape:
            message = _OF_BODY.sub(r"\1", message)
            message = message.partition("reveals: ")[0] + "reveals details" if "reveals: " in message else message
        code, message = (self._rest(self._patterns(text), replaced) for text in (finding.code, message))
        return replace(finding, code=code, message=message)

    def _rest(self, text: str, replaced: Mapping[str, str]) -> str:
        for value, placeholder in replaced.items():
            if len(value) >= _MIN_REPLACED and value in text:
                text = text.replace(value, placeholder)
        return text

    def _everywhere(self, exchange: Exchange, replaced: Mapping[str, str]) -> Exchange:
        """What was found in one place of an exchange is replaced in all others, plain or percent-encoded."""
        values = {
            value: label for value, label in replaced.items() if len(value) >= _MIN_REPLACED and not value.isdigit()
        }
        if not values:
            return exchange

        def clean(text: str) -> str:
            return self._rest(text, values)

        url = exchange.url
        if any(value in unquote(url) or value in unquote_plus(url) for value in values):
            url = clean(unquote_plus(url))
        request, response = (
            replace(
                message,
                headers=tuple((name, clean(value)) for name, value in message.headers),
                body=clean(message.body),
            )
            for message in (exchange.request, exchange.response)
        )
        return replace(exchange, url=url, request=request, response=response)


@lru_cache(maxsize=4096)
def _is_kept_header(name: str) -> bool:
    return _KEPT_HEADERS.fullmatch(name) is not None


_PARAMETERS: Final = frozenset({"q", "locale", "market", "category", "merchant", "sort", "page", "pageSize"})
"""The query parameters of the interface; the value of any other is hidden."""
_NOT_RECORDED: Final = "«not recorded»"


def _key_header(profile: Profile) -> tuple[str, ...]:
    idempotency = profile.idempotency
    return (idempotency.name,) if idempotency is not None and idempotency.carrier == "header" else ()


def _key_parameter(profile: Profile) -> tuple[str, ...]:
    idempotency = profile.idempotency
    return (idempotency.name,) if idempotency is not None and idempotency.carrier == "query" else ()


def _public_values(profile: Profile) -> Iterable[tuple[str, str]]:
    """Values under secret names that are none: what the profile itself writes down."""
    if profile.oauth is not None:
        yield "client", profile.oauth.client_id
    yield "base", profile.base_url


def sensitive_names(schemas: Mapping[str, Any]) -> frozenset[str]:
    """The names of the members that a schema marks with `"x-sensitive": true`."""
    found: set[str] = set()
    pending: list[Any] = list(schemas.values())
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping):
            properties = part.get("properties")
            if isinstance(properties, Mapping):
                found |= {n for n, s in properties.items() if isinstance(s, Mapping) and s.get("x-sensitive") is True}
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    return frozenset(found)
