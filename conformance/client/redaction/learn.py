"""What becomes a secret in the course of a run: learnt from requests before they are sent, and from answers before they
are written.

A check that sends a key with one letter changed, or a verifier backwards, sends what is as good as the secret itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.client.dpop import ProofKey
from conformance.client.redaction.header_credentials import Carried
from conformance.client.redaction.secrets import Secrets, may_tell, tells
from conformance.client.request import Nothing, RawBody, Request
from conformance.client.response import Answer
from conformance.contract import Contract
from conformance.core import json_pointer as pointer
from conformance.profile.model import HttpCall, Profile

_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]{16,}=*")
"""What tokens are made of (RFC 6750 section 2.1), and long enough to be one."""
_NAMES_ONE: Final = re.compile(r"id$|_?(uri|url)$", re.IGNORECASE)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z-]*")
_PIECE: Final = re.compile(r"[^\s,;=\"]{12,}")
_MEMBER: Final = re.compile(r'"((?:[^"\\]|\\.){1,80}+)"\s*+:\s*+"((?:[^"\\]|\\.){8,4096}+)"', re.DOTALL)
_VARIED: Final = 8
"""So many different characters has what nobody can guess."""
_MOST_LEARNT: Final = 5_000
"""A target that hands out tokens without end must not fill the memory."""


class Guard:
    """Tells `secrets` what to keep out of everything that is written."""

    def __init__(self, profile: Profile, secrets: Secrets) -> None:
        self._secrets = secrets
        self._carried = Carried(profile.authorization)
        oauth = profile.oauth
        self._pointers = tuple(filter(None, (oauth.code_verifier, oauth.code))) if oauth else ()
        self._token = oauth.access_token if oauth else ""
        self._learnt = 0
        for value in headers_that_tell(profile):
            secrets.lasting("header", value)

    def sent(self, request: Request) -> None:
        """A request is about to be sent. Good credentials are known from the beginning."""
        if not request.credential:
            for value in request.authorization:
                core = self._carried.secret_of(value)
                whole = _PIECE.fullmatch(core)  # then what stands around it is nobody's secret
                pieces = {piece for piece in _PIECE.findall(value) if not self._carried.is_open(piece)}
                self._secrets.passing("authorization", [core] if whole else {value, core, *pieces} if core else [])
        if request.operation.auth == "api_key" or isinstance(request.body, (Nothing, RawBody)):
            return
        document = request.document
        self._secrets.passing("body", _telling_leaves(document))
        for where in self._pointers if request.operation.auth == "oauth" else ():
            if pointer.has(document, where):
                self._secrets.passing("body", [pointer.get(document, where)])

    def received(self, answer: Answer) -> None:
        """An answer is about to be written: the tokens in it, by the profile's word or by their names."""
        exchanged = answer.request.operation.auth == "oauth" and answer.ok
        if exchanged and self._token and pointer.has(answer.value, self._token):
            self._secrets.passing("oauth.token", [pointer.get(answer.value, self._token)])
        named = [(name, value) for name, value in answer.headers if tells(name)]
        if may_tell(text := answer.body.decode("utf-8", "replace")):
            named += _MEMBER.findall(text)
        for name, value in named:
            if tells(name) and not _NAMES_ONE.search(name) and self._learnt < _MOST_LEARNT:
                self._learn(value, answer)

    def _learn(self, value: str, answer: Answer) -> None:
        plain = _plain(value)
        if _TOKEN.fullmatch(plain) and plain not in answer.url:
            self._learnt += 1
            self._secrets.passing("token", [plain])


def guard_key(secrets: Secrets, key: ProofKey) -> None:
    """The private numbers of a proof key: one check sends them, to see it refused."""
    public = key.public
    secrets.passing("dpop.key", [value for name, value in key.private.items() if name not in public and name != "oth"])


def public_names(profile: Profile, contract: Contract) -> str:
    """What reports are made of, and no secret: a key that begins like one of these names does not hide them."""
    paths = (operation.path for operation in contract.all)
    return "\n".join([profile.base_url, profile.name, str(profile.path or ""), *profile.credentials, *paths])


def secrets_of(profile: Profile, contract: Contract, keys: Mapping[str, str]) -> Secrets:
    """What is known for a secret before anything is sent: the credentials, by name."""
    secrets = Secrets(public_names(profile, contract))
    for name, key in keys.items():
        secrets.lasting(name, key)
    return secrets


def headers_that_tell(profile: Profile) -> Iterator[str]:
    """The values of headers that the profile states, where the header's name says that they are secrets."""
    calls = [effect.http for effect in profile.effects.values()]
    calls += [fixture.http for states in profile.fixtures.values() for fixture in states.values()]
    calls += [profile.rate_limit.prepare, profile.rate_limit.restore]
    stated = [call.headers for call in calls if isinstance(call, HttpCall)]
    stated += [facts.headers for facts in profile.operations.values()]
    for headers in stated:
        for name, value in headers.items():
            if tells(name) or name.lower() in ("cookie", "proxy-authorization"):
                scheme, blank, rest = value.partition(" ")  # RFC 9110 section 11.4
                pieces = {value, *_PIECE.findall(rest if blank and _SCHEME.fullmatch(scheme) else value)}
                yield from (piece for piece in pieces if len(piece) >= 8 and "{" not in piece)


def _telling_leaves(value: Any) -> Iterator[str]:
    """The texts in a JSON value that stand under a name which says that they are secrets."""
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, str) and tells(str(name)):
                yield from (item,) if _could_be_one(item) else ()
            else:
                yield from _telling_leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _telling_leaves(item)


def _could_be_one(text: str) -> bool:
    """Whether a text is no mere test input, such as a long row of one letter or a sentence."""
    return len(set(text)) >= _VARIED and not any(c.isspace() for c in text)


def _plain(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text
