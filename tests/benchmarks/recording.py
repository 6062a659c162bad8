"""`python -m tests.benchmarks.recording FILE URL CONTROL_URL`: one run; every request that it sends is kept."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from conformance.client.request import Wire
from conformance.client.transport import RawAnswer, Transport
from conformance.engine.in_process import judge, reference_options
from tests.benchmarks.common import PROFILE, scratch_folder

_kept: list[Wire] = []
_send = Transport.send


async def _keeping(self: Transport, wire: Wire, *, fresh: bool = False) -> RawAnswer:
    _kept.append(wire)
    return await _send(self, wire, fresh=fresh)


def main() -> None:
    Transport.send = _keeping  # type: ignore[method-assign]
    file, url, control = sys.argv[1:4]
    with scratch_folder() as folder:
        judge(reference_options(url, control, "", PROFILE, Path(folder) / "run"), keep_journal=False)
    Path(file).write_bytes(pickle.dumps(_kept))


if __name__ == "__main__":
    main()
