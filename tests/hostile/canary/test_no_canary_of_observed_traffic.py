"""Traffic of other clients holds secrets and people's data that nobody announced: none is in any file."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.client.redaction.personal_data import is_card, is_iban
from tests.support.recordings import JSON, entry, har, pairs, profile

KEY: Final = "profile-key-Zx81-Quux"


def token(length: int = 30) -> str:
    return "Q7" + secrets.token_urlsafe(length).replace("_", "x").replace("-", "y")[: length - 2]


def jwt() -> str:
    parts = ({"alg": "ES256", "typ": "JWT"}, {"sub": token(), "iat": 1})
    return (
        ".".join(base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts) + "." + token(40)
    )


def card() -> str:
    digits = "4" + str(secrets.randbelow(10**14)).zfill(14)
    return next(digits + check for check in "0123456789" if is_card(digits + check))


def iban() -> str:
    account = str(secrets.randbelow(10**18)).zfill(18)
    return next(f"DE{n:02d}{account}" for n in range(2, 99) if is_iban(f"DE{n:02d}{account}"))


def person() -> str:
    return f"{'Aurelia'[: 4 + secrets.randbelow(4)]} Vanto{''.join(secrets.choice('abcdefgh') for _ in range(8))}"


KINDS: Final = {
    "key of the profile": ("api_key", lambda: KEY),
    "unknown key": ("api_key", token),
    "bearer": ("authorization", lambda: f"Bearer {token()}"),
    "basic": ("authorization", lambda: "Basic " + base64.b64encode(f"jane:{token(12)}".encode()).decode()),
    "session cookie": ("session", token),
    "access token": ("access_token", token),
    "refresh token": ("refresh_token", token),
    "id token": ("id_token", jwt),
    "code": ("code", lambda: "ac_" + token(26)),
    "verifier": ("code_verifier", lambda: token(43)),
    "proof": ("dpop", jwt),
    "ticket": ("ticket", lambda: "tkt_" + token(26)),
    "password": ("password", lambda: f"Tr0ub&dor {token(6)}"),
    "client secret": ("client_secret", lambda: f"sk_live_{token(24)}"),
    "private key": ("key", lambda: f"-----BEGIN PRIVATE KEY-----\n{token(60)}\n-----END PRIVATE KEY-----"),
    "e-mail": ("contact", lambda: f"aurelia.{token(10)}@example.com"),
    "name": ("full_name", person),
    "card": ("number", card),
    "card with blanks": ("pan", lambda: " ".join((c := card())[n : n + 4] for n in range(0, 16, 4)) or c),
    "phone": ("phone", lambda: "+49 170 " + str(secrets.randbelow(10**8)).zfill(8)),
    "account": ("account", iban),
    "cloud key": ("aws", lambda: "AKIA" + "".join(secrets.choice("ABCDEFGHJKLMNPQRSTUVWXYZ234567") for _ in range(16))),
}
ORDER: Final = "/api/v1/open/storefront/orders/{}/after-sales"


def _request_header(name: str, value: str) -> dict[str, Any]:
    header = {"session": "Cookie", "dpop": "DPoP"}.get(
        name, "Authorization" if name in ("api_key", "authorization") else "X-Debug"
    )
    text = f"sid={value}" if header == "Cookie" else f"Bearer {value}" if name == "api_key" else value
    return entry(sent={header: text.replace("\n", " "), "Accept": "*/*"})


def _path(_: str, value: str) -> dict[str, Any]:
    return entry(ORDER.format(quote(value, safe="")), method="POST", body="{}")


def _query(name: str, value: str) -> dict[str, Any]:
    return entry(f"/api/v1/search?q=gift&{name}={quote(value, safe='')}")


def _request_body(name: str, value: str) -> dict[str, Any]:
    path = "/api/v1/oauth/token" if name.startswith("code") else ORDER.format("order_1")
    return entry(path, method="POST", body=json.dumps({"reason": "broken", "nested": [{name: value}]}))


def _response_header(_: str, value: str) -> dict[str, Any]:
    return entry(headers={**JSON, "X-Info": value.replace("\n", " ")})


def _response_body(name: str, value: str) -> dict[str, Any]:
    path, method = ("/api/v1/oauth/token", "POST") if name == "code" else ("/api/v1/runtime-config", "GET")
    return entry(path, method=method, text=json.dumps({"data": {"id": "cfg_1", name: value}}))


def _error_text(_: str, value: str) -> dict[str, Any]:
    """The value of a query, echoed in the text of an error and in a body of the wrong shape."""
    found = _query("token", value)
    found["response"] |= {"status": 400, "headers": pairs(JSON)}
    found["response"]["content"] = {"size": 1, "text": json.dumps({"message": f"bad value {value} there"})}
    return found


PLACES: Final = (_request_header, _path, _query, _request_body, _response_header, _response_body, _error_text)


def spellings(value: str) -> Iterator[str]:
    """As sent, as JSON and URLs write it, and its characteristic part."""
    core = value.removeprefix("Bearer ").removeprefix("Basic ").replace("-----BEGIN PRIVATE KEY-----\n", "")
    for text in {value, core, core.partition("\n")[0]}:
        yield from (text, json.dumps(text)[1:-1], quote(text, safe=""), quote(text))


@pytest.mark.parametrize("bodies", ["redacted", "shape"])
def test_no_canary_of_observed_traffic_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bodies: str) -> None:
    """More than 20 kinds in 6 places and in echoes: none in any file or line, whatever a body is kept as."""
    key = '[credentials.full]\nsecret = { env = "SHOP_KEY" }\nscopes = []\n'
    monkeypatch.setenv("SHOP_KEY", KEY)
    planted = {(kind, place.__name__): (name, make()) for kind, (name, make) in KINDS.items() for place in PLACES}
    places = {place.__name__: place for place in PLACES}
    entries = [places[place](name, value) for (_, place), (name, value) in planted.items()]
    (tmp_path / "a.har").write_bytes(har(entries))
    words = ["--profile", str(profile(tmp_path, key)), "--har", str(tmp_path / "a.har"), "--bodies", bodies, "-v"]
    done = CliRunner().invoke(main, ["observe", *words, "--report-dir", str(tmp_path / "out")])
    assert done.exit_code in (1, 3), done.output
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    texts = {path.name: path.read_text(encoding="utf-8") for path in files} | {"terminal": done.output}
    assert len(files) > 8
    found = {
        (*where, name)
        for where, (_, value) in planted.items()
        for name, text in texts.items()
        if any(spelling in text for spelling in spellings(value))
    }
    assert found == set()
    assert "«credential:full»" in texts["journal.ndjson"].encode().decode("unicode-escape")
