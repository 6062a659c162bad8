"""Properties: generated requests, bounded, from the run's seed, and shrunk to the smallest that violates.

What must hold of every request is judged here on requests that nobody thought of; STA-1 and its like judge them too.
"""

from __future__ import annotations

import base64
import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from conformance.checks.support.case import Case
from conformance.checks.support.invalid_bodies import refusals
from conformance.checks.support.properties import explore
from conformance.checks.support.registry import check
from conformance.checks.support.replays import expect_same, pinned, replay
from conformance.checks.support.schema_bounds import beyond
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.survival import expect_survival
from conformance.client.request import Request, well_formed
from conformance.judge.validators import Validators
from conformance.profile.model import Schemas

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_MOST_BOUNDS = 60
_KEYS_DRAWN = 50
"""So many keys are drawn until one has a well-formed neighbour."""
_BASE64 = re.compile("[A-Za-z0-9+/]+")
_TO_BASE64 = str.maketrans("-_", "+/")
_FEW = 3
"""A property whose examples use fixtures up has this share of them."""
_TELLING = 8
"""A shorter text may stand in another one by chance."""


def _kept(case: Case) -> frozenset[str]:
    """The places of a body that other checks ask about, or that no change may touch: key, code, verifier, client."""
    oauth, idempotency = case.profile.oauth, case.profile.idempotency
    kept = {idempotency.place} if idempotency and idempotency.place else set()
    if oauth and case.operation.auth == "oauth":
        kept |= {oauth.code_verifier, oauth.code, oauth.client_id_member, oauth.redirect_uri_member}
    return frozenset(kept)


def _schema(case: Case) -> Any:
    return case.profile.schemas.by_name.get(case.operation.request_schema)


