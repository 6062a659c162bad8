"""The proof of possession of the token exchange: RFC 9449 section 4.3 (OA-6, OA-8)."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from dataclasses import replace
from math import copysign
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from conformance.checks.support.case import Case
from conformance.checks.support.clocks import describe_offset, offset_of
from conformance.checks.support.oauth_exchange import (
    PROOF_STATUSES,
    arrange_with_key,
    new_key,
    oauth_of,
    other_algorithms,
    proof_of,
    token_url_of,
)
from conformance.checks.support.proof_age import possible_ages
from conformance.checks.support.proof_defects import (
    CONDITIONS,
    OF_AGE,
    OF_ECDSA,
    OF_NONCES,
    OF_PATHS,
    WARNED,
    Defect,
    other_host,
    spoil_signature,
)
from conformance.checks.support.registry import check
from conformance.checks.support.replays import other_body
from conformance.checks.support.signals import Inconclusive, Violation
from conformance.client.dpop import Proof
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core.outcomes import Level

_ROUNDING_S: Final = 2.0
"""iat has a resolution of one second, and so may the target's clock."""


@check("OA-6", cases=CONDITIONS)
async def a_defective_proof_is_refused(case: Case, defect: Defect) -> None:
    """A proof that violates one condition of RFC 9449 section 4.3 is refused, and a good proof afterwards is not.

    A warning where a signature of ECDSA is in DER, where a proof names an unknown extension as critical, where jti is a
    number, and where htu differs by the case of its path or by a final slash: only other standards say that these are
    bad.
    """
    request = await case.arrange()
    url = token_url_of(case)
    is_ecdsa = proof_of(request).key.algorithm.startswith("ES")
    case.require_case(defect not in OF_NONCES or case.runtime.sender.nonce, "the target demands no nonce")
    case.require_case(defect not in OF_PATHS or urlsplit(url).path.strip("/"), "the token endpoint's URL has no path")
    case.require_case(defect not in OF_ECDSA or is_ecdsa, "the key is not one of ECDSA")
    proof, level = defect(request, url), Level.RECOMMENDED if defect in WARNED else None
    if proof is not None and defect in OF_AGE:
        await _expect_refusal_for_age(case, request, proof, "a defective proof", level)
    else:
        bad = request.with_proof(proof)
        await case.shared_negative(lambda _: bad, PROOF_STATUSES, "a defective proof", any_refusal=True, level=level)


_BY_NONCES: Final = "the target judges age by nonces"


async def _expect_refusal_for_age(
    case: Case, request: Request, proof: Proof, purpose: str, level: Level | None = None
) -> None:
    """A proof whose iat is off is refused, unless the target demands a nonce for it, which tells its age as well.

    A target may demand nonces of clients alone whose clocks are off (RFC 9449 section 4.3, item 11, and section 8).
    """
    is_judged_by_iat = await _is_nonce_optional(case)
    bad = request.with_proof(replace(proof, claims={**proof.claims, **_NO_NONCE}) if is_judged_by_iat else proof)
    try:
        await case.shared_negative(lambda _: bad, PROOF_STATUSES, purpose, any_refusal=True, level=level)
    except Violation as violation:
        has_nonce = not is_judged_by_iat and violation.answers[-1].nonce
        case.require_applicable(not (violation.answers[-1].ok and has_nonce), _BY_NONCES)
        await case.control(await case.arrange())  # this machine's clock may have jumped since the last one
        raise


_NO_NONCE: Final = {"nonce": None}


async def _is_nonce_optional(case: Case) -> bool:
    """Whether the target supplies nonces and accepts a proof without one, whose age is then that of its iat.

    Inapplicable where it demands them.
    """
    if not case.runtime.sender.nonce:
        return False

    async def send() -> Answer:
        request = await case.arrange()
        proof = replace(proof_of(request), claims=_NO_NONCE)
        return await case.send(request.with_proof(proof), "a proof without a nonce")

    answer = await case.runtime.known_answers["a proof without a nonce"].get_from(case, send)
    case.require_applicable(answer.ok, _BY_NONCES)
    return True


@check("OA-6")
async def no_other_body_is_exchanged_without_a_proof(case: Case) -> None:
    """Another valid body, such as one for another audience, is refused without a proof, too."""
    case.require_case(case.facts.bodies, "the profile states one body only")
    request = await case.arrange()
    bad = request.with_body(await other_body(case, request)).with_proof(None)
    purpose = "another body without a proof"
    await case.shared_negative(lambda _: bad, PROOF_STATUSES, purpose, any_refusal=True)


