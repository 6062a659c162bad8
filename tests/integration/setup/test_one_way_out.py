"""Runs, doctor and probe send through one composition root: proxy, rate and redaction of a profile hold for each."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.commands import REFERENCE, Desk
from tests.support.drafts import KEYS, SCHEMAS, fragment, variable
from tests.support.proxy import Forward, Message, Proxy
from tests.support.values import replace

VIA = "X-Came-Through"


@dataclass
class Front:
    """Stands before the reference, as the target: sees what came through the proxy and what went past it."""

    openapi: bytes = b""
    past: list[str] = field(default_factory=list)
    """Requests that did not come through the proxy."""
    at: list[float] = field(default_factory=list)
    """When each request arrived, on the monotonic clock."""
    leak: str = ""
    """A token that the identity of a key has in it, twice."""

    async def answer(self, asked: Message, forward: Forward, _: int) -> Message | None:
        self.at.append(time.monotonic())
        if not asked.all(VIA):
            self.past.append(asked.first.decode("latin-1"))
        if asked.target == "/openapi.yaml":
            return replace(Message.of(200, None), body=self.openapi)
        answer = await forward(asked)
        if self.leak and "identity" in asked.target and answer.status == 200:
            told = answer.json
            told["data"] = {**told["data"], "installationId": self.leak, "accessToken": self.leak}
            return replace(answer, body=json.dumps(told).encode())
        return answer


async def through_the_proxy(asked: Message, forward: Forward, _: int) -> Message | None:
    """A forward proxy for absolute-form targets (RFC 9112 section 3.2.2)."""
    method, url, version = asked.first.split(b" ")
    parts = urlsplit(url.decode("latin-1"))
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    line = b" ".join([method, target.encode("latin-1"), version])
    return await forward(replace(asked, first=line).with_headers((VIA, "yes")))


@contextmanager
def fronted(desk: Desk, **front: Any) -> Iterator[tuple[Front, str, str]]:
    """A front before the reference, its URL, and the URL of a proxy to it."""
    seen = Front(**front)
    with Proxy(desk.service.base_url, seen.answer) as target, Proxy(target.url, through_the_proxy) as proxy:
        yield seen, target.url, proxy.url


def stated(desk: Desk, limits: str) -> Path:
    """What a person states for a probe, with [limits]."""
    path = fragment(desk.place / "known.toml")
    path.write_text(f"limits = {limits}\n{path.read_text()}")
    return path


def probed(desk: Desk, url: str, limits: str, *more: object) -> str:
    known = stated(desk, limits)
    keys = [word for key in KEYS for word in ("--key", f"{key}=env:{variable(key)}")]
    given = ["--base-url", url, *keys, "-o", "mine.toml", "--fixtures", known]
    done = desk.conformance("probe", *given, "--var", f"control={desk.service.control_url}", *more)
    assert done.code == 0, done.text
    return done.text


@pytest.mark.parametrize("command", ["run", "doctor", "probe"])
def test_nothing_goes_past_the_proxy(desk: Desk, command: str) -> None:
    """Of whatever is sent to the target: the first look whether it is there, checks, and the OpenAPI document too."""
    target = ["--profile", REFERENCE, "--var", f"control={desk.service.control_url}"]
    with fronted(desk, openapi=SCHEMAS.read_bytes()) as (front, url, proxy):
        if command == "probe":
            probed(desk, url, f'{{ proxy = "{proxy}" }}', "--openapi", f"{url}/openapi.yaml", "--max-requests", 120)
        elif command == "doctor":
            done = desk.conformance("doctor", *target, "--base-url", url, "--limit", f"proxy={proxy}")
            assert done.code == 0, done.text
        else:
            given = ["-k", "AUTH-1 or check_hostile and getApiKeyIdentity", "--report-dir", "out", "--proxy", proxy]
            done = desk.conformance("run", *target, "--base-url", url, *given)
            assert done.code == 3, done.text
    assert len(front.at) > 40
    assert front.past == []


RATE = 40


@pytest.mark.parametrize("command", ["run", "doctor", "probe"])
def test_the_rate_of_the_profile_holds(desk: Desk, command: str) -> None:
    """Never more than the stated requests a second, over any time, but for the few that may go at once."""
    target = ["--profile", REFERENCE, "--var", f"control={desk.service.control_url}"]
    with fronted(desk) as (front, url, _):
        if command == "probe":
            probed(desk, url, f"{{ rate = {RATE} }}", "--max-requests", 100)
        elif command == "doctor":
            desk.conformance(
                "doctor", *target, "--base-url", url, "--limit", f"rate={RATE}", "--limit", "max_requests=100"
            )
        else:
            given = ["-k", "AUTH-1", "--report-dir", "out", "--rate", RATE, "--max-requests", "100"]
            desk.conformance("run", *target, "--base-url", url, *given)
    assert len(front.at) > 50
    for first in range(len(front.at)):
        for last in range(first + RATE, len(front.at)):
            allowed = RATE * (front.at[last] - front.at[first]) * 1.1 + RATE / 4
            assert last - first <= allowed, (first, last, front.at[last] - front.at[first])


def test_a_token_that_a_target_hands_out_is_in_no_draft(desk: Desk) -> None:
    """The guard of a run learns it from its name in the answer; the same guard looks at what a probe receives."""
    token = "tok_Zk3vQ9xW7mB2nL5pR8sT"
    with fronted(desk, leak=token) as (_, url, _):
        said = probed(desk, url, "{ max_requests = 60 }")
    written = "".join(path.read_text() for path in desk.place.glob("mine.*"))
    assert "installation = " in written
    assert token not in written + said


def test_what_a_person_stated_stands_in_the_draft_as_it_was(desk: Desk) -> None:
    """The guard takes sent tickets and codes for secrets; in the person's own fixtures they are not news to anybody."""
    path = desk.place / "known.toml"
    ticket = "tic_Zk3vQ9xW7mB2nL5pR8sT"
    path.write_text(
        "limits = { max_requests = 60 }\n[fixtures.session.open]\n"
        f'values = [{{ id = "ses_1", ticket = "{ticket}", token = "{ticket}" }}]\nreusable = true\n'
        '[operations.consumeHostedCheckoutBrowserTicket]\nbody = { ticket = "{session.ticket}" }\n'
    )
    given = ["--base-url", desk.service.base_url, "--key", f"env:{variable('full')}", "-o", "mine.toml"]
    done = desk.conformance("probe", *given, "--fixtures", path)
    assert done.code == 0, done.text
    assert (desk.place / "mine.toml").read_text().count(ticket) == 2
