"""Whether there is an HTTP service at all, before anything is judged."""

from __future__ import annotations

import httpx

from conformance.errors import Unreachable
from conformance.profile.model import Profile

_PATH = "/api/v1/runtime-config"


def reach(profile: Profile) -> None:
    """Any HTTP answer will do. Raises Unreachable, saying what happened and what to look at."""
    url = profile.base_url + _PATH
    verify: str | bool = str(profile.tls.ca_file) if profile.tls.ca_file else profile.tls.verify
    timeout = min(profile.limits.timeout_s, 10.0)
    for _ in range(3):
        try:
            with (
                httpx.Client(
                    trust_env=False, verify=verify, timeout=timeout, proxy=profile.limits.proxy or None
                ) as client,
                client.stream("GET", url, headers={"Accept": "application/json"}),
            ):
                return
        except httpx.ConnectError as error:
            problem, hint = f"cannot connect: {error}", "is the service running, and is this its address?"
        except httpx.ConnectTimeout:
            problem, hint = f"no connection within {timeout:g} s", "is this its address, and reachable from here?"
        except (httpx.ReadTimeout, httpx.PoolTimeout, httpx.WriteTimeout):
            problem, hint = f"connected, but no answer within {timeout:g} s", "is this an HTTP service?"
            break
        except httpx.RemoteProtocolError as error:
            problem, hint = f"does not speak HTTP: {error}", "is it the right port, and http or https?"
        except (httpx.HTTPError, OSError) as error:
            problem, hint = f"no HTTP conversation: {error or type(error).__name__}", "is this an HTTP service?"
    raise Unreachable(problem, where=profile.base_url, hint=hint)
