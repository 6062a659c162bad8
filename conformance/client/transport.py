"""Sends requests to a target unchanged, byte for byte, and reads bounded answers.

No cookie is kept, no redirect followed, no request repeated, and no proxy read from the environment.
"""

from __future__ import annotations

import errno
import os
import ssl
import time
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, urlsplit

import msgspec

from conformance.client.http_connection import MalformedRequest
from conformance.client.http_pool import HttpPool
from conformance.client.raw_socket import Moment, abandon
from conformance.client.request import Wire
from conformance.core import strict_json as strictjson
from conformance.core.file_handles import with_remedy
from conformance.profile.model import Tls

MAX_BODY: Final = 4 * 1024 * 1024
USER_AGENT: Final = "commerce-conformance"
SUITE_HEADERS: Final = (("User-Agent", USER_AGENT), ("Accept-Encoding", "gzip"))
_NO_TLS: Final = Tls()


class RawAnswer(msgspec.Struct, frozen=True):
    """The answer: `status` None and `trouble` set where it is incomplete."""

    status: int | None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    truncated: bool = False
    trouble: str = ""
    duration_s: float = 0.0


_RESOURCE_ERRORS: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS)
_NO_LOCAL_PORT: Final = (*_RESOURCE_ERRORS, errno.EADDRNOTAVAIL)
"""EADDRNOTAVAIL counts only after the target has answered: before that it can mean that IPv6 is off."""
_MAX_CHAINED_ERRORS: Final = 50
"""Maximum number of chained exceptions that are examined."""


class Transport:
    """Sends wires to one base URL. Use as an async context manager."""

    def __init__(self, base_url: str, *, tls: Tls = _NO_TLS, timeout_s: float = 10.0, proxy: str = "") -> None:
        parts = urlsplit(base_url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.prefix = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
        self._verify = ssl_context(tls) if parts.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._timeout_s = timeout_s
        self._proxy = proxy
        self.pool = HttpPool(self.origin, MAX_BODY, tls=self._verify, proxy=proxy)
        self.pool.keeps_refused = False  # until it is known that the target reads what it refuses
        self._resource_errors: Sequence[int] = _RESOURCE_ERRORS

    async def __aenter__(self) -> Transport:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.pool.aclose()

    async def send(self, wire: Wire, *, fresh: bool = False) -> RawAnswer:
        """One request, and its answer up to MAX_BODY bytes within the timeout. No behaviour of a target raises.

        `fresh`: on a new connection. A target may close a kept one just when the request is sent.

        Raises RuntimeError for a wire that no client can write, and where this machine lacks resources to send it.
        """
        started = time.perf_counter()
        names = {name.lower() for name, _ in wire.headers}
        suite_headers = tuple(header for header in SUITE_HEADERS if header[0].lower() not in names)
        try:
            response = await self.pool.request(
                wire.method, wire.target, (*suite_headers, *wire.headers), wire.content, self._timeout_s, fresh=fresh
            )
        except TimeoutError:
            trouble = f"no complete answer within {self._timeout_s:g} s"
        except MalformedRequest as error:
            raise RuntimeError(f"the client cannot write {wire.method} {wire.target}: {error}") from error
        except OSError as error:
            if shortage := _resource_shortage(error, self._resource_errors):
                raise RuntimeError(with_remedy(f"this machine cannot open a connection: {shortage}")) from error
            trouble = _describe(error)
        except ValueError as error:
            trouble = f"the answer cannot be read: {_describe(error)}"
        else:
            self._resource_errors = _NO_LOCAL_PORT
            return RawAnswer(
                response.status, response.headers, response.body, response.truncated, "", time.perf_counter() - started
            )
        return RawAnswer(None, trouble=trouble, duration_s=time.perf_counter() - started)

    def keep_refused_connections(self) -> None:
        """From now on a connection is used again after a call that was refused: the target has read its content."""
        self.pool.keeps_refused = True

    async def abandon(self, wire: Wire, moment: Moment) -> bool:
        """Sends a request and abandons it at `moment`; returns whether it was reached."""
        return await abandon(self.origin, wire, moment, tls=self._verify, timeout_s=self._timeout_s, proxy=self._proxy)


def ssl_context(tls: Tls) -> ssl.SSLContext:
    """Created once: reading the certificate store takes longer than a request."""
    context = ssl.create_default_context(cafile=str(tls.ca_file) if tls.ca_file else None)
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _resource_shortage(error: BaseException, resource_errors: Sequence[int]) -> str:
    """The resource that this machine lacks, by any exception of the chain; empty for other errors."""
    pending = [error]
    for _ in range(_MAX_CHAINED_ERRORS):
        if not pending:
            break
        current = pending.pop()
        if isinstance(current, OSError) and current.errno is not None and current.errno in resource_errors:
            return os.strerror(current.errno)
        chained = (current.__cause__, current.__context__, *getattr(current, "exceptions", ()))
        pending += [other for other in chained if isinstance(other, BaseException)]
    return ""


def _describe(error: Exception) -> str:
    """The error of any library as text; it is truncated only after redaction."""
    if isinstance(error, ConnectionError) and error.errno:  # asyncio's text has the call's name and the address
        return os.strerror(error.errno)
    return str(strictjson.replace_surrogates(str(error) or type(error).__name__))
