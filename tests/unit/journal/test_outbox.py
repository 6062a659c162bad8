"""The journal of a process without a folder: its lines wait until they are sent."""

from __future__ import annotations

import json

from conformance.journal.lines import ResourceCreated
from conformance.journal.outbox import Outbox


def test_each_line_is_sent_once_and_in_order() -> None:
    """What was drained is not sent again; closing loses nothing that still waits."""
    outbox = Outbox()
    assert outbox.drain() == b""
    for number in range(3):
        outbox.append(ResourceCreated("cart", "open", (f"c{number}",)))
    outbox.close()
    lines = [json.loads(line) for line in outbox.drain().splitlines()]
    assert [(line["kind"], line["ids"]) for line in lines] == [("created", [f"c{number}"]) for number in range(3)]
    assert outbox.drain() == b""
