"""Runs the observing proxy: `conformance observe --listen`, and in a thread for tests."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from conformance.client.transport import ssl_context
from conformance.core import interrupts
from conformance.core.errors import ConformanceError, UsageError
from conformance.core.model import Run
from conformance.core.option import parse_duration
from conformance.runner.observe.har_files import finish_run
from conformance.runner.observe.live_line import LiveLine
from conformance.runner.observe.proxy import Proxy
from conformance.runner.observe.traffic_run import TrafficOptions, TrafficRun

_START_S: Final = 30.0
_LONGEST_S: Final = 2.0**32


def parse_address(text: str) -> tuple[str, int]:
    """`127.0.0.1:8899` or `[::1]:8899`; port 0 takes a free one. Raises UsageError."""
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise UsageError(
            f"{text!r} is not an address", where="--listen", hint="write HOST:PORT, such as 127.0.0.1:8899"
        )
    return host.strip("[]"), int(port)


def observe_proxy(
    listen: str, options: TrafficOptions, line: LiveLine, *, duration: str | None = None, strict: bool = False
) -> tuple[Run, Path, int]:
    """Judges what goes through until a signal or the end of `duration`: the run, its folder, the exit code."""
    host, port = parse_address(listen)
    seconds = parse_duration(duration, "--for") if duration else None
    if seconds is not None and not 0 < seconds <= _LONGEST_S:
        raise UsageError(f"{duration!r} is out of bounds", where="--for", hint=f"more than 0, at most {_LONGEST_S:g} s")
    traffic = TrafficRun(options, [f"proxy {listen}"], is_current=True)
    try:
        with interrupts.raise_on_signals():
            problem = asyncio.run(_serve(traffic, host, port, line, seconds, strict=strict))
            interrupts.ignore_first_signal()
            return finish_run(traffic, problem)
    except UsageError:
        traffic.discard()
        raise


async def _serve(
    traffic: TrafficRun, host: str, port: int, line: LiveLine, seconds: float | None, *, strict: bool
) -> Exception | None:
    proxy = await _start(traffic, host, port, strict=strict)
    loop = asyncio.get_running_loop()
    for number in interrupts.stopping_signals():
        loop.add_signal_handler(number, proxy.ended.set)
    traffic.begin()
    address = f"http://{_host_text(host)}:{proxy.port_in_use}{proxy.prefix}"
    line.print(f"listening on {address}: use it in place of {traffic.profile.base_url}; Ctrl-C ends and reports")
    with line.following(traffic):
        try:
            await asyncio.wait_for(proxy.ended.wait(), seconds)
        except TimeoutError:
            pass  # the time is over
        await proxy.stop()
    return proxy.problem


async def _start(traffic: TrafficRun, host: str, port: int, *, strict: bool) -> Proxy:
    """Raises UsageError where nothing can listen there."""
    proxy = Proxy(
        traffic.profile.base_url,
        traffic.record,
        tls=ssl_context(traffic.profile.tls) if traffic.profile.base_url.startswith("https:") else None,
        strict=strict,
    )
    try:
        await proxy.start(host, port)
    except OSError as error:
        hint = "choose another port; 0 takes a free one"
        raise UsageError(
            f"cannot listen: {error.strerror or error}", where=f"--listen {_host_text(host)}:{port}", hint=hint
        ) from None
    return proxy


def _host_text(host: str) -> str:
    return f"[{host}]" if ":" in host else host


class BackgroundProxy:
    """A proxy in a thread of its own, for tests: `base_url` while it listens, `run` after `stop`."""

    def __init__(self, options: TrafficOptions, *, strict: bool = False) -> None:
        self._traffic = TrafficRun(options, ["proxy of the tests"], is_current=True)
        self._strict = strict
        self._ready = threading.Event()
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self.base_url = ""

    def start(self) -> None:
        """Raises UsageError where nothing can listen."""
        self._thread.start()
        self._ready.wait(_START_S)
        if self._problem is not None:
            self._traffic.discard()
            raise self._problem

    @property
    def is_running(self) -> bool:
        """False once it has ended, by `stop` or by a problem such as a full disk."""
        return self._thread.is_alive()

    @property
    def label(self) -> str:
        """What the exchanges that are recorded now belong to, such as a test."""
        return self._traffic.label

    @label.setter
    def label(self, text: str) -> None:
        self._proxy.wait_until_judged()
        self._traffic.label = self._traffic.secrets.clean(text)

    @property
    def findings(self) -> Mapping[str, Sequence[str]]:
        """Label -> findings, each with its requirement and operation."""
        return self._traffic.findings_by_label

    def findings_of(self, label: str) -> Sequence[str]:
        """What was found in the exchanges with this label, once all of them are judged."""
        self._proxy.wait_until_judged()
        return self.findings.get(self._traffic.secrets.clean(label), ())

    def stop(self) -> tuple[Run, Path, int]:
        """Ends the proxy and writes the reports."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: a problem has ended the proxy already
            self._loop.call_soon_threadsafe(self._proxy.ended.set)
        self._thread.join()
        return finish_run(self._traffic, self._problem)

    async def _serve(self) -> None:
        try:
            self._proxy = await _start(self._traffic, "127.0.0.1", 0, strict=self._strict)
            self._traffic.begin()
        except ConformanceError as problem:
            self._problem = problem
            self._ready.set()
            return
        self._loop = asyncio.get_running_loop()
        self.base_url = f"http://127.0.0.1:{self._proxy.port_in_use}{self._proxy.prefix}"
        self._ready.set()
        await self._proxy.ended.wait()
        await self._proxy.stop()
        self._problem = self._proxy.problem
