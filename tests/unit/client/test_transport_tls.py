"""The transport over https: whom it trusts is the profile's to say."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from conformance.client.transport import RawAnswer, Transport
from conformance.profile.model import Tls
from tests.support.tls_servers import self_signed
from tests.unit.client.test_transport import wire


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    return self_signed(tmp_path_factory.mktemp("tls"))


@pytest.mark.parametrize(("trust", "status"), [("ca_file", 200), ("unverified", 200), ("nobody", None)])
def test_certificates_are_judged_as_the_profile_says(
    certificate: tuple[Path, ssl.SSLContext], answer: Any, trust: str, status: int | None
) -> None:
    """The named CA is trusted, or nobody is asked, or an unknown certificate is trouble."""
    ca_file, context = certificate
    tls = {"ca_file": Tls(ca_file), "unverified": Tls(verify=False), "nobody": Tls()}[trust]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer(Connection="close"))
        await writer.drain()
        writer.close()

    async def main() -> RawAnswer:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, Transport(url, tls=tls, timeout_s=3) as transport:
            return await transport.send(wire())

    raw = asyncio.run(main())
    assert raw.status == status
    assert ("certificate" in raw.trouble.lower()) == (status is None)