@check("OA-6")
async def the_credentials_of_a_client_are_no_proof(case: Case) -> None:
    """Without a proof the exchange is refused also where the request has a client's password (RFC 6749, 2.3.1)."""
    request = await case.arrange()
    password = base64.b64encode(f"{oauth_of(case).client_id}:no-such-password".encode()).decode()
    bad = request.with_proof(None).with_made_up_authorization(f"Basic {password}")
    await case.shared_negative(lambda _: bad, PROOF_STATUSES, "a password, and no proof", any_refusal=True)


_FORWARDED: Final = {"X-Forwarded-Host": "{host}", "Forwarded": "host={host}", "X-Original-Host": "{host}"}
"""Headers by which a proxy names the host that a client asked for (RFC 7239 section 5.3)."""


@check("OA-6")
async def a_client_does_not_choose_the_host_of_the_target(case: Case) -> None:
    """A proof for another host is refused, also where headers of the request say that this host was asked for.

    Otherwise who got a proof for a host of its own could use it here (RFC 9449 section 4.3, item 9). Binding where the
    URL of the token endpoint is stated: a service may rely on a proxy, which it is examined without, for its host.
    """
    request = await case.arrange()
    oauth = oauth_of(case)
    url = other_host(token_url_of(case))
    bad = request.with_proof(replace(proof_of(request), claims={"htu": url}))
    for name, form in _FORWARDED.items():
        bad = bad.with_header(name, form.format(host=urlsplit(url).netloc))
    # a proxy may refuse or misroute such a header by itself
    statuses, purpose = (*PROOF_STATUSES, 403, 404), "a proof for another host, which headers name"
    level = None if oauth.token_url else Level.RECOMMENDED
    await case.shared_negative(lambda _: bad, statuses, purpose, any_refusal=True, level=level)


@check("OA-6", cases=other_algorithms)
async def a_proof_of_each_declared_algorithm_is_validated(case: Case, algorithm: str) -> None:
    """A wrong signature, a private key in the header, another htm and another htu are refused for each algorithm.

    Then a good proof of that algorithm is accepted.
    """
    key = await new_key(case, algorithm)
    defects = {
        f"a wrong {algorithm} signature": Proof(key, alter=spoil_signature),
        f"a private key of {algorithm}": Proof(key, header={"jwk": key.private}),
        f"another htm, {algorithm}": Proof(key, claims={"htm": "PUT"}),
        f"another htu, {algorithm}": Proof(key, claims={"htu": other_host(token_url_of(case))}),
    }

    async def refuse(_: Request) -> Answer:
        for purpose, proof in defects.items():
            bad = (await arrange_with_key(case, key)).with_proof(proof)
            answer = await case.refusal(bad, PROOF_STATUSES, purpose, any_refusal=True)
        await case.control(await arrange_with_key(case, key), f"a good proof, {algorithm}")
        return answer

    await case.share_control(refuse, f"defective proofs of {algorithm}")


@check("OA-8", cases={"hour-old": (3600.0, 0), "hour-ahead": (-3600.0, 0), "hour-old-with-exp": (3600.0, 600)})
async def a_proof_from_another_hour_is_refused(case: Case, times: tuple[float, int]) -> None:
    """A proof with an iat one hour off is refused (RFC 9449 section 4.3, condition 11), unless nonces limit its age.

    Its age is that of its iat, also where it has an `exp` that has not passed.
    """
    age_s, expires_in_s = times
    request = await case.arrange()
    oauth = oauth_of(case)
    allowance = oauth.behind_s if age_s > 0 else oauth.ahead_s
    if allowance is not None and allowance >= abs(age_s):
        case.require_applicable(False, "the profile allows clocks to be an hour apart")
    least_s = (allowance or 0.0) + case.profile.limits.timeout_s + _ROUNDING_S  # the proof ages during transport
    age_s = copysign(max(abs(age_s), least_s), age_s)
    claims = {"exp": int(time.time()) + expires_in_s} if expires_in_s else {}
    proof = replace(proof_of(request), age_s=age_s, claims=claims)
    await _expect_refusal_for_age(case, request, proof, "a proof of another hour")


_FAR: Final[dict[str, Callable[[float], object]]] = {
    "milliseconds": lambda now: int(now * 1000),
    "huge": lambda now: 10**30,
    "negative": lambda now: -1,
}
"""The time in seconds -> an iat that no clock may be off."""


@check("OA-8", cases=_FAR)
async def an_iat_that_is_no_present_time_is_refused(case: Case, make: Callable[[float], object]) -> None:
    """An iat in milliseconds, a huge or a negative one is refused as any proof that is not fresh.

    Each is sent with a further declared algorithm, where there is one: an algorithm may have a branch of its own.
    """
    if further := oauth_of(case).algorithms[1:]:
        algorithm = further[[*_FAR.values()].index(make) % len(further)]
        await case.runtime.controls.prove(case.operation)
        request = await arrange_with_key(case, await new_key(case, algorithm))
    else:
        request = await case.arrange()
    proof = replace(proof_of(request), claims={"iat": make(time.time())})
    await _expect_refusal_for_age(case, request, proof, "an iat that is not a present time")


