"""Legitimate rules of bodies that a schema cannot state, or does not: relations between members, keys of maps."""

from __future__ import annotations

import re
from typing import Final

from sqlalchemy import Connection

from conformance.reference.call import Call, Refusal
from conformance.reference.policy import Policy, before_work
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
