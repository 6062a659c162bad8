"""One reference process serves every fault and every variant, each below a path prefix of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.runner import embedded_reference as embedded


@pytest.fixture(scope="session")
def served() -> Iterator[embedded.Embedded]:
    with embedded.reference() as service, embedded.environment(service.environment):
        yield service
