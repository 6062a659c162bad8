"""Secrets that appear during a run: learned from requests before they are sent, and from answers before they are
written.

A key with one changed character, or a reversed verifier, is as sensitive as the secret itself.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Set
from itertools import islice
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote

from conformance.client.dpop import ProofKey
from conformance.client.redaction.header_credentials import AuthorizationForm
from conformance.client.redaction.marks import Marks
from conformance.client.redaction.secrets import Secrets, is_secret_name, may_hold_secret_names
from conformance.client.request import NoBody, RawBody, Request
from conformance.client.response import Answer
from conformance.contract import Contract
from conformance.core import json_pointer as pointer
from conformance.profile.model import Profile
from conformance.profile.resources import HttpCall

_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]{16,}=*")
"""The characters of a token (RFC 6750 section 2.1), with a minimum length."""
_NAMES_ONE: Final = re.compile(r"id$|_?(uri|url)$", re.IGNORECASE)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z-]*")
_PIECE: Final = re.compile(r"[^\s,;=\"]{12,}")
_MEMBER: Final = re.compile(r'"((?:[^"\\]|\\.){1,80}+)"\s*+:\s*+"((?:[^"\\]|\\.){8,4096}+)"', re.DOTALL)
_USER: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)@")
_QUERY_SECRETS: Final = ("auth", "code", "key", "sig", "signature")
"""Names of parameters by which test APIs are opened. Bodies have members of these names that are not secrets."""
_OAUTH_MEMBERS: Final = frozenset({"refresh", "id_token"})
_MAX_NESTED: Final = 100
"""Of the texts within members of an answer; a target must not fill the memory."""
_MAX_TOKEN_LENGTH: Final = 4096
_MIN_DISTINCT: Final = 8
"""Minimum number of distinct characters of a text that cannot be guessed."""
_MAX_TOKENS: Final = 5_000
"""An unlimited number of tokens must not fill the memory."""


class Guard:
    """Adds the secrets of requests and answers to `secrets`."""

    def __init__(self, profile: Profile, secrets: Secrets) -> None:
        self._secrets = secrets
        self._authorization_form = AuthorizationForm(profile.authorization.format)
        oauth = profile.oauth
        self._pointers = tuple(filter(None, (oauth.code_verifier, oauth.code))) if oauth else ()
        self._token = oauth.access_token if oauth else ""
        self._token_count = 0

    def note_request(self, request: Request) -> None:
        """Called before a request is sent. The profile's own credentials are known from the start."""
        if not request.credential:
            for value in request.authorization:
                if request.evidence_texts.get(("authorization", value)) == value:
                    continue  # a check generated it: it is not a key
                core = self._authorization_form.secret_of(value)
                whole = _PIECE.fullmatch(core)  # then the text around it is public
                pieces = {piece for piece in _pieces(value) if not self._authorization_form.is_open(piece)}
                self._secrets.add_ephemeral_secrets(
                    "authorization", [core] if whole else {value, core, *pieces} if core else []
                )
        if request.operation.auth == "api_key" or isinstance(request.body, (NoBody, RawBody)):
            return
        document = request.document
        self._secrets.add_ephemeral_secrets("body", _secret_leaves(document))
        for location in self._pointers if request.operation.auth == "oauth" else ():
            if pointer.has(document, location):
                self._secrets.add_ephemeral_secrets("body", [pointer.get(document, location)])

    def note_answer(self, answer: Answer) -> None:
        """Called before an answer is written: adds its tokens, found by the profile's pointers or by member names."""
        is_token_answer = answer.request.operation.auth == "oauth" and answer.ok
        if is_token_answer and self._token and pointer.has(answer.value, self._token):
            self._secrets.add_ephemeral_secrets("oauth.token", _ends_of(pointer.get(answer.value, self._token)))
        for name, value in _named_values(answer, is_token_answer=is_token_answer):
            if not _NAMES_ONE.search(name) and self._token_count < _MAX_TOKENS:
                self._learn(value, answer)

    def _learn(self, value: str, answer: Answer) -> None:
        plain = _plain(value)
        if len(plain) <= _MAX_TOKEN_LENGTH and _TOKEN.fullmatch(plain) and plain not in answer.url:
            self._token_count += 1
            self._secrets.add_ephemeral_secrets("token", [plain])


def _ends_of(token: Any) -> list[Any]:
    """The token; of one that is longer than any service's, its ends, since each form of a secret is searched for."""
    if isinstance(token, str) and len(token) > _MAX_TOKEN_LENGTH:
        return [token[:_MAX_TOKEN_LENGTH], token[-_MAX_TOKEN_LENGTH:]]
    return [token]


