"""What the token exchange of the reference answers, one function an observation (see `observations`)."""

from __future__ import annotations

from collections.abc import Callable

from joserfc.jwk import ECKey

from tests.support.observations import Look
from tests.support.reference_api import Api, P, proof

TOKEN = "exchangeOAuthToken"


def token(**changes: str | None) -> Look:
    def looked(api: Api) -> int:
        body = {name: value for name, value in {**api.grant(), **changes}.items() if value is not None}
        return api.status(TOKEN, body=body)

    return looked


def token_twice(api: Api) -> tuple[int, int]:
    body = api.grant()
    return api.status(TOKEN, body=body), api.status(TOKEN, body=body)


def _url(api: Api) -> str:
    return f"{api.base}{P}/oauth/token"


def proved(make: Callable[[str], str]) -> Look:
    return lambda api: api.status(TOKEN, dpop=make(_url(api)))


def same_proof(api: Api) -> tuple[int, int]:
    used = proof(_url(api))
    return api.status(TOKEN, dpop=used), api.status(TOKEN, dpop=used)


def code_aged(age_s: int) -> Look:
    return lambda api: api.status(TOKEN, body=api.grant(code=api.code(age_s=str(age_s))))


def expires_in(api: Api) -> int:
    return int(api.send(TOKEN).json()["data"]["expiresIn"])


def retried_proof(api: Api) -> int:
    used = proof(_url(api))
    return api.twice(TOKEN, {"dpop": used}, dpop=used)[1].status_code


def members(api: Api) -> set[str]:
    return set(api.send("getApiKeyIdentity").json()["data"])


def token_type(api: Api) -> str:
    return str(api.send(TOKEN).json()["data"]["tokenType"])


def token_to_other_key(api: Api) -> int:
    other = proof(_url(api), key=ECKey.generate_key("P-256"))
    return api.twice(TOKEN, {"dpop": other})[1].status_code


def cache_control(api: Api) -> str | None:
    return api.send(TOKEN).headers.get("cache-control")