@check("OA-8")
async def an_iat_with_a_fraction_is_survived(case: Case) -> None:
    """A present iat with a fraction of a second, a NumericDate (RFC 7519, section 2), is accepted.

    A refusal is a warning: only the standard says that it is a good proof.
    """
    request = await case.arrange()
    proof = replace(proof_of(request), claims={"iat": int(time.time()) - 0.5})
    answer = await case.send(request.with_proof(proof), "an iat with a fraction")
    if answer.ok:
        return
    if answer.status not in PROOF_STATUSES:
        raise case.violation("an iat with a fraction broke the answer", answer, expected="200, 400 or 401")
    behind_s = oauth_of(case).behind_s
    case.require_case(behind_s is None or behind_s > _ROUNDING_S, "a proof a second old may be too old")
    await case.control(await case.arrange())
    raise case.violation("an iat with a fraction was refused", answer, expected="200", level=Level.RECOMMENDED)


class Edge(NamedTuple):
    """One side of one bound of a proof's age. `fact` is its key in [oauth]."""

    fact: str
    sign: int
    """1 for a proof that is old, -1 for one that is ahead."""
    is_inside: bool

    def age_s(self, bound: float, distance: float) -> float:
        """The age of a proof that is this far from the bound, on this side of it."""
        return self.sign * (bound - distance if self.is_inside else bound + distance)


_EDGES = {
    f"just-{'inside' if inside else 'outside'}-{name}": Edge(f"clock_{name}_s", sign, inside)
    for name, sign in (("behind", 1), ("ahead", -1))
    for inside in (True, False)
}
_DISTANCES_S: Final = (4.0, 8.0, 16.0)
"""From the bound: enough for whole seconds and a Date, then for slower answers and clocks that differ."""


@check("OA-8", cases=_EDGES)
async def a_proof_is_accepted_up_to_the_stated_age(case: Case, edge: Edge) -> None:
    """A proof just inside the stated bound of its iat is accepted, one just outside is refused."""
    oauth = oauth_of(case)
    bound = oauth.behind_s if edge.sign > 0 else oauth.ahead_s
    _need_bound(case, bound, edge.fact)
    assert bound is not None
    distances = [distance for distance in _DISTANCES_S if not edge.is_inside or distance <= bound]
    case.require_case(distances, f"oauth.{edge.fact} = {bound:g} is too near to the present to be approached")
    for distance in distances:
        age_s = edge.age_s(bound, distance)
        answer = await _exchange_with_age(case, age_s)
        least_s, most_s = possible_ages(answer, age_s, time.time())
        if answer.ok == edge.is_inside:
            return
        await case.control(await case.arrange())
        nearest, farthest = (least_s, most_s) if edge.sign > 0 else (-most_s, -least_s)
        if farthest <= bound if edge.is_inside else nearest > bound:
            message = f"a proof with an iat {abs(age_s):g} s {'old' if edge.sign > 0 else 'ahead'} was "
            message += f"{'refused' if edge.is_inside else 'accepted'}, and oauth.{edge.fact} is {bound:g}"
            expected = "200" if edge.is_inside else "400 or 401"
            raise case.violation(message, answer, expected=expected, level=Level.DECLARED)
    offset_s = offset_of(answer)
    if offset_s is not None and await _keeps_bound_by_date(case, edge, bound, offset_s):
        return
    clocks = ", and no Date shows it" if offset_s is None else f": {describe_offset(offset_s, oauth)}"
    message = f"no proof came near oauth.{edge.fact}: answers are too slow for it, or the clocks differ{clocks}"
    raise Inconclusive(message, answer, cause=f"oauth.{edge.fact}")


async def _keeps_bound_by_date(case: Case, edge: Edge, bound: float, offset_s: float) -> bool:
    """Whether a proof just inside the bound is accepted and one just outside is refused, by the clock of Date.

    Date may be a gateway's, whose clock is another one: then one of the two is answered otherwise.
    """
    outcomes = []
    for is_inside in (True, False):
        age_s = edge._replace(is_inside=is_inside).age_s(bound, _DISTANCES_S[0]) - offset_s
        outcomes.append((await _exchange_with_age(case, age_s)).ok)
    return outcomes == [True, False]


async def _exchange_with_age(case: Case, age_s: float) -> Answer:
    request = await case.arrange()
    return await case.send(request.with_proof(replace(proof_of(request), age_s=age_s)), f"iat {age_s:+.0f} s ago")


def _need_bound(case: Case, bound: float | None, fact: str) -> None:
    """Unstated without the bound; the profile may exclude it by its short form too."""
    short = "oauth.clock_allowance_s"
    case.need(bound is not None, short if short in case.profile.exclusions else f"oauth.{fact}", "the bound is needed")
