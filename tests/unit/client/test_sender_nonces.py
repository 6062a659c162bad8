"""DPoP nonces that a target demands (RFC 9449 section 8), and the proofs that carry them."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from conformance.client import sender as module
from conformance.client.response import Answer
from conformance.client.sender import Sender
from tests.support.senders import IDENTITY, TOKEN, one
from tests.support.values import replace


def claims_of(arrived: Any) -> dict[str, Any]:
    claims = arrived.all("DPoP")[0].split(".")[1]
    return dict(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4))))


def nonce_of(arrived: Any) -> str | None:
    return claims_of(arrived).get("nonce")


@pytest.mark.parametrize("status", [400, 401])
def test_a_nonce_challenge_is_followed(through: Any, answer: Any, status: int) -> None:
    """The request is repeated with the nonce, as a repeat; later requests carry it from the start."""

    def script(arrived: Any) -> bytes:
        return answer(200) if nonce_of(arrived) == "n1" else answer(status, DPoP_Nonce="n1")

    async def work(flow: Sender) -> list[Answer]:
        return [await flow.send(TOKEN), await flow.send(TOKEN)]

    given, target, _, exchanges = through(script, work)
    assert [item.status for item in given] == [200, 200]
    assert [nonce_of(arrived) for arrived in target.arrived] == [None, "n1", "n1"]
    assert [exchange["retry_of"] for exchange in exchanges] == ["", "x1", ""]


def test_requests_in_flight_when_the_nonce_came_follow_it_too(through: Any, answer: Any) -> None:
    """Several were challenged with one nonce at once: each is repeated with it."""

    async def script(arrived: Any) -> bytes:
        await asyncio.sleep(0.02)
        return answer(200) if nonce_of(arrived) == "n1" else answer(401, DPoP_Nonce="n1")

    async def work(flow: Sender) -> list[Answer]:
        return await asyncio.gather(*(flow.send(TOKEN) for _ in range(6)))

    given, _, _, _ = through(script, work)
    assert {item.status for item in given} == {200}


def test_nonces_that_are_good_for_one_request_serve_several_at_once(through: Any, answer: Any) -> None:
    """Each request is repeated with the nonce of its own challenge, and not with what another one was given."""
    given_out: set[str] = set()

    def script(arrived: Any) -> bytes:
        if (nonce := nonce_of(arrived)) in given_out:
            given_out.remove(str(nonce))
            return answer(200)
        given_out.add(fresh := f"n{len(arrived.head)}-{id(arrived)}")
        return answer(401, DPoP_Nonce=fresh)

    async def work(flow: Sender) -> list[Answer]:
        first = await flow.send(TOKEN)
        return [first, *await asyncio.gather(*(flow.send(TOKEN) for _ in range(12)))]

    given, target, _, _ = through(script, work)
    assert [one.status for one in given] == [200] * 13
    assert len(target.arrived) == 26


def test_the_same_nonce_is_no_new_challenge(through: Any, answer: Any) -> None:
    """A refusal that repeats the nonce which the proof had is a refusal."""
    given, target, _, _ = through(lambda arrived: answer(401, DPoP_Nonce="n1"), one(TOKEN))
    assert (given.status, len(target.arrived)) == (401, 2)


def test_challenges_without_end_are_bounded(through: Any, answer: Any) -> None:
    """A target that answers every proof with another nonce gets a few, and is then taken at its word."""
    count = iter(range(1000))
    given, target, _, _ = through(lambda arrived: answer(401, DPoP_Nonce=f"n{next(count)}"), one(TOKEN))
    assert given.status == 401
    assert len(target.arrived) == 1 + module._CHALLENGES


def test_a_nonce_in_a_200_is_kept_for_later(through: Any, answer: Any) -> None:
    """RFC 9449 section 8.2: the next nonce may come with any answer."""

    async def work(flow: Sender) -> None:
        await flow.send(TOKEN)
        await flow.send(TOKEN)

    _, target, _, _ = through(lambda arrived: answer(200, DPoP_Nonce="next"), work)
    assert [nonce_of(arrived) for arrived in target.arrived] == [None, "next"]


@pytest.mark.parametrize("nonce", ["", "n" * 2000])
def test_an_unusable_nonce_is_ignored(through: Any, answer: Any, nonce: str) -> None:
    """Empty, or longer than anything sensible: no nonce."""
    given, target, flow, _ = through(lambda arrived: answer(401, DPoP_Nonce=nonce), one(TOKEN))
    assert (given.status, len(target.arrived), flow.nonce) == (401, 1, "")


def test_a_request_without_a_proof_is_not_challenged(through: Any, answer: Any) -> None:
    """A nonce in somebody else's 401 repeats nothing."""
    _, target, _, _ = through(lambda arrived: answer(401, DPoP_Nonce="n1"), one(IDENTITY))
    assert len(target.arrived) == 1


def test_proofs_are_secrets_and_new_each_time(through: Any, answer: Any, tmp_path: Path) -> None:
    """No proof stands in the journal, even where the target sends it back; a repeat has another one."""
    answers = iter([429, 200])

    def script(arrived: Any) -> bytes:
        return answer(next(answers), {"proof": arrived.all("DPoP")[0]})

    _, target, _, _ = through(script, one(TOKEN))
    proofs = [arrived.all("DPoP")[0] for arrived in target.arrived]
    written = (tmp_path / "journal.ndjson").read_text()
    assert len(set(proofs)) == 2
    assert not any(proof in written for proof in proofs)


def test_copies_of_a_proof_are_header_lines_of_their_own(through: Any, answer: Any) -> None:
    """Two proofs are two DPoP headers, byte for byte."""
    assert TOKEN.proof is not None
    proof = replace(TOKEN.proof, copies=2) if TOKEN.proof else None
    _, target, _, _ = through(lambda arrived: answer(), one(TOKEN.with_proof(proof)))
    assert len(target.arrived[0].all("DPoP")) == 2


@pytest.mark.parametrize(("new_id", "ids"), [(True, 2), (False, 1)])
def test_a_retry_after_a_429_has_the_jti_that_the_check_meant(
    through: Any, answer: Any, new_id: bool, ids: int
) -> None:
    """A limited server may have counted the jti as used. A proof that is sent twice on purpose keeps its jti."""
    answers = iter([answer(429), answer(200)])
    assert TOKEN.proof is not None
    proof = replace(TOKEN.proof, claims={"jti": "first"}, new_id_on_retry=new_id)
    given, target, _, _ = through(lambda arrived: next(answers), one(request=TOKEN.with_proof(proof)))
    sent = [claims_of(arrived)["jti"] for arrived in target.arrived]
    assert (sent[0], len(set(sent))) == ("first", ids)
    assert given.request.proof.claims["jti"] == sent[-1]
