"""The service of a guide on two ports, with the control API that the guide describes.

`python -m tests.support.guided_reference.service kestrel` serves what `profiles/guides/kestrel.toml` describes.
"""

from __future__ import annotations

import argparse
import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from conformance.reference import carts, hosted, oauth, objects, orders, webhooks
from conformance.reference.call import JsonObject
from conformance.reference.hub import Hub
from conformance.reference.server import Service, listen, stop_on_signal, urls
from tests.support.guided_reference.guides import GUIDES, Guide
from tests.support.guided_reference.policies import policy_of_guide
from tests.support.paths import ROOT

Maker = Callable[[Guide, Connection, JsonObject], JsonObject]
_ORDER_STATES = {"delivered": "eligible", "placed": "ineligible", "cancelled": "ineligible", "after_sales": "requested"}
_SESSION_STATES = {"active": "consumed"}


def _cart(_guide: Guide, db: Connection, options: JsonObject) -> JsonObject:
    content = carts.new_cart(options.get("promotion", False))
    cart = objects.add(db, "cart", options.get("installation", "A"), options.get("state", "open"), content)
    return {"id": cart.id}


def _order(_guide: Guide, db: Connection, options: JsonObject) -> JsonObject:
    state = _ORDER_STATES[options.get("state", "delivered")]
    content = orders.order_of(carts.new_cart()["lines"])
    return {"id": objects.add(db, "order", options.get("installation", "A"), state, content).id}


def _webhook(_guide: Guide, db: Connection, options: JsonObject) -> JsonObject:
    data = webhooks.new_endpoint({"url": "https://hooks.example.com/fixture", "events": ["ORDER_CREATED"]})
    return {"id": objects.add(db, "wh", options.get("installation", "A"), "active", data).id}


def _session(_guide: Guide, db: Connection, options: JsonObject) -> JsonObject:
    state, ticket = options.get("state", "open"), secrets.token_urlsafe(24)
    session = objects.add(db, "session", "A", _SESSION_STATES.get(state, state), hosted.new_session(ticket))
    return {"sessionId": session.id, "ticket": ticket}


def _code(guide: Guide, db: Connection, options: JsonObject) -> JsonObject:
    client = options.get("client_id", next(iter(guide.clients)))
    members = {"client_id": client, "redirect_uri": options.get("redirect_uri", guide.clients[client][0])}
    bound = {"challenge": options["code_challenge"], "method": "S256", "jkt": options.get("dpop_jkt", "")}
    return {"code": oauth.new_code(db, {**members, **bound}), **members}


def _merchant(guide: Guide, _db: Connection, _options: JsonObject) -> JsonObject:
    return {"slug": guide.merchant}


_MAKERS: Mapping[str, Maker] = {
    "cart": _cart,
    "order": _order,
    "webhook": _webhook,
    "checkout-session": _session,
    "oauth-code": _code,
    "merchant": _merchant,
}


def control_app(hub: Hub, guide: Guide) -> Starlette:
    """The control API of a guide (`Fixtures`)."""

    async def fixture(request: Request) -> Response:
        options = json.loads(await request.body() or b"{}")
        make, store = _MAKERS[request.path_params["kind"]], hub.default.store
        with store.write() as db:
            return JSONResponse(make(guide, db, options))

    async def keys(_request: Request) -> Response:
        # an expired key is one that the service no longer knows
        return JSONResponse({**hub.keys.secrets, "expired": "sk_" + hub.keys.sign("expired")[:48]})

    return Starlette(routes=[Route("/fixtures/{kind}", fixture, methods=["POST"]), Route("/keys", keys)])


@dataclass(frozen=True, slots=True)
class Running:
    """The addresses of a running service."""

    base_url: str
    control_url: str


@contextmanager
def guided_service(guide: Guide, ports: tuple[int, int] = (0, 0)) -> Iterator[Running]:
    """The reference with the policy of a guide, in this process; ports 0 are free ones."""
    hub = Hub()
    hub.serve(guide.name, policy_of_guide(guide))
    sockets = listen("127.0.0.1", ports)
    service = Service(hub, sockets, control_app(hub, guide))
    assert service.start()
    try:
        yield Running(*urls(sockets))
    finally:
        service.stop()


@contextmanager
def guided_process(name: str) -> Iterator[Running]:
    """The same in a process of its own, on free ports."""
    options = ["-W", "ignore", "-m", __spec__.name, name, "--ports", "0", "0"]
    process = subprocess.Popen([sys.executable, *options], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield Running(*process.stdout.readline().split())
    finally:
        process.terminate()
        process.communicate(timeout=30)


def main() -> None:
    """`python -m tests.support.guided_reference.service kestrel`: serves until it is interrupted."""
    parser = argparse.ArgumentParser(description="Serve the reference as a guide describes it.")
    parser.add_argument("guide", choices=GUIDES)
    parser.add_argument("--ports", nargs=2, type=int, default=(8080, 8081), help="of the service and its control API")
    given = parser.parse_args()
    with stop_on_signal() as stopped, guided_service(GUIDES[given.guide], tuple(given.ports)) as running:
        print(running.base_url, running.control_url, flush=True)
        stopped.wait()


if __name__ == "__main__":
    main()
