"""The requirements that are judged on every exchange of a run.

Each judges one answer. Where several invariants could report a defect, one owns it, so that one defect makes one row
red: a status of 2xx belongs to STA-2 and any other to STA-1; a non-200 body that is not a JSON object belongs to ERR-1,
and how the JSON is written (byte order mark, NaN, media type) to ENV-1 alone.
"""

from __future__ import annotations

import email.utils
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import unquote

from conformance.client.redaction.header_credentials import AuthorizationForm
from conformance.client.request import NO_BODY
from conformance.client.response import GATEWAY, LAST_ATTEMPT, NO_VALUE, Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.core.model import STATUSES, Finding
from conformance.core.outcomes import Level
from conformance.judge.answer_scope import is_out_of_scope
from conformance.judge.leaks import find_leaks, is_of_url, without_public_texts
from conformance.judge.public_calls import credential_demanded, is_public_read
from conformance.judge.validators import Validators
from conformance.profile.model import Profile
from conformance.profile.render import placeholders

ERROR_SCHEMA: Final = "PublicErrorResponse"
SHAPE_CODE: Final = "shape"
"""Findings with this code record an error's shape; they judge nothing by themselves (see `invariant_results`)."""
UNREAD_CODE: Final = "too-long"
"""Findings with this code mean that the body is too long to be judged; the interface bounds no length."""
DISCARDED_CODE: Final = "discarded"
"""Of a body that the run had no memory for: nothing is wrong with the answer."""
_JSON_MEDIA: Final = re.compile(r"application/([\w.+-]+\+)?json\s*(;|$)", re.IGNORECASE)
_DECIMAL_SECONDS: Final = re.compile(r"[0-9]*\.[0-9]+")
_MIN_SECRET: Final = 8
_LONGEST_SHAPE: Final = 2000
_NO_SECRETS: Final = ("client_id", "redirect_uri")
"""A client's id and its redirect URI are public (RFC 6749, section 2.2)."""

Findings = Iterator[Finding]


