"""A scripted HTTP target on loopback, for the tests of the floors that send: it keeps what arrives, byte for byte."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("no clock", settings(), deadline=None)  # the machine may be busy: no test is about time
settings.load_profile("no clock")

LONG = {
    # what runs whole targets by the dozen: of these files every so-manieth test, 0 none, unless --long is given
    "hostile/canary/test_no_canary": 6,
    "integration/cli/test_resume.py": 8,
    "hostile/test_hostile_targets.py": 20,
    "integration/interruptions/": 0,
    "hostile/load/": 0,
    "integration/setup/test_doctor.py": 4,
    "integration/setup/test_drafts_of": 20,
    "integration/setup/test_plan.py": 3,
    "integration/setup/test_setup_commands.py": 3,
    "matrix/strangers/test_drawn_profiles.py": 15,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="all of the tests that run whole targets by the dozen")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The ordinary run takes a part of the long ones, the same each time; `.ci/long` takes them all."""
    if config.getoption("--long"):
        return
    seen: dict[str, int] = {}
    left_out = []
    for item in items:
        name = item.path.relative_to(config.rootpath / "tests").as_posix() if "tests" in item.path.parts else ""
        every = next((share for start, share in LONG.items() if name.startswith(start)), 1)
        seen[name] = seen.get(name, 0) + 1
        if "::" not in "".join(config.args) and (not every or (seen[name] - 1) % every):
            left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


@dataclass(frozen=True)
class Arrived:
    """One request as it stood on the wire. `connection` numbers the TCP connections."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    head: bytes
    connection: int

    def all(self, name: str) -> list[str]:
        return [value for known, value in self.headers if known.lower() == name.lower()]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Script = Callable[..., Any]
"""Gets the Arrived, and the StreamWriter where it takes two; gives bytes to send, or None to hang up."""


def reply(status: int = 200, value: Any = None, *, body: bytes | None = None, **headers: str) -> bytes:
    """A well-formed answer with a JSON value or a raw body; `_` in a header's name stands for `-`."""
    content = body if body is not None else json.dumps({"data": {}} if value is None else value).encode()
    told = {"Content-Type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
    lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {text}" for name, text in told.items())]
    lines.append(f"Content-Length: {len(content)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + content


@dataclass
class ScriptedTarget:
    """`async with ScriptedTarget(script) as target:`; `target.arrived` is everything that came."""

    script: Script = lambda arrived: reply()
    arrived: list[Arrived] = field(default_factory=list)
    connections: int = 0
    url: str = ""
    in_flight: int = 0
    most_in_flight: int = 0

    async def __aenter__(self) -> ScriptedTarget:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=2**24)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            await self._serve(reader, writer, self.connections)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        while True:
            arrived = await self._read(reader, connection)
            self.arrived.append(arrived)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            try:
                arguments = (arrived, writer)[: len(inspect.signature(self.script).parameters)]
                answer = self.script(*arguments)
                if isinstance(answer, Awaitable):
                    answer = await answer
            finally:
                self.in_flight -= 1
            if answer is None:
                return
            writer.write(answer)
            await writer.drain()

    async def _read(self, reader: asyncio.StreamReader, connection: int) -> Arrived:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        pairs = tuple((name, value) for name, _, value in (line.partition(": ") for line in lines))
        method, target, _ = first.split(" ", 2)
        length = next((int(value) for name, value in pairs if name.lower() == "content-length"), 0)
        body = await reader.readexactly(length)
        return Arrived(method, target, pairs, body, head, connection)


@pytest.fixture(scope="session")
def scripted() -> type[ScriptedTarget]:
    return ScriptedTarget


@pytest.fixture(scope="session")
def answer() -> Callable[..., bytes]:
    """`answer(status, value, Header_Name="...")`: the bytes of a well-formed answer."""
    return reply
