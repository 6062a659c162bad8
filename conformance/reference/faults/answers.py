"""Faults of statuses and of the shape of answers: STA, ENV, ERR."""

from __future__ import annotations

import json
import math
import re

from conformance.reference.call import Answer, Call, JsonObject, JsonValue, Refusal, Reply
from conformance.reference.policy import Policy, Schema, evolve, with_reading, with_shape, with_status, with_wire
from conformance.reference.registry import fault

_PLAIN = (("content-type", "text/plain; charset=utf-8"),)
_HTML = (("content-type", "text/html; charset=utf-8"),)


def html(title: str) -> bytes:
    """A typical error page of a web framework."""
    return f"<!doctype html>\n<html lang=en>\n<title>{title}</title>\n<h1>{title}</h1>\n".encode()


@fault("F001", requirement="STA-2", title="create endpoint answers 201", operations=("createInstallationWebhook",))
def created_is_201(policy: Policy) -> Policy:
    def shaper(_call: Call, answer: Answer) -> Answer:
        return evolve(answer, status=201) if answer.status == 200 else answer

    return with_shape(policy, shaper, "createInstallationWebhook")


@fault("F002", requirement="STA-2", title="revoke answers 204 with no body", operations=("revokePublicCart",))
def revoke_is_204(policy: Policy) -> Policy:
    def hook(_call: Call, reply: Reply) -> Reply:
        return Reply(204, (), b"") if reply.status == 200 else reply

    return with_wire(policy, hook, "revokePublicCart")


@fault("F003", requirement="ENV-2", title="identity returned bare, without data", operations=("getApiKeyIdentity",))
def identity_is_bare(policy: Policy) -> Policy:
    return _data_becomes(policy, "getApiKeyIdentity", lambda answer: answer.value["data"])


def _data_becomes(policy: Policy, operation: str, change: object) -> Policy:
    assert callable(change)

    def shaper(_call: Call, answer: Answer) -> Answer:
        return evolve(answer, value=change(answer)) if answer.status == 200 else answer

    return with_shape(policy, shaper, operation)


@fault(
    "F004", requirement="ENV-2", title="deliveries data is an array", operations=("listInstallationWebhookDeliveries",)
)
def deliveries_are_an_array(policy: Policy) -> Policy:
    operation = "listInstallationWebhookDeliveries"
    return _data_becomes(policy, operation, lambda answer: {"data": answer.value["data"]["deliveries"]})


@fault("F005", requirement="ENV-2", title="runtime-config data is null", operations=("getPublicRuntimeConfig",))
def config_is_null(policy: Policy) -> Policy:
    return _data_becomes(policy, "getPublicRuntimeConfig", lambda _answer: {"data": None})


@fault("F006", requirement="ENV-3", title="search data is an object keyed by id", operations=("searchPublicProducts",))
def search_is_keyed(policy: Policy) -> Policy:
    def key_by_id(answer: Answer) -> object:
        return {**answer.value, "data": {item["id"]: item for item in answer.value["data"]}}

    return _data_becomes(policy, "searchPublicProducts", key_by_id)


@fault(
    "F007",
    requirement="ENV-3",
    title="merchant products data null when empty",
    operations=("listPublicMerchantProducts",),
)
def empty_is_null(policy: Policy) -> Policy:
    operation = "listPublicMerchantProducts"
    return _data_becomes(policy, operation, lambda answer: {**answer.value, "data": answer.value["data"] or None})


LISTS = ("searchPublicProducts", "listPublicMerchantCategories", "listPublicMerchantProducts")


@fault("F008", requirement="ENV-3", title="meta is an array or number", operations=LISTS)
def meta_is_no_object(policy: Policy) -> Policy:
    def shaper(call: Call, answer: Answer) -> Answer:
        if answer.status != 200:
            return answer
        meta = answer.value["meta"]
        wrong = [meta] if call.operation == "searchPublicProducts" else meta["total"]
        return evolve(answer, value={**answer.value, "meta": wrong})

    return with_shape(policy, shaper, *LISTS)


@fault("F010", requirement="ENV-1", title="JSON sent as text/html")
def json_as_html(policy: Policy) -> Policy:
    return evolve(policy, media_type="text/html; charset=utf-8", error_media_type="text/html; charset=utf-8")


@fault("F011", requirement="ENV-1", title="BOM before body")
def byte_order_mark(policy: Policy) -> Policy:
    return with_wire(policy, lambda _call, reply: evolve(reply, body=b"\xef\xbb\xbf" + reply.body))


@fault(
    "F013",
    requirement="ENV-1",
    title="NaN/Infinity literal in a price",
    operations=("searchPublicProducts", "listPublicMerchantProducts"),
)
def price_is_nan(policy: Policy) -> Policy:
    """The lamps have no price, and the encoder permits NaN."""

    def hook(_call: Call, reply: Reply) -> Reply:
        if reply.status != 200:
            return reply
        value = json.loads(reply.body)
        for item in value["data"]:
            if item["category"] == "lamps":
                item["price"]["amount"] = math.nan
        return evolve(reply, body=json.dumps(value).encode())

    return with_wire(policy, hook, "searchPublicProducts", "listPublicMerchantProducts")


@fault("F018", requirement="ERR-1", title="401 has empty body")
def empty_401(policy: Policy) -> Policy:
    def hook(_call: Call, reply: Reply) -> Reply:
        return Reply(401, reply.headers[1:], b"") if reply.status == 401 else reply

    return with_wire(policy, hook)


