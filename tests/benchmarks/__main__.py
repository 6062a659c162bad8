"""`python -m tests.benchmarks`: the figures, ratios first, as a table and as JSON.

python -m tests.benchmarks                          # all of them
python -m tests.benchmarks overhead startup -r 5    # some
python -m tests.benchmarks --quick --json out.json
python -m tests.benchmarks curves --output DIR      # a table and a picture; only where it is named
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
NAMED: Final = ("curves",)
"""What is measured only where it is named."""
_PACKAGES: Final = ("pytest", "hypothesis", "schemathesis", "httpx", "httptools", "pytest-xdist", "jsonschema-rs")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    which = f"which: {', '.join((*ALL, *NAMED))} [all but {', '.join(NAMED)}]"
    parser.add_argument("names", nargs="*", metavar="NAME", help=which)
    parser.add_argument("-r", "--rounds", type=int, default=5, help="pairs of each comparison [5]")
    parser.add_argument("--quick", action="store_true", help="one round, a part of the faults, no hundredfold")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there")
    parser.add_argument("--output", type=Path, metavar="DIR", help="where `curves` writes its table and its picture")
    parser.add_argument("--every", type=int, metavar="N", help="`curves`: every so many-th fault")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in (*ALL, *NAMED)]:
        parser.error(f"there is no benchmark {unknown[0]!r}; they are {', '.join((*ALL, *NAMED))}")
    if "curves" in given.names and given.output is None:
        parser.error("curves need --output DIR")
    told: dict[str, Any] = {"machine": _machine(), "command": sys.argv[1:], "figures": {}, "details": {}}
    print(" · ".join(f"{name} {value}" for name, value in told["machine"].items()), flush=True)
    missed = 0
    for name in given.names or ALL:
        began = time.monotonic()
        details: dict[str, Any] = {}
        own = {"output": given.output, "every": given.every} if name in NAMED else {}
        module = importlib.import_module(f"tests.benchmarks.{name}")
        found: list[Figure] = module.figures(given.rounds, given.quick, details, **own)
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
