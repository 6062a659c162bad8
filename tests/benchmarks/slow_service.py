"""`python -m tests.benchmarks.slow_service MILLISECONDS`: the reference, each of whose answers takes so much longer."""

from __future__ import annotations

import sys

from conformance.reference.policy import Policy, Transport
from conformance.reference.registry import variant
from conformance.reference.server import serve
from conformance.reference.variants.answers import evolve

_LATENCY_S = int(sys.argv[1]) / 1000


@variant("L1", requirement="ENV-1", title="every answer takes longer")
def slower(policy: Policy) -> Policy:
    return evolve(policy, transport=Transport(latency_s=_LATENCY_S))


if __name__ == "__main__":
    sys.exit(serve(0, 0, variant="L1", as_json=True))
