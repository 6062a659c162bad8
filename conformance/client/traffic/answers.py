"""Observation -> Answer: the operation that it calls, the profile's name of its key, and what can be judged of it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from hashlib import sha256
from itertools import count
from typing import Final

from conformance.client.redaction.header_credentials import AuthorizationForm
from conformance.client.request import NO_BODY, RawBody, Request
from conformance.client.response import Answer
from conformance.client.traffic.observation import Headers, Observation, header
from conformance.client.traffic.operation_index import Call
from conformance.core.model import Finding
from conformance.profile.model import Profile

PURPOSE: Final = "observed"
NOT_RECORDED: Final = "«not recorded»"
"""Stands for an Authorization header where the recorder may have removed it."""
_REDACTED: Final = "«redacted"
_PLACEHOLDERS: Final = (_REDACTED, "«credential:")
_CONDITIONAL: Final = frozenset(
    {"if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "range", "expect"}
)
"""Request headers of HTTP itself, which bring about statuses the interface does not define (304, 206, 412)."""
_BODY_REQUIREMENTS: Final = frozenset({"ENV-1", "ENV-2", "ENV-3", "ENV-4", "ERR-1", "ANS-2"})
_HEADER_REQUIREMENTS: Final = frozenset({"ANS-1"})
_MAX_DECODED: Final = 8 * 1024 * 1024

Judge = Callable[[Answer], tuple[tuple[str, ...], tuple[Finding, ...]]]


class CredentialNames:
    """The profile's names of API keys, by the digest of the key."""

    def __init__(self, profile: Profile, keys: Mapping[str, str]) -> None:
        self._form = AuthorizationForm(profile.authorization.format)
        self._names = {_digest(key): name for name, key in keys.items()}
        self._labels = {f"«credential:{name}»": name for name in profile.credentials}

    def name_of(self, values: tuple[str, ...]) -> str:
        """The name of the only key in these values of Authorization; empty for another one, or several."""
        if len(values) != 1:
            return ""
        key = self._form.secret_of(values[0])
        return self._labels.get(key) or self._labels.get(values[0].strip()) or self._names.get(_digest(key), "")


def _digest(key: str) -> bytes:
    return sha256(key.encode("utf-8", "surrogatepass")).digest()


class AnswerBuilder:
    """Builds the answers of one run. `started`: the moment from which times are counted, in seconds since 1970."""

    def __init__(self, names: CredentialNames) -> None:
        self.started: float | None = None
        self._names = names
        self._numbers = count(1)
        self._last_at = 0.0

    def build(self, observation: Observation, call: Call) -> Answer:
        authorization = tuple(v for name, v in observation.request_headers if name.lower() == "authorization")
        sent_headers = observation.request_headers
        if not (authorization or observation.has_credentials) and call.operation.auth == "api_key":
            sent_headers = (*sent_headers, ("Authorization", NOT_RECORDED))
        body = observation.request_body
        request = Request(
            call.operation,
            path=call.path,
            raw_path=call.unusual,
            body=NO_BODY if body is None else RawBody(body, header(observation.request_headers, "content-type")),
            authorization=tuple(value for value in authorization if _REDACTED not in value),
            credential=self._names.name_of(authorization),
        )
        decoded, is_cut = decode_body(observation)
        return Answer(
            id=f"o{next(self._numbers)}",
            request=request,
            url=observation.url,
            sent_headers=sent_headers,
            sent_body=body or b"",
            status=observation.status,
            headers=observation.headers,
            body=decoded,
            truncated=is_cut,
            trouble=observation.trouble,
            at=self._at(observation.started),
            duration_s=observation.duration_s,
            purpose=PURPOSE,
        )

    def _at(self, started: float | None) -> float:
        """Seconds since the run began; of an exchange without a time, those of the one before it."""
        if started is not None:
            self.started = started if self.started is None else self.started
            self._last_at = started - self.started
        return self._last_at


def decode_body(observation: Observation) -> tuple[bytes, bool]:
    """The body without its content coding, and whether something of it is missing."""
    body = observation.body
    if body is None or observation.cut:
        return body or b"", True
    coding = (header(observation.headers, "content-encoding") or "").strip().lower()
    if coding in ("", "identity") or not body or _is_plain(body):
        return body, False
    try:
        decompressor = zlib.decompressobj({"gzip": 31, "x-gzip": 31, "deflate": 15}[coding])
        decoded = decompressor.decompress(body, _MAX_DECODED)
        return decoded, bool(decompressor.unconsumed_tail) or not decompressor.eof
    except (KeyError, zlib.error):  # a coding that is not read here
        return b"", True


def _is_plain(body: bytes) -> bool:
    """Whether a recorder has decoded it: no compressed body begins like a JSON object or array."""
    return body.lstrip(b" \t\r\n")[:1] in (b"{", b"[")


def is_about_http(answer: Answer) -> bool:
    """Whether the client used a part of HTTP for which the answer is not the interface's to define."""
    return any(name.lower() in _CONDITIONAL for name, _ in answer.sent_headers)


def traffic_judge(judge: Judge) -> Judge:
    """The judge of one answer, without what the source does not show for sure."""

    def judge_known(answer: Answer) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
        if is_about_http(answer):
            return (), ()
        judged, findings = judge(answer)
        unknown = _unknown_requirements(answer, findings)
        if not unknown:
            return judged, findings
        known = tuple(name for name in judged if name not in unknown)
        return known, tuple(finding for finding in findings if finding.requirement not in unknown)

    return judge_known


def _unknown_requirements(answer: Answer, findings: tuple[Finding, ...]) -> frozenset[str]:
    """The requirements that this answer cannot decide."""
    unknown: frozenset[str] = frozenset()
    if answer.truncated:
        unknown |= _BODY_REQUIREMENTS
    elif findings and any(sign in answer.body.decode("utf-8", "replace") for sign in _PLACEHOLDERS):
        unknown |= {finding.requirement for finding in findings} & _BODY_REQUIREMENTS
    if _is_header_unknown(answer.headers):
        unknown |= _HEADER_REQUIREMENTS
    return unknown


def _is_header_unknown(headers: Headers) -> bool:
    """Whether a cache may have answered, or headers were removed: then a repeated or absent value says nothing."""
    return len(headers) < 2 or any(name.lower() == "age" or value.startswith("«") for name, value in headers)
