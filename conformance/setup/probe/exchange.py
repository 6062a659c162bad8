"""The token exchange: status of each failure, used proofs and codes, nonces, clock window, token type and lifetime."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from conformance.checks.support.forged_secrets import LEAST_MADE_UP, MADE_UP
from conformance.checks.support.proof_age import sent_proof
from conformance.client.dpop import Proof, ProofKey
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.setup.probe.answers import clock_offset
from conformance.setup.probe.bodies import first_refused
from conformance.setup.probe.context import Probe
from conformance.setup.probe.operations import state_oauth_members

EXCHANGE: Final = "exchangeOAuthToken"
_CLOCK_FACTS: Final = ("clock_allowance_s", "clock_behind_s", "clock_ahead_s")
_AGES_S: Final = (5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 600, 900, 1800, 3600)
"""Usual bounds of the age of a proof. Smaller ones cannot be distinguished: iat is in whole seconds."""
_LEADS_S: Final = (1, 2, 3, *_AGES_S)
_CLOCK_ATTEMPTS: Final = 2
"""A request that is held up for a second is judged by a later clock than it was made for."""
_LARGEST_OFFSET_S: Final = 3.0
"""Between the clocks. A Date has whole seconds, and servers write it a second late; the bounds themselves are tried to
within a second."""
_LIFETIME: Final = re.compile("(expiresin|lifetime|ttl)(s|secs|seconds)?")
_LEAST_LIFETIME_S: Final = 60
Change = Callable[[Request], Request]


async def probe_exchange(probe: Probe) -> None:
    """States what was observed of exchanges, each with a new code."""
    state_oauth_members(probe)
    if not probe.is_proven(EXCHANGE):
        return
    await _probe_tokens(probe)
    await _probe_nonce(probe)
    await _probe_failures(probe)
    await _probe_clock(probe)
    await _probe_used_proof(probe)
    await _probe_used_code(probe)
    await _probe_burning(probe)


async def _exchange(probe: Probe, change: Change, purpose: str) -> Answer:
    return await probe.send(change(await probe.arrange(EXCHANGE)), purpose)


def _identity(request: Request) -> Request:
    return request


def _with_proof(**changes: Any) -> Change:
    return lambda request: request.with_proof(replace(_proof_of(request), **changes))


def _proof_of(request: Request) -> Proof:
    assert request.proof is not None
    return request.proof


def _with_member(probe: Probe, fact: str, change: Callable[[str], object]) -> Change | None:
    """Changes the member of the body that a fact of [oauth] places; None if it is not known."""
    at = probe.draft.get("oauth", fact)
    body = probe.controls[EXCHANGE].request.body
    if not at or not pointer.has(body, at):
        return None
    return lambda request: request.with_body(
        pointer.replace(request.body, at, change(str(pointer.get(request.body, at))))
    )


async def _probe_tokens(probe: Probe) -> None:
    """States the spelling of the token type, and the lifetime of tokens, by two answers."""
    first, second = probe.controls[EXCHANGE], await _exchange(probe, _identity, "another exchange")
    if not second.ok:
        return
    at = probe.draft.get("oauth", "token_type")
    kinds = [
        pointer.get(answer.value, at) if at and pointer.has(answer.value, at) else "" for answer in (first, second)
    ]
    if kinds[0] and kinds[0] == kinds[1]:
        probe.draft.state(("oauth", "token_type_value"), kinds[0], "in the answers to two exchanges")
    places = [lifetime_places(answer.value) for answer in (first, second)]
    if places[0] != places[1] or len(places[0]) != 1:
        return
    (place,) = places[0]
    probe.draft.state(("oauth", "expires_in"), place, "a number of seconds in the answer to the exchange")
    lifetimes = {find_lifetime(answer.value, place) for answer in (first, second)}
    if len(lifetimes) == 1 and (seconds := lifetimes.pop()):
        evidence = f"{pointer.get(second.value, place)} at {place} in the answers to two exchanges"
        probe.draft.state(("oauth", "token_lifetime_s"), seconds, evidence)


def lifetime_places(value: Any) -> list[str]:
    """Where an answer says in how many seconds a token expires: by the member's name, or as the only number."""
    numbers = {at: leaf for at, leaf in pointer.leaves(value) if at and _is_number(leaf)}
    by_name = [at for at in numbers if _LIFETIME.fullmatch(re.sub(r"[^a-z]", "", pointer.tokens(at)[-1].lower()))]
    lone = [at for at, number in numbers.items() if number >= _LEAST_LIFETIME_S and find_lifetime(value, at)]
    return by_name or (lone if len(numbers) == 1 else [])


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, int) and not isinstance(leaf, bool)


