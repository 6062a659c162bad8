"""A target that fails under load gets the verdict that it deserves, and the waiting is shown.

A selection of checks never certifies anything: of such a run no row may be failed or inconclusive, and its verdict is
`incomplete` for that reason alone.
"""

from __future__ import annotations

import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.load.behaviours import at_most, by_chance, dropping, slow
from tests.support.commands import REFERENCE, Desk, Done, run_json, shared_reference
from tests.support.proxy import Behaviour, Proxy, through

pytestmark = [pytest.mark.e2e, pytest.mark.slow(every=0)]

SOME = "check_authentication or check_idempotency or check_effects or check_oauth or check_concurrency or check_hosted"
FEW = "getApiKeyIdentity or (IDEM-1 and quotePublicCart) or (IDEM-2 and createInstallationWebhook)"
OPEN = ("failed", "inconclusive", "broken", "untested")


@dataclass(frozen=True)
class Loaded:
    """A run against a target under load."""

    done: Done
    run: dict[str, Any]
    seconds: float
    page: str
    summary: str

    @property
    def traffic(self) -> dict[str, Any]:
        traffic: dict[str, Any] = self.run["traffic"]
        return traffic

    def is_undisturbed(self, least: int = 20) -> None:
        """Whatever was selected came to a good end."""
        told = [(r["check"], r["operation"], r["outcome"], r["message"]) for r in self.run["results"]]
        assert [row for row in told if row[2] in OPEN] == []
        assert self.run["complete"]
        assert Counter(row[2] for row in told)["passed"] > least
        verdict = (3, "incomplete") if self.run["filtered"] else (0, "conformant")
        assert (self.done.code, self.run["verdict"]) == verdict

    def tells(self, pattern: str) -> None:
        """The terminal's last lines, the job page and the report say it."""
        for text in (self.done.out, self.summary.replace("\\", ""), self.page):
            assert re.search(pattern, text), pattern


@contextmanager
def proxied(behaviour: Behaviour, path: Path, keep_s: float | None = None) -> Iterator[tuple[Proxy, list[str]]]:
    service = shared_reference()
    with Proxy(service.base_url, behaviour, keep_s) as proxy:
        profile = Desk(Path(), service).target()
        profile[profile.index("--profile") + 1] = str(path)
        profile[profile.index("--base-url") + 1] = proxy.url
        yield proxy, profile


def loaded(
    place: Path,
    behaviour: Behaviour,
    record_property: Any,
    *given: object,
    profile: Path = REFERENCE,
    keep_s: float | None = None,
) -> Loaded:
    with proxied(behaviour, profile, keep_s) as (proxy, target):
        started = time.monotonic()
        done = Desk(place, shared_reference()).conformance("run", *target, "--report-dir", "out", *given)
        took = time.monotonic() - started
    out = place / "out"
    run = run_json(out)
    traffic = run["traffic"]
    record_property(
        "load",
        f"{took:.0f} s, of which {traffic['waited_clock_s']:.0f} s with requests that waited; {traffic['requests']:,} "
        f"requests, {traffic['retries']} retries, {traffic['limited']} 429s, {traffic['lost']} lost, "
        f"{traffic['most_in_flight']} in flight, {proxy.statuses}, verdict {run['verdict']}",
    )
    return Loaded(done, run, took, (out / "report.html").read_text(), (out / "summary.md").read_text())


def test_slow_answers_take_only_longer(tmp_path: Path, record_property: Any) -> None:
    """1.5 s each; with more of them at once a run takes little longer."""
    told = loaded(tmp_path, slow(1.5), record_property, "-k", SOME, "--concurrency", "96")
    told.is_undisturbed()
    assert told.traffic["most_in_flight"] > 32
    assert told.traffic["latency"][""]["p50"] >= 1500


def test_chance_429s_are_waited_out(tmp_path: Path, record_property: Any) -> None:
    """One in five, whatever was asked; the pace is not slowed down for them."""
    told = loaded(tmp_path, by_chance(0.2), record_property, "-k", SOME)
    told.is_undisturbed()
    assert told.traffic["limited"] > 100
    told.tells(r"waited \d+\.\d s for [\d,]+ 429s, [\d,]+ retries, at most \d+ in flight")


def test_a_limit_that_nobody_stated_is_found(tmp_path: Path, record_property: Any) -> None:
    """5 requests in any second and no Retry-After: nothing is given up, and the progress says what is waited for."""
    told = loaded(tmp_path, at_most(5), record_property, "-k", FEW)
    told.is_undisturbed()
    assert 2 <= told.traffic["slowest_rate"] <= 10
    sent = told.traffic["requests"]
    assert told.traffic["limited"] < 0.6 * sent
    told.tells(r"slowed down to \d+\.\d requests a second")
    assert "waiting: the target" in told.done.out


@pytest.mark.slow(every=1)
def test_a_window_longer_than_the_first_silence_is_waited_out(tmp_path: Path, record_property: Any) -> None:
    """12 requests in any 14 s, and the profile states no recovery: what fits into the patience is judged."""
    profile = tmp_path / "profiles" / REFERENCE.name
    shutil.copytree(REFERENCE.parent, profile.parent)
    profile.write_text(re.sub(r"(?m)^recovery_s = .*", "", profile.read_text()))
    given = ("-k", "getApiKeyIdentity and check_authentication", "--limit", "patience_s=30")
    told = loaded(tmp_path, at_most(12, 14.0), record_property, *given, profile=profile)
    assert told.traffic["limited"] > 0
    told.is_undisturbed(least=5)


def test_a_limit_that_asking_keeps_up_is_left_alone(tmp_path: Path, record_property: Any) -> None:
    """All operations share it, and what is refused counts too: those asked together are asked one by one then."""
    told = loaded(tmp_path, at_most(12, 0.5, refused_too=True), record_property, "-k", "check_rate_limit")
    told.is_undisturbed()
    assert any(result["requirement"] == "RATE-3" for result in told.run["results"])


def test_a_kept_connection_may_end_at_any_time(tmp_path: Path, record_property: Any) -> None:
    """A server that closes each one 3 ms after its answer, without a word, is not said to leave calls unanswered."""
    told = loaded(tmp_path, through, record_property, "-k", SOME, keep_s=0.003)
    told.is_undisturbed()
    assert told.traffic["lost"] < 0.1 * told.traffic["requests"]


@pytest.mark.parametrize("after_the_effect", [False, True], ids=["before", "after the effect"])
def test_dropped_connections_are_no_verdict(tmp_path: Path, after_the_effect: bool, record_property: Any) -> None:
    """Every other one, also when what was asked had been carried out: a repeat with the same key tells the truth.

    What no key protects, such as a proof that is to be used once, is judged again on fixtures of its own.
    """
    told = loaded(tmp_path, dropping(after_the_effect=after_the_effect), record_property, "-k", SOME)
    told.is_undisturbed()
    assert told.traffic["lost"] > 0.3 * told.traffic["requests"]
    told.tells(r"waited \d+\.\d s for [\d,]+ lost answers")


def test_a_retry_after_of_a_day_is_said_and_not_waited_for(tmp_path: Path, record_property: Any) -> None:
    """What was answered so is inconclusive, with the reason; the rest is judged, and nothing fails."""
    told = loaded(tmp_path, by_chance(0.2, ("Retry-After", "86400")), record_property, "-k", FEW)
    outcomes = Counter(result["outcome"] for result in told.run["results"])
    assert (told.done.code, told.run["verdict"], outcomes["failed"]) == (3, "incomplete", 0)
    assert told.seconds < 60
    assert "Retry-After asks for 86,400 s, and limits.patience_s is 30" in told.done.out