class Invariants:
    """`judge(answer)` returns the ids of the invariants that apply, and their findings."""

    def __init__(self, profile: Profile, validators: Validators) -> None:
        self._validators = validators
        self._meta_null = profile.schemas.meta_null
        self._fresh_headers = profile.answers.fresh_headers
        self._closed_answers = profile.answers.further_members == "never"
        self._names_in_body = {
            name: frozenset(
                name
                for name in placeholders(facts.body)
                if name.partition(".")[0] in profile.fixtures and not name.endswith(_NO_SECRETS)
            )
            for name, facts in profile.operations.items()
        }
        """By operation: the placeholders of fixtures in its body, but for those that are no secret."""
        self._seen_values: dict[tuple[str, str], str] = {}
        self._authorization_form = AuthorizationForm(profile.authorization.format)
        self._invariants: tuple[tuple[str, Callable[[Answer], bool], Callable[[Answer], Findings]], ...] = (
            ("STA-1", _is_status_due, self._status_declared),
            ("STA-2", _is_success, self._success_is_200),
            ("ENV-1", _has_body, self._is_json),
            ("ENV-2", lambda a: _judgeable(a) and a.request.operation.data_shape == "object", self._data_object),
            ("ENV-3", lambda a: _judgeable(a) and a.request.operation.data_shape == "array", self._data_array),
            ("ENV-4", self._has_schema, self._matches_schema),
            ("ERR-1", _is_error, self._error_shape),
            ("ERR-2", _has_answer, self._no_leak),
            ("RATE-2", lambda a: a.status == 429, self._retry_after),
            ("ANS-1", self._has_fresh_headers, self._headers_are_fresh),
            ("ANS-2", lambda a: bool(self._schema_of(a)), self._no_further_member),
            ("PUB-1", is_public_read, credential_demanded),
        )

    def judge(self, answer: Answer) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
        if is_out_of_scope(answer):
            return (), ()
        judged, findings = [], []
        for requirement, applies, find in self._invariants:
            if applies(answer):
                judged.append(requirement)
                findings += list(find(answer))
        return tuple(judged), tuple(findings)

    def _status_declared(self, answer: Answer) -> Findings:
        status = answer.status
        if status is None:
            message = "a call was not answered in any attempt, while its control was, right before"
            yield Finding("STA-1", "no-answer", message)
            return
        if status in STATUSES or status in GATEWAY or 200 <= (status or 0) < 300:
            return
        yield Finding("STA-1", f"status:{status}", f"answered {status}, which the interface does not declare")

    def _success_is_200(self, answer: Answer) -> Findings:
        if answer.status != 200:
            yield Finding("STA-2", f"status:{answer.status}", f"success was answered {answer.status} instead of 200")

    def _is_json(self, answer: Answer) -> Findings:
        if answer.is_discarded:
            message = "the run had no memory for the whole body: fewer concurrent requests need less"
            yield Finding("ENV-1", DISCARDED_CODE, message, Level.OBSERVED)
            return
        if answer.truncated:
            yield Finding("ENV-1", UNREAD_CODE, "the body is too long to be read to its end", Level.OBSERVED)
            return
        if answer.value is NO_VALUE:
            if answer.ok:
                problem = answer.strict_error or "cannot be parsed"
                yield Finding("ENV-1", "not-json", f"the body is not JSON (RFC 8259): {problem}")
            return
        if answer.strict_error:
            yield Finding("ENV-1", "not-strict", f"the body is not JSON (RFC 8259): {answer.strict_error}")
        if not answer.ok and not isinstance(answer.value, dict):
            return
        media_type = answer.header("Content-Type")
        if media_type is None:
            yield Finding("ENV-1", "no-media-type", "no Content-Type names JSON", Level.RECOMMENDED)
        elif media_type.partition(";")[0].strip().lower() == "text/json":
            yield Finding(
                "ENV-1", "text-json", "JSON is sent as text/json, which is not a registered type", Level.RECOMMENDED
            )
        elif not _JSON_MEDIA.match(media_type.strip()):
            yield Finding("ENV-1", "media-type", f"JSON is sent as {media_type}")

    def _data_object(self, answer: Answer) -> Findings:
        yield from _data(answer, "ENV-2", dict, "an object")

    def _data_array(self, answer: Answer) -> Findings:
        yield from _data(answer, "ENV-3", list, "an array")
        yield from self._data_array_meta(answer)

    def _data_array_meta(self, answer: Answer) -> Findings:
        if answer.request.operation.data_shape == "array" and isinstance(answer.value, dict) and "meta" in answer.value:
            meta = answer.value["meta"]
            if not (isinstance(meta, dict) or (meta is None and self._meta_null)):
                yield Finding("ENV-3", "meta", f"meta is {strictjson.json_type(meta)}, not an object")

    def _has_schema(self, answer: Answer) -> bool:
        return answer.ok and not answer.is_unread and self._validators.knows(answer.request.operation.response_schema)

    def _matches_schema(self, answer: Answer) -> Findings:
        operation = answer.request.operation
        expected_type = dict if operation.data_shape == "object" else list
        if not isinstance(answer.data, expected_type) or answer.strict_error or any(self._data_array_meta(answer)):
            return  # reported by ENV-1, ENV-2 or ENV-3
        if problem := self._validators.problem(operation.response_schema, answer.value):
            yield Finding("ENV-4", "schema", f"the body does not match {operation.response_schema} at {problem}")
            return
        problem, text = self._validators.broken_format(operation.response_schema, answer.value)
        if problem and not _repeats(answer, text):
            message = f"a text is not of the format that {operation.response_schema} names, at {problem}"
            yield Finding("ENV-4", "format", message, Level.RECOMMENDED)

    def _error_shape(self, answer: Answer) -> Findings:
        status = answer.status
        value = answer.value
        if not answer.body.strip():
            yield Finding("ERR-1", f"empty:{status}", f"the {status} has an empty body")
        elif answer.is_unread:
            yield Finding(
                "ERR-1", f"not-object:{status}", f"the body of the {status} begins with {answer.first_character!r}"
            )
        elif value is NO_VALUE:
            yield Finding("ERR-1", f"not-json:{status}", f"the body of the {status} is not JSON")
        elif not isinstance(value, dict) or not value:
            description = "an empty object" if value == {} else strictjson.json_type(value)
            yield Finding("ERR-1", f"not-object:{status}", f"the body of the {status} is {description}")
        elif self._validators.knows(ERROR_SCHEMA):
            if problem := self._validators.problem(ERROR_SCHEMA, value):
                yield Finding("ERR-1", f"schema:{status}", f"the {status} does not match {ERROR_SCHEMA} at {problem}")
        else:
            yield Finding("ERR-1", SHAPE_CODE, _shape(value), Level.OBSERVED)

    def _no_leak(self, answer: Answer) -> Findings:
        for credential in map(self._authorization_form.secret_of, answer.request.authorization):
            if len(credential) >= _MIN_SECRET and (location := _place(answer, credential)):
                name = f" {answer.request.credential}" if answer.request.credential else ""
                yield Finding(
                    "ERR-2", "credential", f"the answer repeats the API key{name} that was sent, in {location}"
                )
                break
        if answer.ok:
            return
        leaks = find_leaks(_texts_of(answer.body, answer.value))
        for kind, piece in find_leaks(_texts_of(answer.body, without_public_texts(answer.value))) if leaks else ():
            if not (is_of_url(piece, answer.url) or piece in _texts_of(answer.sent_body, _value_of(answer.sent_body))):
                yield Finding("ERR-2", kind, f"the error reveals: {piece}", Level.RECOMMENDED)
        for name, value in _members_that_are_secret(answer):
            if location := _place(answer, value, headers=False):
                description = f"the error repeats the {name.rpartition('.')[2]} ({name}), in {location}"
                yield Finding("ERR-2", "secret", description, Level.RECOMMENDED)
                return
        for name, value in self._unsent_secrets(answer):
            if location := _place(answer, value):
                description = f"the error reveals the {name.rpartition('.')[2]} ({name}), not sent, in {location}"
                yield Finding("ERR-2", "secret", description, Level.RECOMMENDED)
                return

    def _unsent_secrets(self, answer: Answer) -> list[tuple[str, str]]:
        """The fixture values of the good body of a call without API key that this request does not have.

        They are what the caller proves itself with, such as a ticket, under whatever name the profile has for them.
        """
        request = answer.request
        if request.operation.auth == "api_key":
            return []
        texts = _texts_of(answer.sent_body, _value_of(answer.sent_body))
        sent = f"{answer.url} {unquote(answer.url)} {texts}".casefold()
        names = self._names_in_body.get(request.operation.id, frozenset()) & request.scope.keys()
        values = [(name, request.scope[name]) for name in sorted(names)]
        return [(n, v) for n, v in values if isinstance(v, str) and len(v) >= _MIN_SECRET and v.casefold() not in sent]

    def _retry_after(self, answer: Answer) -> Findings:
        value = answer.header("Retry-After")
        if value is None or (value.strip().isascii() and value.strip().isdigit()) or _http_date(value):
            return
        level = Level.RECOMMENDED if _DECIMAL_SECONDS.fullmatch(value.strip()) else Level.REQUIRED
        yield Finding(
            "RATE-2", "retry-after", f"Retry-After is {value!r}: neither seconds nor a date (RFC 9110)", level
        )

    def _has_fresh_headers(self, answer: Answer) -> bool:
        return bool(self._fresh_headers) and _has_answer(answer) and answer.status not in GATEWAY

    def _headers_are_fresh(self, answer: Answer) -> Findings:
        """A value counts as repeated within one process of a run."""
        for name in self._fresh_headers:
            value = answer.header(name)
            if not value:
                yield Finding("ANS-1", f"missing:{name}", f"the {answer.status} has no header {name}")
                continue
            first = self._seen_values.setdefault((name, value), answer.id)
            if first != answer.id:
                yield Finding("ANS-1", f"repeated:{name}", f"the header {name} has the value that {first} had already")

    def _schema_of(self, answer: Answer) -> str:
        """The name of the schema whose members an answer is held to; empty where it is not."""
        if not self._closed_answers or not isinstance(answer.value, dict):
            return ""
        name = answer.request.operation.response_schema if answer.ok else ERROR_SCHEMA if _is_error(answer) else ""
        return name if name and self._validators.knows(name) else ""

    def _may_be_kept(self, answer: Answer, name: str) -> bool:
        """Whether the request had a member of that name, in any spelling, which its schema does not name.

        A target may keep such a member. It knows the others, and which of them its answers show.
        """
        schema = answer.request.operation.request_schema
        is_known = self._validators.knows(schema) and name in self._validators.member_names(schema)
        return not is_known and _was_sent(answer, name)

    def _no_further_member(self, answer: Answer) -> Findings:
        name = self._schema_of(answer)
        if self._validators.problem(name, answer.value):
            return  # reported by ENV-2, ENV-3, ENV-4 or ERR-1
        place = self._validators.unnamed_member(name, answer.value)
        if place and not self._may_be_kept(answer, pointer.tokens(place)[-1]):
            kind = re.sub(r"/[0-9]+(?=/|$)", "/*", place)
            yield Finding("ANS-2", f"member:{kind}", f"the answer has a member that {name} does not name: {place}")


