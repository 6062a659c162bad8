"""What a burst shows of the limits of a reference service."""

from __future__ import annotations

from tests.support.reference_api import Api


def burst(api: Api) -> bool:
    """Whether one of 200 requests, 40 of them at once, meets a limit."""
    return any(a.status_code == 429 for _ in range(5) for a in api.parallel("getApiKeyIdentity", 40, one_key=False))


def run_limited(api: Api) -> bool:
    """Whether a limit is in force that another one replaces when it is switched on."""
    before = burst(api)
    switch = f"{api.control}/rate-limit"
    api.http.post(switch, json={"limit": 1000, "window_s": 9})
    meanwhile = burst(api)
    api.http.delete(switch)
    return before and not meanwhile and burst(api)