def find_lifetime(value: Any, at: str) -> int | None:
    """The lifetime in whole minutes; an answer may say what remains of it. None if neither fits."""
    seconds = int(pointer.get(value, at))
    return next((found for found in (seconds, seconds + 1) if found % 60 == 0), None)


async def _probe_nonce(probe: Probe) -> None:
    """Sends a proof of a new key without a nonce."""
    algorithm = _proof_of(probe.controls[EXCHANGE].request).key.algorithm
    key = await asyncio.to_thread(ProofKey.new, algorithm)
    request = await probe.arranger.arrange(probe.operation(EXCHANGE), scope={"dpop.jkt": key.thumbprint})
    answer = await probe.send(request.with_proof(Proof(key, claims={"nonce": None})), "a proof without a nonce")
    if answer.ok and not probe.sender.nonce:
        probe.draft.state(("oauth", "nonce"), "never", "200 with a proof of a new key without a nonce")
    elif answer.status in (400, 401) and answer.fresh_nonce:
        evidence = f"{answer.summary} and a DPoP-Nonce header with a proof of a new key without a nonce"
        probe.draft.state(("oauth", "nonce"), "required", evidence)


def _failures(probe: Probe) -> Mapping[str, list[Change | None]]:
    """By key of [oauth.status]: exchanges with one defect."""
    code = probe.draft.get("oauth", "code")
    body = probe.controls[EXCHANGE].request.body
    has_code = bool(code) and pointer.has(body, code) and len(str(pointer.get(body, code))) >= LEAST_MADE_UP
    other_client, forged = probe.draft.get("oauth", "other_client_id"), MADE_UP["made-up"]
    return {
        "missing_proof": [lambda request: request.with_proof(None)],
        "bad_proof": [
            _with_proof(signing="other"),
            _with_proof(claims={"htm": "GET"}),
            _with_proof(claims={"htu": "https://other.example/api/v1/oauth/token"}),
            _with_proof(claims={"jti": None}),
        ],
        "unknown_client": [_with_member(probe, "client_id_member", forged)],
        "bad_grant": [
            _with_member(probe, "code_verifier", lambda verifier: verifier[::-1]),
            _with_member(probe, "redirect_uri_member", lambda uri: f"{uri}/more"),
            *([_with_member(probe, "code", forged)] if has_code else []),
            *([_with_member(probe, "client_id_member", lambda _: other_client)] if other_client else []),
        ],
        "bad_body": [
            *([lambda request: request.with_body(pointer.remove(request.body, code))] if has_code else []),
            *([_with_member(probe, "code", lambda _: 7)] if has_code else []),
        ],
    }


async def _probe_failures(probe: Probe) -> None:
    statuses: dict[str, int] = {}
    observed = []
    for fact, changes in _failures(probe).items():
        answers = [await _exchange(probe, change, fact.replace("_", " ")) for change in changes if change]
        found = {answer.status for answer in answers}
        if found in ({400}, {401}):
            statuses[fact] = int(found.pop() or 0)
            observed.append(f"{fact} in {len(answers)} ways {statuses[fact]}")
    control = await _exchange(probe, _identity, "a good exchange after the failures")
    if statuses and control.ok:
        probe.draft.state(("oauth", "status"), statuses, f"{', '.join(observed)}; 200 without a defect")