@fault("F019", requirement="ERR-1", title="404 unknown id is framework HTML")
def html_404(policy: Policy) -> Policy:
    def hook(call: Call, reply: Reply) -> Reply:
        return Reply(404, _HTML, html("404 Not Found")) if reply.status == 404 and call.path else reply

    return with_wire(policy, hook)


@fault("F020", requirement="ERR-1", title="error is a bare JSON string")
def error_is_text(policy: Policy) -> Policy:
    def shaper(_call: Call, answer: Answer) -> Answer:
        return answer if answer.status < 300 else evolve(answer, value=answer.value["error"]["message"])

    return with_shape(policy, shaper)


@fault("F021", requirement="ERR-1", title="validation error shape differs from 409 shape")
def other_validation_shape(policy: Policy) -> Policy:
    def error(call: Call, refusal: Refusal) -> Answer:
        answer = policy.error(call, refusal)
        if refusal.kind not in ("invalid", "invalid_query"):
            return answer
        return evolve(answer, value={"detail": [{"loc": ["body"], "msg": refusal.message, "type": "value_error"}]})

    return evolve(policy, error=error)


@fault(
    "F022",
    requirement="ERR-1",
    title="one op only has plain-text 404",
    operations=("getStorefrontOrderCancellationEligibility",),
)
def plain_404_on_one(policy: Policy) -> Policy:
    def hook(_call: Call, reply: Reply) -> Reply:
        return Reply(404, _PLAIN, b"Not Found") if reply.status == 404 else reply

    return with_wire(policy, hook, "getStorefrontOrderCancellationEligibility")


@fault("F024", requirement="STA-1", title="validation answers 422")
def validation_is_422(policy: Policy) -> Policy:
    return with_status(with_status(policy, "invalid", 422), "invalid_query", 422)


@fault(
    "X164",
    requirement="STA-1",
    title="but at the token endpoint, a body that breaks its schema is answered 422",
    source="FastAPI, Rails and Laravel answer 422 to what they could parse",
    seeded_in="D21",
)
def invalid_is_422(policy: Policy) -> Policy:
    def validate(call: Call, schema: Schema, value: JsonValue) -> JsonObject:
        try:
            return policy.reading.validate(call, schema, value)
        except Refusal as refusal:
            is_token = call.operation == "exchangeOAuthToken"
            raise Refusal("invalid" if is_token else "unprocessable", refusal.message) from None

    return with_status(with_reading(policy, validate=validate), "unprocessable", 422)


@fault(
    "X165",
    requirement="STA-1",
    title="a body that is nested too deeply is answered 422",
    source="a limit of a validator behind the parser, with the status of the validator",
)
def nested_is_422(policy: Policy) -> Policy:
    return with_status(policy, "too_deep", 422)


@fault("F025", requirement="STA-1", title="application/json;charset=utf-8 answers 415")
def charset_is_415(policy: Policy) -> Policy:
    def accepts(media: str | None) -> bool:
        if media is not None and re.search(r";\s*charset=", media, re.IGNORECASE):
            raise Refusal("unsupported", "The media type is not supported.")
        return policy.reading.accepts(media)

    return evolve(with_status(policy, "unsupported", 415), reading=evolve(policy.reading, accepts=accepts))


@fault("F027", requirement="ERR-2", title="stack trace or SQL in 400")
def stack_trace(policy: Policy) -> Policy:
    def error(call: Call, refusal: Refusal) -> Answer:
        trace = (
            "Traceback (most recent call last):\n"
            '  File "/srv/commerce/app/handlers.py", line 118, in dispatch\n'
            "    cursor.execute(statement, parameters)\n"
            "psycopg.errors.InvalidTextRepresentation: invalid input\n"
            "[SQL: SELECT id, state FROM carts WHERE id = %(id)s]"
        )
        answer = policy.error(call, refusal)
        return (
            policy.error(call, Refusal(refusal.kind, f"{refusal.message} {trace}")) if answer.status == 400 else answer
        )

    return evolve(policy, error=error)


@fault(
    "X173",
    requirement="ERR-2",
    title="the text of the JSON decoder in 400",
    source="err.Error() of Go's encoding/json as the message, with the names of the program's types",
)
def decoder_text(policy: Policy) -> Policy:
    def error(call: Call, refusal: Refusal) -> Answer:
        text = "json: cannot unmarshal number into Go struct field CreateRequest.url of type string"
        is_of_body = refusal.kind == "invalid"
        return policy.error(call, Refusal(refusal.kind, text) if is_of_body else refusal)

    return evolve(policy, error=error)


@fault("F028", requirement="ERR-2", title="API key echoed in 401")
def key_echoed(policy: Policy) -> Policy:
    def error(call: Call, refusal: Refusal) -> Answer:
        if policy.statuses[refusal.kind] != 401:
            return policy.error(call, refusal)
        credential = call.request.header(b"authorization") or ""
        return policy.error(call, Refusal(refusal.kind, f"Unknown credential: {credential}", headers=refusal.headers))

    return evolve(policy, error=error)


@fault(
    "X63",
    requirement="ENV-4",
    title="the removal of a promotion without notification is answered with no state",
    operations=("removePublicCartPromotion",),
    source="an answer that is built by what sends the notification",
)
def no_state_without_notification(policy: Policy) -> Policy:
    def shaper(call: Call, answer: Answer) -> Answer:
        is_silent = answer.status == 200 and call.body.get("notify") is False
        return evolve(answer, value={"data": {}}) if is_silent else answer

    return with_shape(policy, shaper, "removePublicCartPromotion")
