"""Whether there is an HTTP service at all, before anything is judged."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Thread

import httpx

from conformance.core.errors import Unreachable
from conformance.profile.model import Profile

_PATH = "/api/v1/runtime-config"
_LONGEST_S = 10.0
_SPARE_S = 1.0


def reach(profile: Profile, deadline_s: float | None = None) -> None:
    """Any HTTP answer will do, within the deadline of the run. Raises Unreachable, saying what happened and what to
    look at."""
    reaching(profile, deadline_s)()


def reaching(profile: Profile, deadline_s: float | None = None) -> Callable[[], None]:
    """Begins to ask; the function that it gives waits for what came of that, as `reach` does. Something else may be
    done meanwhile."""
    given_s = min(profile.limits.timeout_s, _LONGEST_S, deadline_s or _LONGEST_S)
    asking = _Asking(f"connected, but no answer within {given_s:g} s", "is this an HTTP service?")
    told = Future[bool]()
    client = client_for(profile, profile.base_url, given_s)

    def ask() -> None:
        try:
            with client:
                answered = asking.ask(client, profile.base_url + _PATH, given_s)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread of who waits
            told.set_exception(error)
        else:
            told.set_result(answered)

    # in all, too: httpx' own time-out begins anew with each byte, and a target may send one now and then
    until = time.monotonic() + given_s + _SPARE_S
    Thread(target=ask, name="reach", daemon=True).start()

    def wait() -> None:
        try:
            reached = told.result(max(0.0, until - time.monotonic()))
        except TimeoutError:
            reached = False
        if not reached:
            raise Unreachable(asking.problem, where=profile.base_url, hint=asking.hint)

    return wait


def client_for(profile: Profile, url: str, given_s: float) -> httpx.Client:
    """For a request to that URL alone, with the profile's proxy and TLS; follows no redirect."""
    verify: str | bool = str(profile.tls.ca_file) if profile.tls.ca_file else profile.tls.verify
    if not any(place.startswith("https:") for place in (url, profile.limits.proxy)):
        verify = False  # there is nobody's certificate, and to read a store of them takes time
    return httpx.Client(trust_env=False, verify=verify, timeout=given_s, proxy=profile.limits.proxy or None)


@dataclass
class _Asking:
    problem: str
    hint: str
    """What is to be said if nothing more is learnt."""

    def ask(self, client: httpx.Client, url: str, given_s: float) -> bool:
        """Whether anything answered; why not, is in `problem`."""
        for _ in range(3):
            try:
                with client.stream("GET", url, headers={"Accept": "application/json"}):
                    return True
            except httpx.ConnectError as error:
                self._failed(f"cannot connect: {error}", "is the service running, and is this its address?")
            except httpx.ConnectTimeout:
                self._failed(f"no connection within {given_s:g} s", "is this its address, and reachable from here?")
            except httpx.TimeoutException:
                return False
            except httpx.RemoteProtocolError as error:
                self._failed(f"does not speak HTTP: {error}", "is it the right port, and http or https?")
            except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
                self._failed(f"no HTTP conversation: {error or type(error).__name__}", self.hint)
        return False

    def _failed(self, problem: str, hint: str) -> None:
        self.problem, self.hint = problem, hint
