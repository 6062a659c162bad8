"""`python -m tests.benchmarks.trees BEFORE AFTER`: the same run by two checkouts, in alternation.

Each runs its own code and its own profile against one reference service, which is this checkout's. What follows `--` is
given to both: `python -m tests.benchmarks.trees ../before . -r 5 --latency 50 -- --concurrency 32`.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.benchmarks.common import Ran, in_turn, ran, ratios, scratch_folder, seen, sent_requests, service

OK = (0, 3)
"""A verdict on the reference: conformant, or incomplete where the run is filtered."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("--latency", type=int, default=0, metavar="MS")
    words = list(sys.argv[1:] if arguments is None else arguments)
    end = words.index("--") if "--" in words else len(words)
    given = parser.parse_args(words[:end])
    for line in compare((given.before, given.after), given.rounds, given.latency, words[end + 1 :]):
        print(line)


def compare(trees: tuple[Path, Path], rounds: int, latency_ms: int, more: Sequence[str]) -> list[str]:
    finished: dict[Path, list[tuple[Ran, int]]] = {tree: [] for tree in trees}
    numbers = itertools.count()
    with scratch_folder() as name, service(latency_ms=latency_ms) as running:

        def side(tree: Path) -> Callable[[], float]:
            def timed() -> float:
                folder = Path(name) / str(next(numbers))
                place = f"/reference~{folder.name}"
                target = ["--base-url", running.base_url + place, "--var", f"control={running.control_url}{place}"]
                profile = tree.resolve() / "profiles" / "reference.toml"
                run = [sys.executable, "-m", "conformance", "run", "--profile", profile, *target]
                command = [*run, "--seed", 1, "-q", "--report-dir", folder, *more]
                path = os.pathsep.join(filter(None, [str(tree.resolve()), os.environ.get("PYTHONPATH")]))
                done = ran(command, {**running.environment, "PYTHONPATH": path}, tree)
                assert done.code in OK, done.out + done.err
                finished[tree].append((done, sent_requests(folder)))
                return done.seconds

            return timed

        in_turn(rounds, *map(side, trees))
    lines = []
    figures: dict[str, Callable[[Ran, int], float]] = {
        "wall time, s": lambda done, _: done.seconds,
        "processor time of all processes, s": lambda done, _: done.cpu_s,
        "processor time for each exchange, ms": lambda done, requests: 1000 * done.cpu_s / requests,
        "peak memory of all processes, MB": lambda done, _: done.peak_kb / 1024,
    }
    for label, figure in figures.items():
        before, after = ([figure(*one) for one in finished[tree]] for tree in trees)
        lines.append(seen(f"{label}: after / before", ratios(after, before), "x").line)
        lines += [seen("  before", before).line, seen("  after", after).line]
    return lines


if __name__ == "__main__":
    main()