@check("STA-1")
async def odd_but_harmless_company_changes_no_status(case: Case) -> None:
    """Whatever unknown header or query parameter comes along, the answer is a declared one."""
    from conformance.checks.support.strategies import company

    request = await case.arrange()

    async def law(drawn: tuple[dict[str, str], dict[str, str]]) -> None:
        headers, query = drawn
        odd = request.with_fresh_key().with_query(**query)
        for name, text in headers.items():
            odd = odd.with_header(name, text)
        expect_survival(case, "a request in odd company", await case.stubborn(odd, "odd company"), oversize=False)

    await explore(case, company, law, examples=case.examples // 2)


@check("BODY-5")
async def no_generated_body_breaks_the_answer(case: Case) -> None:
    """A generated JSON body is accepted or refused with a declared status."""
    from conformance.checks.support.strategies import Edit, hostile_edits, places

    request = await case.arrange()
    kept = _kept(case)
    free = tuple(where for where in places(request.document) if where not in kept)

    async def law(edit: Edit) -> None:
        content = edit.written(request.document)
        answer = await case.stubborn(request.with_raw_body(content).with_fresh_key(), "generated body")
        expect_survival(case, "a generated body", answer, oversize=False)

    await explore(
        case, partial(hostile_edits, free), law, examples=case.examples,
        show=lambda edit: repr(edit.written(request.document)),
    )  # fmt: skip


@check("BODY-4")
async def a_generated_body_that_breaks_its_schema_is_answered_400(case: Case) -> None:
    """What the profile's schema refuses, at whatever place and for whatever reason, the target refuses."""
    schema, name = _schema(case), case.operation.request_schema
    case.need(schema is not None, f"schemas.{name}", "a schema of the body is needed")
    request = await case.arrange()
    case.exists(isinstance(request.body, dict), "the profile's body is no JSON object")
    _expect_fit(case, name, request)

    breaking = partial(_breaking, request.with_proof(None), schema, _kept(case))

    async def law(body: Any) -> None:
        bad = request.with_body(body).with_fresh_key()
        await case.refusal(bad, refusals(case), f"a body that breaks {name}", any_refusal=True)

    await explore(
        case, breaking, law, examples=case.examples, show=_as_json, after=lambda: case.reproven(request),
        needs=f"no change of a good body breaks {name}",
    )  # fmt: skip


def _expect_fit(case: Case, name: str, request: Request) -> None:
    if problem := case.runtime.validators.problem(name, request.document):
        what = f"the profile's body of {case.operation.id} breaks its own schema {name}: {problem}"
        raise Inconclusive(what, cause=f"schemas.{name}")


@check("BODY-4")
async def nothing_beyond_a_bound_is_accepted(case: Case) -> None:
    """Each length, number and count that the schema bounds, just beyond that: a bound off by one is one, too."""
    schema, name = _schema(case), case.operation.request_schema
    case.need(schema is not None, f"schemas.{name}", "a schema of the body is needed")
    request = await case.arrange()
    problem = case.runtime.validators.problem
    found = beyond(request.body, schema, _kept(case), request.scope.values())
    told = [one for one in found if problem(name, request.with_body(one.body).document)][:_MOST_BOUNDS]
    _expect_fit(case, name, request)
    case.further(told, f"{name} has no bound that a good body keeps")
    for one in told:
        bad = request.with_body(one.body).with_fresh_key()
        await case.refusal(bad, refusals(case), f"a body beyond {one.bound} of {name} at {one.where}", any_refusal=True)
    await case.reproven(request if case.operation.auth == "api_key" else await case.arrange())  # a code may be spent


def _breaking(request: Request, schema: Any, keep: frozenset[str]) -> SearchStrategy[Any]:
    """Bodies that the schema refuses."""
    from conformance.checks.support.strategies import breaking_documents

    name = request.operation.request_schema
    problem = Validators(Schemas({name: schema})).problem
    made = breaking_documents(request.body, schema, keep)
    return made.filter(lambda body: bool(problem(name, request.with_body(body).document)))


@check("IDEM-1")
async def a_generated_call_is_repeated_alike(case: Case) -> None:
    """Whatever a good body holds, the same call again is answered the same."""
    from conformance.checks.support.strategies import fitting_documents

    case.need_plenty()
    sample = await case.arrange()

    async def law(body: Any) -> None:
        request = pinned(await case.arrange())
        first = await case.send(_grafted(request, sample, body), "generated call")
        if first.ok:
            expect_same(case, first, await replay(case, first.request))

    await explore(
        case, partial(fitting_documents, sample.body, _schema(case), _kept(case)), law, examples=case.examples // _FEW,
        show=_as_json, needs="the body has no member that may vary",
    )  # fmt: skip


@check("IDEM-4")
async def a_generated_change_under_the_same_key_is_answered_409(case: Case) -> None:
    """A payload that is good alone, and differs from the key's first one in what a leaf means, conflicts with it."""
    from conformance.checks.support.strategies import meaningful_changes

    case.need_plenty()
    sample = await case.arrange()

    async def law(body: Any) -> None:
        alone = await case.send(_grafted(await case.arrange(), sample, body), "generated change, alone")
        if not alone.ok:
            return
        request = await case.arrange()
        first = await case.control(request)
        again = await case.send(_grafted(first.request, sample, body), "generated change under the same key")
        if again.status != 409 and not again.refused:
            raise case.violated("a changed payload under a used key was not answered 409", alone, first, again)

    await explore(
        case, partial(meaningful_changes, sample.body, _schema(case), _kept(case)), law, examples=case.examples // _FEW,
        show=_as_json, needs="the body has no member that may vary",
    )  # fmt: skip


def _grafted(request: Request, sample: Request, body: Any) -> Request:
    """The request with a body that was made of another one's: what that took from its fixtures becomes its own."""
    taken = {old: str(request.scope[name]) for name, old in sample.scope.items() if isinstance(old, str) and old}
    return request.with_body(_exchanged(body, taken))


def _exchanged(value: Any, taken: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _exchanged(item, taken) for name, item in value.items()}
    if isinstance(value, list):
        return [_exchanged(item, taken) for item in value]
    if not isinstance(value, str):
        return value
    for old, new in taken.items():
        if value == old:
            return new
        value = value.replace(old, new) if len(old) >= _TELLING else value
    return value


@check("AUTH-1")
async def no_neighbour_of_a_key_is_accepted(case: Case) -> None:
    """A small change anywhere in a good key makes it no key."""
    from conformance.checks.support.strategies import edited, key_edits

    request = await case.arrange()
    arranger = case.runtime.arranger
    key = arranger.key_of(request.credential)

    async def law(edit: tuple[str, int, str]) -> None:
        other = edited(key, edit)
        if any(_spelled_alike(other, known) for known in arranger.keys):
            return
        bad = request.with_authorization(case.profile.authorization.replace("{key}", other)).with_fresh_key()
        await case.refusal(bad, {401}, "a neighbour of the key")

    await explore(case, partial(key_edits, len(key)), law, examples=case.examples, after=lambda: case.reproven(request))


def _spelled_alike(one: str, other: str) -> bool:
    """Whether a reader that minds neither case nor hyphens takes both for the same, or one that decodes base64."""
    return one.casefold().replace("-", "") == other.casefold().replace("-", "") or _decoded(one) == _decoded(other)


def _decoded(key: str) -> bytes:
    """What a lenient reader of base64 (RFC 4648) gets: spare bits, and what is behind the padding, are lost on it."""
    text = key.partition("=")[0].translate(_TO_BASE64)
    if not _BASE64.fullmatch(text):
        return key.encode()
    return base64.b64decode(text[: len(text) - (len(text) % 4 == 1)] + "=" * (-len(text) % 4 % 3))


@check("NF-1", on=("api-key path", "catalog path"))
async def a_generated_id_names_nothing(case: Case) -> None:
    """An id that was made up is refused, whatever it looks like."""
    from conformance.checks.support.strategies import unknown_ids

    request = await case.arrange()
    name = case.operation.path_parameters[0]

    async def law(value: str) -> None:
        made_up = request.with_path(**{name: value}).with_fresh_key()
        answer = await case.stubborn(made_up, "generated id", request)
        expect_survival(case, "a generated id", answer, oversize=False)
        if answer.ok:
            raise case.violated("a made-up id was answered 200", answer, expected="404")

    ids = partial(unknown_ids, request.path[name])
    await explore(case, ids, law, examples=case.examples, after=lambda: case.reproven(request))


@check("SRCH-3", cases={"page": "page", "pageSize": "pageSize"})
async def a_generated_text_is_no_integer(case: Case, name: str) -> None:
    """page and pageSize are integers: what no reader takes for one is answered 400."""
    from conformance.checks.support.strategies import no_integers

    request = await case.arrange()

    async def law(text: str) -> None:
        await case.refusal(request.with_query(**{name: text}), {400}, f"{name} that is no integer", any_refusal=True)

    await explore(case, no_integers, law, examples=case.examples, after=lambda: case.reproven(request))


@check("SRCH-7")
async def a_generated_search_is_answered(case: Case) -> None:
    """Whatever is searched for, the answer is a declared one; how many are found and refused is recorded."""
    from conformance.checks.support.strategies import search_words

    request = await case.arrange()
    answered: list[bool] = []

    async def law(text: str) -> None:
        answer = await case.stubborn(request.with_query(q=text), "generated search")
        expect_survival(case, "a generated search", answer, oversize=False)
        answered.append(answer.ok)

    await explore(case, search_words, law, examples=case.examples)
    case.note(f"{sum(answered)} of {len(answered)} generated searches were answered 200")


@check("IDEM-10", on="createInstallationWebhook", cases={"first": 0, "last": -1, "generated": None})
async def keys_that_differ_are_different_calls(case: Case, position: int | None) -> None:
    """However much two well-formed keys have in common, each makes a call of its own."""
    from conformance.checks.support.strategies import neighbour_of, positions

    where = "first" if position == 0 else "last"

    async def law(at: int) -> None:
        request, other = await case.arrange(), await case.arrange()
        for _ in range(_KEYS_DRAWN):
            key = request.key or ""
            almost = neighbour_of(key, at) if key else ""
            if almost != key and well_formed(case.profile.idempotency, almost):
                break
            request = request.with_fresh_key()
        else:
            return
        first = await case.control(request, "a well-formed key")
        second = await case.send(other.with_key(almost), "a key that is almost the same")
        if not second.ok:
            await case.control(other.with_fresh_key())
            raise case.violated("a key was taken for another one", first, second, expected="200")

    if position is not None:
        await law(position)
        case.further(case.answers, f"no key of the stated format has another {where} character")
    else:
        await explore(case, positions, law, examples=case.examples // 2)
        case.further(case.answers, "no key of the stated format has a neighbour")


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
