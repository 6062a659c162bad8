"""Defaults of options that neither the command line nor the profile sets; each is defined only here."""

from __future__ import annotations

from typing import Final

CONCURRENCY: Final = 16
"""Requests in flight at once."""
MAX_CONCURRENCY: Final = 512
MIN_RATE: Final = 0.1
"""Requests a second, on average: a run of some 5,000 requests would take 14 hours."""
DEPTHS: Final = ("quick", "standard", "deep")
"""How much a run asks."""
EXAMPLES: Final = 8
"""Generated requests for each property in standard depth."""
DEEP_EXAMPLES: Final = 32
QUICK_REQUESTS: Final = 600
"""The number of requests that a run in quick depth is planned for."""
MAX_WORKERS: Final = 64
"""Processes of one run, and of the reference service."""
MAX_SHARDS: Final = 64
PROBE_REQUESTS: Final = 600
"""The maximum, repeated requests included."""
PROBE_DEADLINE_S: Final = 240
CERTIFICATE_DAYS: Final = 90
"""The validity of a certificate."""