def _named_values(answer: Answer, *, is_token_answer: bool) -> Iterator[tuple[str, str]]:
    """(name, text) of headers, cookies and members whose names mark them as secrets, and of all within such a member.

    A header is written nowhere if its name is that of a secret, but its value may be in a body too.
    """
    for name, value in answer.headers:
        if name.lower() == "set-cookie":
            yield "cookie", value.partition(";")[0].partition("=")[2].strip(' "')
        elif is_secret_name(name):
            yield name, value
    text = answer.body.decode("utf-8", "replace")
    if is_token_answer or may_hold_secret_names(text):
        also_secret = _OAUTH_MEMBERS if is_token_answer else frozenset[str]()
        yield from islice(_nested_texts(answer.value, also_secret), _MAX_NESTED)
        yield from ((name, value) for name, value in _MEMBER.findall(text) if is_secret_name(name))


def _nested_texts(value: Any, also_secret: Set[str]) -> Iterator[tuple[str, str]]:
    """(name, text) of all texts in a JSON value that stand within an array or object with a secret name.

    Of texts with a name in `also_secret` too. `_MEMBER` finds those with a secret name, also in a truncated body.
    """
    pending = [(value, "", False)]
    while pending:
        item, name, is_secret = pending.pop()
        if isinstance(item, str):
            if is_secret:
                yield name, item
        elif isinstance(item, list):
            pending += [(element, name, is_secret) for element in item]
        elif isinstance(item, dict):
            for name, member in item.items():
                is_named = name in also_secret or (not isinstance(member, str) and is_secret_name(name))
                pending.append((member, name, is_secret or is_named))


def guard_key(secrets: Secrets, key: ProofKey) -> None:
    """Adds the private parameters of a proof key, since one check sends them."""
    public = key.public
    secrets.add_ephemeral_secrets(
        "dpop.key", [value for name, value in key.private.items() if name not in public and name != "oth"]
    )


def public_names(profile: Profile, contract: Contract) -> str:
    """Public names that occur in reports: a key that begins like one of them must not hide it."""
    paths = (operation.path for operation in contract.all)
    return "\n".join([profile.base_url, profile.name, str(profile.path or ""), *profile.credentials, *paths])


def secrets_of(profile: Profile, contract: Contract, keys: Mapping[str, str]) -> Secrets:
    """The secrets that are known before anything is sent: the credentials, by name, and those of test APIs."""
    secrets = Secrets(public_names(profile, contract), Marks())
    for name, key in (*keys.items(), *sorted(set(secret_call_values(profile)))):
        secrets.add_credential(name, key)
    return secrets


def secret_call_values(profile: Profile) -> Iterator[tuple[str, str]]:
    """(where, value) of the secrets in the profile's headers, and in its calls to test APIs.

    Headers, parameters of queries and members of bodies are secret by their names, and the user of a URL always.
    """
    calls = [sign.http for signs in profile.effects.values() for sign in signs]
    calls += [fixture.http for states in profile.fixtures.values() for fixture in states.values()]
    calls += [cleanup.http for cleanup in profile.cleanup.values()]
    calls += [profile.rate_limit.prepare, profile.rate_limit.restore]
    stated_calls = [call for call in calls if isinstance(call, HttpCall)]
    for headers in [call.headers for call in stated_calls] + [facts.headers for facts in profile.operations.values()]:
        yield from (("header", value) for value in _secret_header_values(headers))
    for call in stated_calls:
        found = (*_secret_url_values(call.url), *_secret_leaves(call.json))
        yield from (("test API", value) for value in found if "{" not in value)


def _secret_header_values(headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if is_secret_name(name) or name.lower() in ("cookie", "proxy-authorization"):
            pieces = {value, *_pieces(value)}
            yield from (piece for piece in pieces if len(piece) >= 8 and "{" not in piece)


def _pieces(value: str) -> list[str]:
    """The parts of credentials that may be secret: not their scheme (RFC 9110 section 11.4)."""
    scheme, blank, credentials = value.partition(" ")
    return _PIECE.findall(credentials if blank and _SCHEME.fullmatch(scheme) else value)


def _secret_url_values(url: str) -> Iterator[str]:
    """The password before the host of a URL, also as HTTP Basic has it (RFC 7617), and secret values of its query."""
    if found := _USER.match(url):
        user_text = found[1]
        name, _, password = (unquote(part) for part in user_text.partition(":"))
        yield base64.b64encode(f"{name}:{password}".encode()).decode()
        yield from {password, user_text.partition(":")[2]} - {""}
    for name, value in parse_qsl(url.partition("?")[2].partition("#")[0]):
        if is_secret_name(name) or (name.lower() in _QUERY_SECRETS and _looks_random(value)):
            yield from {value, quote(value, safe="")}


def _secret_leaves(value: Any) -> Iterator[str]:
    """The strings of a JSON value whose member names mark them as secrets."""
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, str) and is_secret_name(str(name)):
                yield from (item,) if _looks_random(item) else ()
            else:
                yield from _secret_leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _secret_leaves(item)


def _looks_random(text: str) -> bool:
    """Whether a text is more than test input such as one repeated letter or a sentence."""
    return len(set(text)) >= _MIN_DISTINCT and not any(c.isspace() for c in text)


def _plain(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text
