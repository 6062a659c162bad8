"""The control app: fixtures, ground truth and the rate limit switch, on a separate port that is never public.

Every path may carry the prefix of a target, as on the public app: `/F024/fixtures/cart/open`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial

from sqlalchemy import Connection, delete, select
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from conformance.core.errors import UsageError
from conformance.reference.call import JsonObject
from conformance.reference.fixtures import MAKERS, OptionsError
from conformance.reference.hub import Hub, Target
from conformance.reference.random_targets.choices import target_from
from conformance.reference.tables import effects, objects

_CREATED_BY = {"createInstallationWebhook": "updateInstallationWebhook"}
"""For operations that create: one whose path names what they created."""
MAX_FIXTURES = 100
"""Maximum number of fixtures in one request."""


def control_app(hub: Hub) -> ASGIApp:
    """An ASGI application; answers 400 to bad options and 404 to unknown kinds, states and targets."""
    inner = Starlette(
        routes=[
            Route("/health", _health),
            Route("/credentials", _credentials),
            Route("/fixtures/{kind}/{state}", _fixture, methods=["POST"]),
            Route("/fixtures/{kind}/{id}", _remove, methods=["DELETE"]),
            Route("/effects/{operation}", _effects),
            Route("/rate-limit", _rate_limit, methods=["POST", "DELETE"]),
            Route("/targets/{name}", _register, methods=["PUT"]),
        ]
    )

    async def route_by_prefix(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        target, path = hub.find(scope.get("raw_path") or scope["path"].encode())
        state = {**scope.get("state", {}), "target": target, "hub": hub}
        await inner({**scope, "path": path.decode("latin-1"), "raw_path": path, "state": state}, receive, send)

    return route_by_prefix


def _target(request: Request) -> Target:
    target: Target = request.state.target
    return target


async def _options(request: Request) -> JsonObject:
    body = await request.body()
    value = json.loads(body) if body else {}
    if not isinstance(value, dict):
        raise OptionsError("options must be a JSON object")
    return value


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok", "target": _target(request).name})


async def _credentials(request: Request) -> Response:
    return JSONResponse(_target(request).keys.secrets)


async def _fixture(request: Request) -> Response:
    maker = MAKERS.get(request.path_params["kind"], {}).get(request.path_params["state"])
    if maker is None:
        return JSONResponse({"error": "no such fixture"}, 404)

    count = int(request.query_params.get("count", 0))

    boundary = _target(request).boundary

    def make_one(db: Connection, options: JsonObject) -> JsonObject:
        members = maker(db, options)
        return dict(boundary.to_public(members)) if boundary else members

    def make(options: JsonObject) -> JsonObject:
        with _target(request).store.write() as db:
            return (
                {"items": [make_one(db, options) for _ in range(min(count, MAX_FIXTURES))]}
                if count
                else make_one(db, options)
            )

    return await _respond(make, request)


async def _remove(request: Request) -> Response:
    condition = objects.c.id == request.path_params["id"]

    def remove() -> int:
        with _target(request).store.write() as db:
            return int(db.execute(delete(objects).where(condition)).rowcount)

    return JSONResponse({}, 200 if await _target(request).run(remove) else 404)


async def _respond(work: Callable[[JsonObject], JsonObject], request: Request) -> Response:
    try:
        return JSONResponse(await _target(request).run(partial(work, await _options(request))))
    except (ValueError, KeyError, TypeError) as error:
        return JSONResponse({"error": f"bad options: {error}"}, 400)


async def _effects(request: Request) -> Response:
    """The effects of an operation: overall, on one path id, or with a text somewhere in its body."""
    operation, policy = request.path_params["operation"], _target(request).policy
    form = policy.counters.get(operation, "count")
    query = select(effects.c.at).order_by(effects.c.number)
    if policy.reads_lag_s:
        query = query.where(effects.c.at <= time.time() - policy.reads_lag_s)
    if form != "shared":
        query = query.where(effects.c.operation == operation)
        if "id" in request.query_params:
            query = query.where(effects.c.resource == _own_id(request))
        if "marker" in request.query_params:
            query = query.where(effects.c.detail.contains(request.query_params["marker"], autoescape=True))

    def times() -> list[float]:
        with _target(request).store.read() as db:
            return [float(at) for at in db.execute(query).scalars()]

    return _counter_answer(form, await _target(request).run(times))


def _counter_answer(form: str, times: list[float]) -> Response:
    if form == "log":
        return JSONResponse({"events": times})
    if times or form not in ("absent", "not_found"):
        return JSONResponse({"count": len(times)})
    return JSONResponse({}) if form == "absent" else JSONResponse({"error": "no such counter"}, 404)


def _own_id(request: Request) -> str:
    """The requested id in the reference's own format."""
    public_id, target = request.query_params["id"], _target(request)
    operation = request.path_params["operation"]
    route = target.policy.routes.get(_CREATED_BY.get(operation, operation))
    if target.boundary is None or route is None:
        return public_id
    path_values = {part[1:-1]: public_id for part in route.segments if part.startswith("{")}
    return next(iter(target.boundary.path_to_reference(path_values).values()), public_id)


async def _rate_limit(request: Request) -> Response:
    limiter = _target(request).limiter
    if request.method == "DELETE":
        await _target(request).run(limiter.restore)
        return JSONResponse({})

    def switch(options: JsonObject) -> JsonObject:
        limiter.set_limit(int(options["limit"]), float(options["window_s"]))
        return options

    return await _respond(switch, request)


async def _register(request: Request) -> Response:
    """Registers a random target from its choices in JSON; answers 400 where they are invalid."""
    hub: Hub = request.state.hub
    try:
        hub.register(request.path_params["name"], target_from(json.loads(await request.body())))
    except (ValueError, UsageError) as error:
        return JSONResponse({"error": str(error)}, 400)
    return JSONResponse({}, 201)
