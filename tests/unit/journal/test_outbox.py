"""The journal of a process without a folder: its lines wait until they are sent."""

from __future__ import annotations

import json

from conformance.journal.outbox import Outbox


def test_each_line_is_sent_once_and_in_order() -> None:
    """What was drained is gone; closing loses nothing that still waits."""
    outbox = Outbox()
    assert outbox.drained() == b""
    for number in range(3):
        outbox.append("created", {"number": number})
    outbox.close()
    lines = [json.loads(line) for line in outbox.drained().splitlines()]
    assert [(line["kind"], line["number"]) for line in lines] == [("created", 0), ("created", 1), ("created", 2)]
    assert outbox.drained() == b""
