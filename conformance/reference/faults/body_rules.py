"""Faults of bodies besides their schemas: further members, media types, size and depth (BODY-9)."""

from __future__ import annotations

from conformance.reference.call import Call, Refusal
from conformance.reference.pipeline import media_type, read_body
from conformance.reference.policy import Policy, Stage, evolve, with_reading, with_schema, with_status
from conformance.reference.registry import fault


def _before_body(policy: Policy, check_body: Stage) -> tuple[Stage, ...]:
    """The stages, with another one before the body is read."""
    index = policy.stages.index(read_body)
    return (*policy.stages[:index], check_body, *policy.stages[index:])


@fault(
    "F400",
    requirement="BODY-9",
    title="one operation refuses unknown members",
    operations=("createInstallationWebhook",),
    source="pydantic, extra='forbid' in one of ten models",
)
def one_closed_schema(policy: Policy) -> Policy:
    schema = policy.reading.schemas["createInstallationWebhook"]
    return with_schema(policy, "createInstallationWebhook", {**schema, "additionalProperties": False})


@fault(
    "F401",
    requirement="BODY-9",
    title="an unknown member within another object refused",
    operations=("checkoutPublicCart",),
    source="a nested model that does not inherit the configuration of its parent",
)
def closed_within(policy: Policy) -> Policy:
    schema = policy.reading.schemas["checkoutPublicCart"]
    closed = {name: {**part, "additionalProperties": False} for name, part in schema["properties"].items()}
    return with_schema(policy, "checkoutPublicCart", {**schema, "properties": closed})


@fault(
    "F402",
    requirement="BODY-9",
    title="unknown members are stored and shown",
    operations=("createInstallationWebhook", "updateInstallationWebhook"),
    source="OWASP API3:2023, mass assignment: Endpoint(**body)",
)
def unknown_members_stored(policy: Policy) -> Policy:
    return with_reading(policy, keeps_unknown=True)


@fault("F403", requirement="BODY-9", title="application/*+json refused", source="express.json() without a type option")
def suffix_refused(policy: Policy) -> Policy:
    return with_reading(policy, accepts=lambda media: media is None or media_type(media) == "application/json")


@fault("F404", requirement="BODY-9", title="any Content-Type with json in it accepted", source="'json' in content_type")
def any_json(policy: Policy) -> Policy:
    return with_reading(policy, accepts=lambda media: media is None or "json" in media)


@fault(
    "F405",
    requirement="BODY-9",
    title="DELETE without Content-Type refused",
    operations=("removePublicCartPromotion",),
    source="a gateway that takes a body without a type for none, on DELETE only",
)
def untyped_delete(policy: Policy) -> Policy:
    def require_type(call: Call) -> None:
        if call.operation == "removePublicCartPromotion" and call.request.header(b"content-type") is None:
            raise Refusal("media_type", "The request body must be application/json.")

    return evolve(policy, stages=_before_body(policy, require_type))


@fault(
    "F406",
    requirement="BODY-9",
    title="the size of a body counted in letters",
    operations=("createInstallationWebhook",),
    source="len(await request.text())",
)
def letters_counted(policy: Policy) -> Policy:
    limit = policy.reading.max_bytes

    def count_letters(call: Call) -> None:
        if len(call.request.body.decode("utf-8", "replace")) > limit:
            raise Refusal("too_large", "The request body is too large.")

    return evolve(with_reading(policy, max_bytes=8 * limit), stages=_before_body(policy, count_letters))


@fault("F407", requirement="BODY-9", title="a megabyte is 1,000,000 bytes", source="nginx writes 1m for 1,048,576")
def decimal_megabyte(policy: Policy) -> Policy:
    return with_reading(policy, max_bytes=1_000_000)


@fault("F408", requirement="BODY-9", title="a body of one byte too many accepted", source=">= for > between chunks")
def one_byte_more(policy: Policy) -> Policy:
    return with_reading(policy, max_bytes=policy.reading.max_bytes + 1)


@fault(
    "X96",
    requirement="BODY-9",
    title="every media type that begins with application/json is read as JSON",
    source="a comparison of the beginning, so that parameters need not be cut off",
)
def media_type_by_its_beginning(policy: Policy) -> Policy:
    def accepts(media: str | None) -> bool:
        return policy.reading.accepts(media) or (media or "").startswith("application/json")

    return with_reading(policy, accepts=accepts)


@fault(
    "X34",
    requirement="BODY-9",
    title="a body that is too large is answered 413",
    source="a framework's exception for large bodies, in the error format of the service",
)
def large_body_is_413(policy: Policy) -> Policy:
    return with_status(policy, "too_large", 413)


@fault("F409", requirement="BODY-9", title="depth limited to half of what is stated", source="a WAF's default of 32")
def half_the_depth(policy: Policy) -> Policy:
    return with_reading(policy, max_depth=policy.reading.max_depth // 2)


@fault(
    "F410", requirement="BODY-9", title="one level more than stated accepted", source="a depth that is counted from 0"
)
def one_level_more(policy: Policy) -> Policy:
    return with_reading(policy, max_depth=policy.reading.max_depth + 1)


@fault(
    "X62",
    requirement="BODY-9",
    title="a cancellation in text/plain is accepted",
    operations=("cancelHostedCheckoutBrowser",),
    source="navigator.sendBeacon, which sends texts as text/plain, supported for a page that is closed",
)
def plain_text_by_a_beacon(policy: Policy) -> Policy:
    def as_json(call: Call) -> None:
        if call.operation == "cancelHostedCheckoutBrowser":
            headers = call.request.headers
            is_text = call.request.first_header(b"content-type").startswith("text/plain")
            if is_text:
                others = tuple(header for header in headers if header[0] != b"content-type")
                call.request = evolve(call.request, headers=(*others, (b"content-type", b"application/json")))

    return evolve(policy, stages=_before_body(policy, as_json))
