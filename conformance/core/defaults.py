"""Values that hold where neither a command line nor a profile states one; each is written here only."""

from __future__ import annotations

from typing import Final

CONCURRENCY: Final = 16
"""Requests in flight at once."""
EXAMPLES: Final = 8
"""Generated requests for each property."""
MOST_WORKERS: Final = 64
"""Processes of one run, and of the reference service."""
MOST_SHARDS: Final = 64
PROBE_REQUESTS: Final = 400
"""At most, repeated ones included."""
PROBE_DEADLINE_S: Final = 240
CERTIFICATE_DAYS: Final = 90
"""How long a certificate is valid."""
