"""Checks that an HTTP service answers at the base URL, before anything is judged."""

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
    """Returns on any HTTP answer within the deadline of the run. Raises Unreachable with the problem and a hint."""
    start_reach(profile, deadline_s)()


def start_reach(profile: Profile, deadline_s: float | None = None) -> Callable[[], None]:
    """Starts the request in a thread; the returned function waits for its result, as `reach` does."""
    timeout_s = min(profile.limits.timeout_s, _LONGEST_S, deadline_s or _LONGEST_S)
    attempt = _Attempt(f"connected, but no answer within {timeout_s:g} s", "is this an HTTP service?")
    result = Future[bool]()
    client = client_for(profile, profile.base_url, timeout_s)

    def ask() -> None:
        try:
            with client:
                answered = attempt.ask(client, profile.base_url + _PATH, timeout_s)
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
            result.set_exception(error)
        else:
            result.set_result(answered)

    # a limit on the total: the timeout of httpx restarts with each received byte
    until = time.monotonic() + timeout_s + _SPARE_S
    Thread(target=ask, name="reach", daemon=True).start()

    def wait() -> None:
        try:
            reached = result.result(max(0.0, until - time.monotonic()))
        except TimeoutError:
            reached = False
        if not reached:
            raise Unreachable(attempt.problem, where=profile.base_url, hint=attempt.hint)

    return wait


def client_for(profile: Profile, url: str, timeout_s: float) -> httpx.Client:
    """For a request to that URL alone, with the profile's proxy and TLS; follows no redirect."""
    verify: str | bool = str(profile.tls.ca_file) if profile.tls.ca_file else profile.tls.verify
    if not any(place.startswith("https:") for place in (url, profile.limits.proxy)):
        verify = False  # no TLS connection: loading the certificate store would only take time
    return httpx.Client(trust_env=False, verify=verify, timeout=timeout_s, proxy=profile.limits.proxy or None)


@dataclass
class _Attempt:
    problem: str
    hint: str
    """The hint that is shown unless a later attempt sets another one."""

    def ask(self, client: httpx.Client, url: str, timeout_s: float) -> bool:
        """Whether anything answered; `problem` says why not."""
        for _ in range(3):
            try:
                with client.stream("GET", url, headers={"Accept": "application/json"}):
                    return True
            except httpx.ConnectError as error:
                self._set_problem(f"cannot connect: {error}", "is the service running, and is this its address?")
            except httpx.ConnectTimeout:
                self._set_problem(
                    f"no connection within {timeout_s:g} s", "is this its address, and reachable from here?"
                )
            except httpx.TimeoutException:
                return False
            except httpx.RemoteProtocolError as error:
                self._set_problem(f"does not speak HTTP: {error}", "is it the right port, and http or https?")
            except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
                self._set_problem(f"no HTTP conversation: {error or type(error).__name__}", self.hint)
        return False

    def _set_problem(self, problem: str, hint: str) -> None:
        self.problem, self.hint = problem, hint
