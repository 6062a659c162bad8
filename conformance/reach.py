"""Whether there is an HTTP service at all, before anything is judged."""

from __future__ import annotations

import asyncio

import httpx

from conformance.errors import Unreachable
from conformance.profile.model import Profile

_PATH = "/api/v1/runtime-config"
_LONGEST_S = 10.0
_SPARE_S = 1.0


def reach(profile: Profile, deadline_s: float | None = None) -> None:
    """Any HTTP answer will do, within the deadline of the run. Raises Unreachable, saying what happened and what to
    look at."""
    given = min(profile.limits.timeout_s, _LONGEST_S, deadline_s or _LONGEST_S)
    asyncio.run(_reach(profile, given))


async def _reach(profile: Profile, given_s: float) -> None:
    verify: str | bool = str(profile.tls.ca_file) if profile.tls.ca_file else profile.tls.verify
    if not any(place.startswith("https:") for place in (profile.base_url, profile.limits.proxy)):
        verify = False  # there is nobody's certificate, and to read a store of them takes time
    problem, hint = f"connected, but no answer within {given_s:g} s", "is this an HTTP service?"
    proxy = profile.limits.proxy or None
    async with httpx.AsyncClient(trust_env=False, verify=verify, timeout=given_s, proxy=proxy) as client:
        try:
            # in all, too: httpx' own time-out begins anew with each byte, and a target may send one now and then
            async with asyncio.timeout(given_s + _SPARE_S):
                for _ in range(3):
                    try:
                        asked = {"Accept": "application/json"}
                        async with client.stream("GET", profile.base_url + _PATH, headers=asked):
                            return
                    except httpx.ConnectError as error:
                        problem, hint = f"cannot connect: {error}", "is the service running, and is this its address?"
                    except httpx.ConnectTimeout:
                        problem = f"no connection within {given_s:g} s"
                        hint = "is this its address, and reachable from here?"
                    except httpx.TimeoutException:
                        break
                    except httpx.RemoteProtocolError as error:
                        problem, hint = f"does not speak HTTP: {error}", "is it the right port, and http or https?"
                    except (httpx.HTTPError, OSError) as error:
                        problem = f"no HTTP conversation: {error or type(error).__name__}"
        except TimeoutError:
            pass
    raise Unreachable(problem, where=profile.base_url, hint=hint)
