"""Exit codes of the commands (design: Run, verdict, exit code)."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.core.outcomes import Verdict

EXIT_CODES: Mapping[Verdict, int] = {
    Verdict.CONFORMANT: 0,
    Verdict.NONCONFORMANT: 1,
    Verdict.INCOMPLETE: 3,
    Verdict.BROKEN: 5,
}


EXIT_INTERRUPTED = 130
