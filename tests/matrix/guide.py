"""A command, not a test: prints the guide of a random target, as its operator would write it.

`python -m tests.matrix.guide --drawn 8 --seed 7 R003`: of the targets that `conformance faults --drawn 8 --seed 7`
judges, the third.
"""

from __future__ import annotations

import argparse
import tomllib

from conformance.engine.in_process import merge_patch
from conformance.reference.random_targets.profile_writer import profile_of
from conformance.reference.random_targets.strategy import random_targets
from conformance.runner.embedded_reference import bundled_profiles
from tests.support.drawn_guides.stated import stated
from tests.support.drawn_guides.writer import guide_of, text_of


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the guide of a random target.")
    parser.add_argument("name", nargs="?", default="R001")
    parser.add_argument("--drawn", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    targets = {f"R{number:03d}": target for number, target in enumerate(random_targets(given.drawn, given.seed), 1)}
    if given.name not in targets:
        parser.error(f"there is no {given.name} among {given.drawn} targets")
    target = targets[given.name]
    document = tomllib.loads((bundled_profiles() / "reference.toml").read_text(encoding="utf-8"))
    facts = stated(merge_patch(document, profile_of(target, document)))
    print(f"# Random target {given.name} of seed {given.seed}\n")
    print(text_of(guide_of(target), facts))


if __name__ == "__main__":
    main()
