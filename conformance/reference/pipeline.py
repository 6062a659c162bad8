"""The stages of a call, and its reply.

`Policy.stages` orders the stages; they depend only on the members of the call that they read, so that a policy may
decide 404 before 401, or limit before it authenticates.
"""

from __future__ import annotations

import logging
from collections.abc import Generator

from conformance.reference import authentication, objects
from conformance.reference.call import Answer, Call, Headers, Refusal, Reply, dumps
from conformance.reference.idempotency import perform, release, reserve

_log = logging.getLogger(__name__)

_KINDS = {"id": "wh", "orderId": "order", "cartId": "cart", "sessionId": "session"}


def authenticate(call: Call) -> None:
    access = call.policy.access[call.operation]
    if access == "key":
        call.caller = call.policy.authenticate(call)
    elif access == "dpop":
        call.proof = authentication.authenticate_proof(call)
    elif call.policy.public_credentials == "checked" and call.request.header_values(b"authorization"):
        call.policy.authenticate(call)


def authorize(call: Call) -> None:
    if call.caller is not None and not call.policy.permits(call, call.caller):
        raise Refusal("forbidden", "The API key lacks the scope of this operation.")


def limit(call: Call) -> None:
    wait_s = call.policy.limits.admit(call)
    if wait_s is not None:
        raise Refusal("rate_limited", "Too many requests.", headers=call.policy.limits.headers(wait_s))


def read_key(call: Call) -> None:
    if call.operation in call.policy.idempotency.operations:
        call.key = call.policy.idempotency.key(call)


def read_body(call: Call) -> None:
    """The body as a JSON value of the operation's schema."""
    reading = call.policy.reading
    schema = reading.schemas.get(call.operation)
    if schema is None:
        return
    body = call.request.body
    if not body:
        if call.operation in reading.required:
            raise Refusal("missing_body", "A JSON body is required.")
        call.body = reading.validate(call, schema, {})
        return
    if len(body) > reading.max_bytes:
        raise Refusal("too_large", "The request body is too large.")
    if not reading.accepts(call.request.header(b"content-type")):
        raise Refusal("media_type", "The request body must be application/json.")
    call.body = reading.validate(call, schema, reading.parse(call, body))


def locate(call: Call) -> None:
    """Not in the base policy: refuses unknown resources before authentication."""
    kind = _KINDS.get(next(iter(call.path), ""))
    if kind is None:
        return
    with call.store.read() as db:
        found = objects.get(db, call.resource[:100])
    if found is None or found.kind != kind:
        raise Refusal("not_found", "There is no such resource.")


def execute(call: Call) -> None:
    policy = call.policy
    handler = policy.handlers[call.operation]
    if call.operation in policy.local:
        call.answer = handler(call, None)  # type: ignore[arg-type]  # local operations do not use the database
    elif call.key is not None:
        call.answer = policy.idempotency.run(call, handler)
    elif call.operation in policy.idempotency.operations:
        with call.store.write() as db:
            call.answer = perform(call, db, handler)
    else:
        with call.store.read() as db:
            call.answer = handler(call, db)


STAGES = (authenticate, authorize, limit, read_key, read_body, reserve, execute)


def reply(call: Call) -> Generator[float, None, Reply]:
    """Runs a call through its stages and renders the result; yields the seconds to wait. Never raises."""
    answer = yield from _answer(call)
    return _with_fresh_headers(call, _render_with_hooks(call, answer))


def _with_fresh_headers(call: Call, wire_reply: Reply) -> Reply:
    value = call.policy.fresh_value(call, wire_reply.status)
    if value is None:
        return wire_reply
    headers = tuple((name, value) for name in call.policy.fresh_headers)
    return Reply(wire_reply.status, (*wire_reply.headers, *headers), wire_reply.body)


def _render_with_hooks(call: Call, answer: Answer) -> Reply:
    try:
        for shaper in call.policy.shape:
            answer = shaper(call, answer)
        wire_reply = render(call, answer)
        for hook in call.policy.wire:
            wire_reply = hook(call, wire_reply)
        return wire_reply
    except Exception:  # noqa: BLE001 - the client gets an answer on any error of a shaper
        _log.exception("rendering failed")
        return Reply(500, (("content-type", "application/json"),), dumps({"error": {"code": "internal"}}))


def _answer(call: Call) -> Generator[float, None, Answer]:
    policy = call.policy
    try:
        if not call.operation:
            return policy.unrouted(call, call.methods)
        try:
            for stage in policy.stages:
                waits = stage(call)
                if waits is not None:
                    yield from waits
        finally:
            release(call)
        assert call.answer is not None
        return call.answer
    except Refusal as refusal:
        return policy.error(call, refusal)
    except Exception:  # noqa: BLE001 - the base policy never raises here; a fault may
        _log.exception("%s failed", call.operation)
        return policy.error(call, Refusal("internal", "Something went wrong."))


def render(call: Call, answer: Answer) -> Reply:
    media = call.policy.media_type if answer.status < 300 else call.policy.error_media_type
    return Reply(answer.status, (("content-type", media), *answer.headers), dumps(answer.value))


def error(call: Call, refusal: Refusal) -> Answer:
    """The one shape of an error: `{"error": {"code", "message"}, "requestId"}`."""
    error_members = {"code": refusal.kind, "message": refusal.message}
    headers: Headers = refusal.headers
    return Answer({"error": error_members, "requestId": call.request_id}, call.policy.statuses[refusal.kind], headers)


def answer_unrouted(_call: Call, _methods: tuple[str, ...]) -> Answer:
    raise Refusal("no_route", "There is no such operation.")


def media_type(header: str) -> str:
    """The media type of a Content-Type, without its parameters."""
    return header.partition(";")[0].strip().lower()


def accepts_json(media: str | None) -> bool:
    """application/json or any +json type, with any parameters; no Content-Type at all counts as JSON."""
    if media is None:
        return True
    kind = media_type(media)
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