async def _probe_used_proof(probe: Probe) -> None:
    """Sends a used proof again: with the very same request, and with another code."""
    first = await _exchange(probe, _identity, "an exchange")
    text = sent_proof(first)
    if not first.ok or not text:
        return
    use = _with_proof(alter=lambda _: text)
    retry = await probe.send(use(first.request), "the very same request")
    between = await _exchange(probe, _identity, "an exchange in between")
    other = await _exchange(probe, use, "a used proof, another code")
    treatments = {(True, True): "accepted", (True, False): "retry", (False, False): "refused"}
    treatment = treatments.get((retry.ok, other.ok))
    if between.ok and treatment and all(answer.ok or answer.status in (400, 401) for answer in (retry, other)):
        evidence = f"{retry.summary} for the very same request, {other.summary} with another code"
        probe.draft.state(("oauth", "proof_reuse"), treatment, evidence)


async def _probe_used_code(probe: Probe) -> None:
    first = await _exchange(probe, _identity, "an exchange")
    second = await probe.send(first.request.with_fresh_key(), "the same code again")
    if first.ok and (second.ok or second.is_refused):
        evidence = f"the same code with another key and proof: {second.summary}"
        probe.draft.state(("oauth", "codes_single_use"), not second.ok, evidence)


async def _probe_burning(probe: Probe) -> None:
    """Exchanges a code after a failure: after a wrong verifier, and if that burns nothing, after other failures."""
    failures = _failures(probe)
    wrong_verifier, *others = failures["bad_grant"]
    if wrong_verifier is None:
        return
    summaries = []
    wrong_codes = failures["bad_grant"][2:3] if probe.draft.get("oauth", "code") else []
    for change in (wrong_verifier, *(c for c in others if c and c not in wrong_codes), failures["bad_proof"][0]):
        request = await probe.arrange(EXCHANGE)
        assert change is not None
        failed = await probe.send(change(request), "a failing exchange")
        answer = await probe.send(request.with_fresh_key(), "the good exchange afterwards")
        if not failed.is_refused or not (answer.ok or answer.status in (400, 401)):
            return
        summaries.append(answer.summary)
        if not answer.ok:
            break
    if summaries[0] != "200":
        evidence = f"after a wrong verifier, the good exchange of the code gets {summaries[0]}"
        probe.draft.state(("oauth", "failure_burns_code"), True, evidence)
    elif set(summaries) == {"200"}:
        evidence = f"after {len(summaries)} kinds of failure, the good exchange of the code gets 200"
        probe.draft.state(("oauth", "failure_burns_code"), False, evidence)


async def _probe_clock(probe: Probe) -> None:
    """States the bounds of iat, if they are usual ones and both clocks agree."""
    offset = clock_offset(probe)
    if (
        offset is None
        or abs(offset) > _LARGEST_OFFSET_S
        or any(probe.draft.is_stated("oauth", n) for n in _CLOCK_FACTS)
    ):
        return
    for fact, sign, bounds, margin in (("clock_behind_s", 1, _AGES_S, 1), ("clock_ahead_s", -1, _LEADS_S, 0)):
        for _ in range(_CLOCK_ATTEMPTS):
            if await _state_bound(probe, fact, sign, bounds, margin):
                break


async def _state_bound(probe: Probe, fact: str, sign: int, bounds: tuple[int, ...], margin: int) -> bool:
    """Whether a bound of iat was measured, and stated: an iat within it is accepted twice, one beyond it refused."""

    async def accepts(age_s: int) -> bool | None:
        answer = await _exchange(probe, _with_proof(age_s=float(sign * age_s)), f"iat {sign * age_s} s ago")
        return True if answer.ok else False if answer.status in (400, 401) else None

    async def is_refused(bound: int) -> bool:
        return await accepts(bound + 1) is False

    bound = await first_refused(bounds, is_refused)
    if bound is None:
        return True  # there is none to measure
    inside = [await accepts(bound - margin) for _ in range(2)]
    outside = [await accepts(bound + 1) for _ in range(2)]
    if not all(inside) or outside != [False, False]:
        return False
    side = "old" if sign > 0 else "ahead"
    evidence = f"an iat {bound - margin} s {side} gets 200, one {bound + 1} s {side} is refused"
    probe.draft.state(("oauth", fact), bound, evidence)
    return True
