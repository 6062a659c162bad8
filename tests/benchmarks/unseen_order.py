"""`conformance` with the order of another evidence file: `python -m tests.benchmarks.unseen_order FILE run ...`."""

from __future__ import annotations

import sys
from pathlib import Path

from conformance.cli import main
from conformance.runner import priority

if __name__ == "__main__":
    file = Path(sys.argv.pop(1))
    priority.EVIDENCE_FILE = file  # type: ignore[misc]
    main()
