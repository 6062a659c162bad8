"""Fixture providers of the stranger: a Python callable, and a program that prints JSON."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from typing import Any


def made(kind: str) -> dict[str, Any]:
    """A new thing of that kind; HALFMOON_ADMIN names the admin port."""
    request = urllib.request.Request(f"{os.environ['HALFMOON_ADMIN']}/mache/{kind}", method="POST", data=b"{}")
    with urllib.request.urlopen(request, timeout=10) as answer:
        thing: dict[str, Any] = json.load(answer)
    return thing


def order(context: dict[str, Any]) -> dict[str, Any]:
    """An order with one line."""
    return made("bestellung")


if __name__ == "__main__":
    print(json.dumps(made(sys.argv[1])))
