"""No 12 characters in a row of a key reach a file or the terminal where requests break, or a key is sent back in part.

Libraries quote in their errors what they could not read, and cut it; a target may echo the beginning of a key.
"""

from __future__ import annotations

import pytest

from tests.hostile.canary.breaking import MANNERS, breaking
from tests.hostile.canary.canaries import Canaries
from tests.hostile.canary.conftest import Tally

pytestmark = [pytest.mark.e2e, pytest.mark.slow(every=6)]

SOME = "check_authentication or AUTH-2 or (CONF-1 and AfterSales) or HO-1"
QUICK = ("--limit", "timeout_s=2", "--limit", "patience_s=1", "--deadline", "20", "--seed", "1")


def ran(own: Canaries, url: str, *more: object) -> None:
    """A run against a target where nothing works; it reports all the same."""
    given = ("--profile", own.profile, "--base-url", url, "--var", f"control={own.desk.service.control_url}")
    own.run("run", *given, "--report-dir", "out", *QUICK, *more, expect={1, 3})
    assert (own.desk.place / "out" / "journal.ndjson").read_bytes().count(b'"kind":"exchange"') > 5
    own.run("explain", "AUTH-1", "--run", "out", expect={0, 2})


@pytest.mark.parametrize("manner", MANNERS)
def test_a_run_against_a_target_that_breaks_requests(own: Canaries, manner: str, tally: Tally) -> None:
    """Resets, answers that nobody can read, and pieces of keys: whole ones and the parts of each are looked for."""
    with breaking(manner) as url:
        ran(own, url, "-k", SOME)
    tally.nothing_in(own)


@pytest.mark.parametrize("manner", ["resets in the midst of a request", "sends the request back", "echoes in headers"])
def test_a_run_through_a_proxy_that_fails(own: Canaries, manner: str, tally: Tally) -> None:
    """The request's target is a whole URL there, which errors quote."""
    with breaking(manner) as url:
        ran(own, "http://shop.test/commerce", "--limit", f"proxy={url}", "-k", SOME)
    tally.nothing_in(own)


@pytest.mark.parametrize("manner", ["echoes a piece of the key", "sends the request back", "a chunk that is a key"])
def test_doctor_and_probe(own: Canaries, manner: str, tally: Tally) -> None:
    """They write to the terminal, and a draft."""
    with breaking(manner) as url:
        given = ("--profile", own.profile, "--base-url", url, "--var", f"control={own.desk.service.control_url}")
        own.run("doctor", *given, *QUICK[:4])
        source = "env:" + next(name for name in own.desk.environment if name.startswith("CANARY_"))
        own.run("probe", "--base-url", url, "--key", source, "-o", "draft.toml", "--max-requests", "60")
    assert any(b"control of" in said or b"controls." in said or b"wrong" in said for said in own.said)
    tally.nothing_in(own)


def test_tls_that_fails(own: Canaries, tally: Tally) -> None:
    """Nothing is sent there; what is said about it names no key."""
    with breaking("sends the request back") as url:
        given = ("--profile", own.profile, "--base-url", url.replace("http:", "https:"))
        own.run("run", *given, "--var", "control=http://127.0.0.1:9", "--report-dir", "out", "-k", SOME, expect={4})
        own.run("doctor", *given, "--var", "control=http://127.0.0.1:9", expect={4})
    tally.nothing_in(own)
