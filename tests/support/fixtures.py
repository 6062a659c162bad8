"""The fixtures that tests of several rooms share."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.core.model import Run
from conformance.runner.embedded_reference import EmbeddedReference, environment
from tests.support import runs
from tests.support.commands import Desk, shared_reference
from tests.support.scripted_target import ScriptedTarget, reply


@pytest.fixture(scope="session")
def scripted() -> type[ScriptedTarget]:
    return ScriptedTarget


@pytest.fixture(scope="session")
def answer() -> Callable[..., bytes]:
    """`answer(status, value, Header_Name="...")`: the bytes of a well-formed answer."""
    return reply


@pytest.fixture
def unused_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A folder of the test's own, with the commands and a reference service at hand."""
    return Desk(tmp_path, shared_reference())


@pytest.fixture(scope="module")
def served() -> Iterator[EmbeddedReference]:
    """The reference service, with its secrets in the environment of this process."""
    service = shared_reference()
    with environment(service.environment):
        yield service


@pytest.fixture(scope="session")
def small() -> Run:
    """A run with each outcome."""
    return runs.small()


@pytest.fixture(scope="session")
def big() -> Run:
    """A run of 1,000 results and 20,000 exchanges."""
    return runs.big()


@pytest.fixture(scope="session")
def hostile() -> Run:
    """A run whose every text is hostile."""
    return runs.hostile()
