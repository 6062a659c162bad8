"""A command, not a test: the part of the kill matrix that a commit's gate takes, an id a line.

`python -m tests.matrix.rotate SEED PARTS`: every PARTS-th fault and variant, beginning at SEED; over PARTS different
seeds in a row all of them are taken.
"""

from __future__ import annotations

import sys

from conformance.reference.registry import faults, variants


def part(seed: int, parts: int) -> list[str]:
    """The ids of one part. Faults and variants are dealt out in turn, so that each part has some of every file."""
    return [name for place, name in enumerate([*faults(), *variants()]) if (place + seed) % parts == 0]


if __name__ == "__main__":
    print("\n".join(part(int(sys.argv[1]), int(sys.argv[2]))))
