"""Legitimate rules of bodies that a schema cannot state, or does not: relations, keys of maps, characters, lengths."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote_plus

from sqlalchemy import Connection

from conformance.reference.call import Call, JsonValue, Refusal
from conformance.reference.pipeline import read_body
from conformance.reference.policy import Policy, before_work, with_reading, with_stage, with_status
from conformance.reference.registry import variant

_TRANSITIONS: Final = ("quotePublicCart", "revokePublicCart", "removePublicCartPromotion")


@variant(
    "V625",
    requirement="BODY-4",
    title="an actor's role is one of the tags; a note is base64url, as its contentEncoding says",
    profile={
        "schemas": {"names": {"PublicCartTransitionRequest": "TaggedTransitionRequest"}},
        "operations": {name: {"body": {"note": "YnkgcGhvbmU", "actor": {"role": "second"}}} for name in _TRANSITIONS},
    },
)
def role_of_tags_and_encoded_note(policy: Policy) -> Policy:
    """Of a text of one character no byte can be decoded."""

    def look(call: Call, _database: Connection) -> None:
        note, actor = call.body.get("note", "AAAA"), call.body.get("actor", {})
        if not re.fullmatch("[A-Za-z0-9_-]+={0,2}", note) or len(note.rstrip("=")) % 4 == 1:
            raise Refusal("invalid", "note is not base64url.")
        if actor.get("tags") == []:
            raise Refusal("invalid", "tags is empty.")
        if "role" in actor and "tags" in actor and actor["role"] not in actor["tags"]:
            raise Refusal("invalid", "role is none of the tags.")

    return before_work(policy, look, *_TRANSITIONS)


@variant(
    "V626",
    requirement="BODY-9",
    title="the keys of metadata have at most 40 small letters, of which its schema, a map, says nothing",
    profile={"schemas": {"names": {"PublicWebhookCreateRequest": "MapWebhookCreateRequest"}}},
)
def keys_of_small_letters(policy: Policy) -> Policy:
    def look(call: Call, _database: Connection) -> None:
        if not all(re.fullmatch("[a-z_]{1,40}", name) for name in call.body.get("metadata", {})):
            raise Refusal("invalid", "A key of metadata has other characters than small letters.")

    return before_work(policy, look, "createInstallationWebhook")


@variant("V627", requirement="BODY-9", title="an update whose body has another id than its path is answered 409")
def conflict_of_ids(policy: Policy) -> Policy:
    """An unknown member is ignored, and `id` is not unknown: each answer has it."""

    def look(call: Call, _database: Connection) -> None:
        if call.body.get("id", call.path["id"]) != call.path["id"]:
            raise Refusal("state_conflict", "The id of the body is not that of the path.")

    return before_work(policy, look, "updateInstallationWebhook")


_SIXTEEN_BITS: Final = "\uffff"


@variant(
    "V690", requirement="SRCH-8", title="characters beyond 16 bits are refused with 400, in a body and in a search"
)
def characters_of_sixteen_bits(policy: Policy) -> Policy:
    """A store that keeps three bytes of a character at most (utf8mb3 of MySQL)."""

    def parse(call: Call, body: bytes) -> JsonValue:
        value = policy.reading.parse(call, body)
        if any(max(text, default="") > _SIXTEEN_BITS for text in _texts(value)):
            raise Refusal("unstorable", "The request body holds text that cannot be stored.")
        return value

    def look(call: Call, _database: Connection) -> None:
        if max(unquote_plus(call.request.query.decode("latin-1")), default="") > _SIXTEEN_BITS:
            raise Refusal("invalid_query", "A query parameter holds text that cannot be stored.")

    return before_work(with_reading(policy, parse=parse), look, "searchPublicProducts")


def _texts(value: JsonValue) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(text for item in value.values() for text in _texts(item))]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


@variant("V691", requirement="BODY-9", title="a body whose length no header says is answered 411")
def length_required(policy: Policy) -> Policy:
    """As a server may ask for a length (RFC 9110, section 15.5.12)."""

    def stage(call: Call) -> None:
        if call.request.header_values(b"transfer-encoding"):
            raise Refusal("length_required", "The length of the request body is required.")

    return with_status(with_stage(policy, stage, read_body), "length_required", 411)
