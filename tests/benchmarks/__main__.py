"""`python -m tests.benchmarks`: the figures, ratios first, as a table and as JSON.

python -m tests.benchmarks                          # all of them
python -m tests.benchmarks overhead startup -r 5    # some
python -m tests.benchmarks --quick --json out.json
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.common import Figure

ALL: Final = ("overhead", "latency", "startup", "growth", "scaling", "economy", "peers", "matrix", "observation")
_PACKAGES: Final = ("pytest", "hypothesis", "schemathesis", "httpx", "httptools", "pytest-xdist", "jsonschema-rs")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(ALL)} [all]")
    parser.add_argument("-r", "--rounds", type=int, default=5, help="pairs of each comparison [5]")
    parser.add_argument("--quick", action="store_true", help="one round, a part of the faults, no hundredfold")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in ALL]:
        parser.error(f"there is no benchmark {unknown[0]!r}; they are {', '.join(ALL)}")
    told: dict[str, Any] = {"machine": _machine(), "command": sys.argv[1:], "figures": {}, "details": {}}
    print(" · ".join(f"{name} {value}" for name, value in told["machine"].items()), flush=True)
    missed = 0
    for name in given.names or ALL:
        began = time.monotonic()
        details: dict[str, Any] = {}
        found: list[Figure] = importlib.import_module(f"tests.benchmarks.{name}").figures(
            given.rounds, given.quick, details
        )
        print(f"\n{name} ({time.monotonic() - began:.0f} s)")
        for figure in found:
            print(figure.line, flush=True)
        missed += sum(figure.met is False for figure in found)
        told["figures"][name] = [asdict(figure) for figure in found]
        told["details"][name] = details
    if given.json is not None:
        given.json.write_text(json.dumps(told, indent=1, default=str) + "\n", encoding="utf-8")
    print(f"\n{missed} goals missed" if missed else "\nall goals met")
    return 0


def _machine() -> dict[str, Any]:
    return {
        "Python": platform.python_version(),
        "cores": os.cpu_count(),
        "speed": f"{_speed():.2f} s for ten million additions",
        **{package: version(package) for package in _PACKAGES},
    }


def _speed() -> float:
    """How fast this machine is just now: they are shared, and absolute times are only worth so much."""
    began, total = time.process_time(), 0
    for number in range(10_000_000):
        total += number
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
