"""Secrets that appear during a run: learned from requests before they are sent, and from answers before they are
written.

A key with one changed character, or a reversed verifier, is as sensitive as the secret itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

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
        for value in secret_header_values(profile):
            secrets.add_credential("header", value)

    def note_request(self, request: Request) -> None:
        """Called before a request is sent. The profile's own credentials are known from the start."""
        if not request.credential:
            for value in request.authorization:
                if request.evidence_texts.get(("authorization", value)) == value:
                    continue  # a check generated it: it is no key
                core = self._authorization_form.secret_of(value)
                whole = _PIECE.fullmatch(core)  # then the text around it is public
                pieces = {piece for piece in _PIECE.findall(value) if not self._authorization_form.is_open(piece)}
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
            self._secrets.add_ephemeral_secrets("oauth.token", [pointer.get(answer.value, self._token)])
        members = [(name, value) for name, value in answer.headers if is_secret_name(name)]
        if may_hold_secret_names(text := answer.body.decode("utf-8", "replace")):
            members += _MEMBER.findall(text)
        for name, value in members:
            if is_secret_name(name) and not _NAMES_ONE.search(name) and self._token_count < _MAX_TOKENS:
                self._learn(value, answer)

    def _learn(self, value: str, answer: Answer) -> None:
        plain = _plain(value)
        if _TOKEN.fullmatch(plain) and plain not in answer.url:
            self._token_count += 1
            self._secrets.add_ephemeral_secrets("token", [plain])


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
    """The secrets that are known before anything is sent: the credentials, by name."""
    secrets = Secrets(public_names(profile, contract), Marks())
    for name, key in keys.items():
        secrets.add_credential(name, key)
    return secrets


def secret_header_values(profile: Profile) -> Iterator[str]:
    """The values of the profile's headers whose names mark them as secrets."""
    calls = [sign.http for signs in profile.effects.values() for sign in signs]
    calls += [fixture.http for states in profile.fixtures.values() for fixture in states.values()]
    calls += [profile.rate_limit.prepare, profile.rate_limit.restore]
    header_sets = [call.headers for call in calls if isinstance(call, HttpCall)]
    header_sets += [facts.headers for facts in profile.operations.values()]
    for headers in header_sets:
        for name, value in headers.items():
            if is_secret_name(name) or name.lower() in ("cookie", "proxy-authorization"):
                scheme, blank, credentials = value.partition(" ")  # RFC 9110 section 11.4
                pieces = {value, *_PIECE.findall(credentials if blank and _SCHEME.fullmatch(scheme) else value)}
                yield from (piece for piece in pieces if len(piece) >= 8 and "{" not in piece)


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