def _was_sent(answer: Answer, name: str) -> bool:
    """Whether the request had a member of that name, in any spelling."""
    letters = re.compile("[^a-z0-9]+")
    sent = letters.sub("", answer.sent_body.decode("utf-8", "replace").lower())
    return letters.sub("", name.lower()) in sent


def _repeats(answer: Answer, text: str) -> bool:
    """Whether the answer has a text from its request, whose schema may name no format."""
    return text in unquote(answer.url) or text in _texts_of(answer.sent_body, _value_of(answer.sent_body))


def _shape(value: dict[str, Any]) -> str:
    """The names of an object's members as JSON; the first ones where the list exceeds a report line."""
    names = sorted(value)
    while len(shape := json.dumps(names)) > _LONGEST_SHAPE:
        names = names[: len(names) // 2]
    return shape


def _members_that_are_secret(answer: Answer) -> list[tuple[str, str]]:
    """Placeholders and values of secrets (codes, tickets, verifiers) in a request without an API key."""
    request = answer.request
    if request.operation.auth == "api_key" or request.body is NO_BODY:
        return []
    return [
        (name, value)
        for name, value in request.scope.items()
        if isinstance(value, str) and len(value) >= _MIN_SECRET and name.endswith(("code", "ticket", "verifier"))
    ]


def _place(answer: Answer, text: str, *, headers: bool = True) -> str:
    """The place of a text in an answer: a header's name or a body member, without the value. Empty where absent."""
    for name, value in answer.headers if headers else ():
        if text in value:
            return f"the header '{name}'"
    has_escapes = b"\\" in answer.body  # without any, a body holds each of its strings unchanged
    if text not in (_texts_of(answer.body, answer.value) if has_escapes else answer.body.decode("utf-8", "replace")):
        return ""
    if isinstance(answer.value, (dict, list)):
        for location, leaf in pointer.leaves(answer.value):
            if isinstance(leaf, str) and text in leaf:
                return f"the body at {location}"
    return "the body"


def _value_of(body: bytes) -> Any:
    try:
        return strictjson.parse_leniently(body)
    except strictjson.JsonError:
        return NO_VALUE


def _texts_of(body: bytes, value: Any) -> str:
    """The strings of a body without JSON escapes, which may look like a path; of one that is not JSON, all of it."""
    pending = [value]
    texts = [] if isinstance(value, (dict, list, str)) else [body.decode("utf-8", "replace")]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            pending += [*part, *part.values()]
        elif isinstance(part, list):
            pending += part
    return "\n".join(texts)


def _http_date(value: str) -> bool:
    try:
        email.utils.parsedate_to_datetime(value.strip())
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def _has_answer(answer: Answer) -> bool:
    return answer.status is not None


def _is_status_due(answer: Answer) -> bool:
    return _has_answer(answer) or answer.purpose == LAST_ATTEMPT


def _is_success(answer: Answer) -> bool:
    return answer.status is not None and 200 <= answer.status < 300


def _has_body(answer: Answer) -> bool:
    """Whether there is a JSON text to judge, or one that was cut off; errors without one belong to ERR-1."""
    if answer.ok:
        return answer.truncated or not answer.is_unread
    return _is_error(answer) and isinstance(answer.value, dict)


def _judgeable(answer: Answer) -> bool:
    """A 200 whose body was parsed, or that is known to begin with something other than an object."""
    return answer.ok and not (answer.is_unread and answer.first_character == "{")


def _is_error(answer: Answer) -> bool:
    if answer.status is None or 200 <= answer.status < 300 or answer.status in GATEWAY:
        return False
    return not (answer.is_unread and answer.first_character == "{")


def _data(answer: Answer, requirement: str, expected_type: type, name: str) -> Findings:
    value: Any = answer.value
    if answer.is_unread:
        yield Finding(
            requirement, "envelope", f"the body begins with {answer.first_character!r}, not an object with data"
        )
        return
    if value is NO_VALUE:
        return  # reported by ENV-1
    if not isinstance(value, dict):
        yield Finding(requirement, "envelope", f"the body is {strictjson.json_type(value)}, not an object with data")
    elif "data" not in value:
        yield Finding(requirement, "no-data", "the body has no data member")
    elif not isinstance(value["data"], expected_type):
        yield Finding(requirement, "data", f"data is {strictjson.json_type(value['data'])}, not {name}")
