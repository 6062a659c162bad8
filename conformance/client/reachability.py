"""Checks that an HTTP service answers at the base URL, before anything is judged."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Callable
from typing import Final

from conformance.client.http_connection import ConnectionLost, MalformedAnswer
from conformance.client.http_pool import HttpPool
from conformance.client.transport import SUITE_HEADERS, Transport
from conformance.core.errors import Unreachable
from conformance.core.limited_call import start_call
from conformance.profile.model import Profile

_PATHS: Final = ("/api/v1/runtime-config", "/api/v1/open/identity", "/api/v1/runtime-config")
"""What is asked for, one after another until anything is answered: one broken operation is judged by the run."""
_HEADERS: Final = (*SUITE_HEADERS, ("Accept", "application/json"))
_TLS_REFUSALS: Final = ("_ALERT_", "UNRECOGNIZED_NAME", "UNSUPPORTED_PROTOCOL", "SIGALG")
"""Parts of OpenSSL's reasons that only a service which speaks TLS can cause."""
_NOT_IN_FORCE: Final = (9, 10)
"""OpenSSL's codes of a certificate that is not yet valid, or no more."""
_WRONG_PORT: Final = "is it the right port, and http or https?"
_NO_CLIENT_CERTIFICATE: Final = (
    "The suite has no client certificate: if one is required, state in base_url a proxy that presents it"
)
"""With TLS 1.3 a service refuses a client without one when the handshake has ended, maybe without a word."""
_LONGEST_S: Final = 10.0
_SPARE_S: Final = 1.0


def reach(profile: Profile, deadline_s: float | None = None) -> None:
    """Returns on any HTTP answer within the deadline of the run. Raises Unreachable with the problem and a hint."""
    start_reach(profile, deadline_s)()


def start_reach(profile: Profile, deadline_s: float | None = None) -> Callable[[], None]:
    """Starts the request in a thread; the returned function waits for its result, as `reach` does."""
    timeout_s = min(profile.limits.timeout_s, _LONGEST_S, deadline_s or _LONGEST_S)
    attempt = _Attempt(profile, timeout_s)
    until = time.monotonic() + timeout_s + _SPARE_S  # a limit on all attempts
    result = start_call(lambda: asyncio.run(attempt.ask()), "reach")

    def wait() -> None:
        try:
            reached = result(until - time.monotonic())
        except TimeoutError:
            reached = False
        if not reached:
            raise Unreachable(attempt.problem, where=profile.base_url, hint=attempt.hint)

    return wait


class _Attempt:
    """`problem` and `hint` say why nothing answered."""

    def __init__(self, profile: Profile, timeout_s: float) -> None:
        self._profile = profile
        self._timeout_s = timeout_s
        self._set_problem(f"connected, but no answer within {timeout_s:g} s", "is this an HTTP service?")

    async def ask(self) -> bool:
        """Whether anything answered."""
        profile = self._profile
        try:
            transport = Transport(
                profile.base_url, tls=profile.tls, timeout_s=self._timeout_s, proxy=profile.limits.proxy
            )
            for path in _PATHS:
                if await self._ask_once(transport.pool, transport.prefix + path):
                    return True
        except TimeoutError:  # the problem that was set first
            return False
        except (OSError, ValueError) as error:
            self._set_problem(f"no HTTP conversation: {_describe(error)}", _tls_hint(error) or self.hint)
        return False

    async def _ask_once(self, pool: HttpPool, target: str) -> bool:
        """Raises TimeoutError where the connection is there, and no answer."""
        try:
            async with asyncio.timeout(self._timeout_s):
                connection = await pool.connect()
        except TimeoutError:
            problem = f"no connection within {self._timeout_s:g} s"
            own_hint = f"is this its address, and reachable from here?{self._scheme_hint}"
            self._set_problem(problem, self._proxy_hint or own_hint)
            return False
        except OSError as error:
            hint = self._proxy_hint or "is the service running, and is this its address?"
            if isinstance(error, ssl.SSLError | ConnectionResetError):
                hint = _tls_hint(error) or f"{hint}{self._scheme_hint}"
            self._set_problem(f"cannot connect: {_describe(error)}", hint)
            return False
        try:
            return bool(await pool.get_status(connection, target, _HEADERS, self._timeout_s))
        except (MalformedAnswer, ConnectionLost, ConnectionResetError) as error:
            hint = f"is it the right port? {_NO_CLIENT_CERTIFICATE}" if self._is_https else _WRONG_PORT
            self._set_problem(f"does not speak HTTP: {_describe(error)}", hint)
            return False

    @property
    def _proxy_hint(self) -> str:
        """What may be wrong where requests go through a proxy; empty without one."""
        proxy = self._profile.limits.proxy
        return f"requests go through the proxy {proxy}: is it running, and does it reach the service?" if proxy else ""

    @property
    def _scheme_hint(self) -> str:
        """A port of http lets a client of https wait, or answers what is not TLS."""
        return " Does it speak TLS? If not, write http://" if self._is_https else ""

    @property
    def _is_https(self) -> bool:
        return self._profile.base_url.lower().startswith("https:")

    def _set_problem(self, problem: str, hint: str) -> None:
        self.problem, self.hint = problem, hint


def _tls_hint(error: Exception) -> str:
    """What the certificate lacks, or what the service may miss in the client's handshake; empty for other errors."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _NOT_IN_FORCE:
            return "renew the certificate, or state verify = false in [tls]"
        return "state its CA in [tls] ca_file, and in base_url a name that the certificate holds"
    if isinstance(error, ssl.SSLError) and any(part in (error.reason or "") for part in _TLS_REFUSALS):
        return (
            "it speaks TLS, and refuses this client, which offers TLS 1.2 and 1.3 and names the host of base_url. "
            + _NO_CLIENT_CERTIFICATE
        )
    return ""


def _describe(error: Exception) -> str:
    """The words of the operating system where the error is one of its own, without the addresses that were tried."""
    if isinstance(error, OSError) and type(error).__module__ == "builtins" and (error.errno or 0) > 0:
        return os.strerror(error.errno or 0)
    return str(error) or type(error).__name__
