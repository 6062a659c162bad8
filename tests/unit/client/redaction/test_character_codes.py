"""Secrets in the codes of their characters, as Node prints a buffer and dumps print bytes."""

from __future__ import annotations

import json
import time

import pytest

from conformance.client.redaction.secrets import Secrets

KEY = "sk_9f86d081884c7d659a2feaa0c55ad015"
RAW = KEY.encode()


@pytest.mark.parametrize(
    "told",
    [
        json.dumps({"type": "Buffer", "data": list(RAW)}),
        json.dumps(list(RAW), separators=(",", ":")),
        json.dumps(list(RAW), indent=2),
        RAW.hex(":"),
        RAW.hex(" ").upper(),
        ", ".join(map(hex, RAW)),
        json.dumps(list(KEY)),
        str(list(KEY)),
        f"[{' '.join(map(str, RAW))}]",
        "\n".join(f"{at:08x}  {RAW[at : at + 16].hex(' ')}" for at in range(0, len(RAW), 16)),
    ],
)
def test_the_codes_of_a_key_are_redacted(told: str) -> None:
    secrets = Secrets()
    secrets.add_credential("full", KEY)
    text = f"before {told} behind"
    assert "full" in secrets.clean(text)
    assert secrets.cleaner([text])(text) == secrets.clean(text)
    assert "95" not in secrets.clean(text) and "5f" not in secrets.clean(text).lower()
    assert secrets.clean(text).startswith("before ")
    assert secrets.clean(text).endswith(" behind")


def test_other_numbers_stay() -> None:
    secrets = Secrets()
    secrets.add_credential("full", KEY)
    text = json.dumps({"prices": [100, 200, 100, 150, 180, 120, 99, 12], "hash": "ab:cd:ef:01:23:45:67:89"})
    assert secrets.clean(text) == text


@pytest.mark.parametrize("piece", ["1,", "11 ", '"a",', "11" + " " * 98])
def test_long_runs_cost_no_square(piece: str) -> None:
    secrets = Secrets()
    secrets.add_credential("full", KEY)
    started = time.process_time()
    secrets.clean(piece * (100_000 // len(piece)))
    assert time.process_time() - started < 1
