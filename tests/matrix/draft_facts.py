"""A command, not a test: drafts profiles of the reference, its variants and random targets, and counts true facts.

    python -m tests.matrix.draft_facts --variants --drawn 20 --seed 1

Each fact that a draft states beside what a person stated is compared with the true profile. The run of each draft
must have no failure.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import yaml

from conformance.core.errors import ConformanceError
from conformance.core.model import Outcome
from conformance.engine.in_process import merge_patch
from conformance.reference.random_targets.choices import RandomTarget, make_consistent
from conformance.reference.random_targets.legitimate_values import ALL_FACTS
from conformance.reference.random_targets.profile_writer import profile_of, schemas_of
from conformance.reference.random_targets.strategy import random_targets
from conformance.reference.registry import variants
from conformance.runner.embedded_reference import EmbeddedReference, bundled_profiles, environment, reference
from tests.support import drafts
from tests.support.draft_truth import Comparison, compare

DOCUMENT = tomllib.loads((bundled_profiles() / "reference.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Subject:
    """A target, the patch from the reference's profile to its own, and its schemas; empty: as the draft finds them."""

    name: str
    patch: Mapping[str, Any]
    schemas: str = ""
    choices: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Row:
    subject: Subject
    comparison: Comparison
    requests: int
    seconds: float
    proven: int
    failures: tuple[str, ...]


def known_subjects(names: list[str]) -> Iterator[Subject]:
    for name in names:
        patch = variants()[name].profile if name else {}
        yield Subject(name, patch, "" if "names" in patch.get("schemas", {}) else str(drafts.SCHEMAS))


def drawn_subjects(count: int, seed: int, folder: Path) -> Iterator[Subject]:
    """Random targets, with profiles that omit nothing."""
    schemas = yaml.safe_load(drafts.SCHEMAS.read_text(encoding="utf-8"))
    for number, drawn in enumerate(random_targets(count, seed) if count else [], 1):
        target: RandomTarget = make_consistent(
            replace(drawn, omitted_facts=(), omitted_schemas=(), facts=ALL_FACTS, silence="silent")
        )
        path = folder / f"R{800 + number}.schemas.json"
        path.write_text(json.dumps(schemas_of(target, schemas)), encoding="utf-8")
        yield Subject(f"R{800 + number}", profile_of(target, DOCUMENT), str(path), target.differences())


def examine(subject: Subject, service: EmbeddedReference, folder: Path, *, judge: bool) -> Row:
    """Drafts the profile of a target, compares it with the true one, and runs it."""
    if subject.choices is not None:
        httpx.put(f"{service.control_url}/targets/{subject.name}", json=subject.choices).raise_for_status()
    stated = drafts.written(folder / f"{subject.name or 'plain'}.fixtures.toml", DOCUMENT, subject.patch)
    draft = drafts.probed(service, folder, subject.name, stated, openapi=subject.schemas)
    fragment = tomllib.loads(stated.read_text(encoding="utf-8"))
    comparison = compare(draft.text, merge_patch(DOCUMENT, subject.patch), fragment)
    failures: tuple[str, ...] = ()
    if judge:
        run = drafts.verdict(draft, folder)
        failures = tuple(
            f"{r.check} {r.operation} {r.case}: {r.message}"
            for r in run.results
            if r.outcome in (Outcome.FAILED, Outcome.BROKEN)
        )
    return Row(subject, comparison, draft.requests, draft.seconds, draft.proven_operations, failures)


def format_row(row: Row) -> str:
    found = row.comparison
    text = f"{row.subject.name or 'reference':10} {len(found.true):4} true {len(found.false):3} false"
    text += f" {found.share:5.0%} shown, {row.proven} operations, {row.requests} requests, {row.seconds:.1f} s"
    lines = [text + (f", {len(row.failures)} failures" if row.failures else "")]
    lines += [f"    FALSE {key}: {drafted!r}, and it is {true!r}" for key, (drafted, true) in found.false.items()]
    lines += [f"    undecided {key}: {value!r}" for key, value in found.undecided.items()]
    lines += [f"    FAILED {failure}" for failure in row.failures[:5]]
    if (row.comparison.false or row.failures or row.comparison.share < 0.6) and row.subject.choices:
        lines.append(f"    choices {json.dumps(row.subject.choices)}")
    return "\n".join(lines)


def summary(rows: list[Row]) -> str:
    true = sum(len(row.comparison.true) for row in rows)
    false = sum(len(row.comparison.false) for row in rows)
    missing = Counter(name for row in rows for name in row.comparison.missing)
    failing = sum(bool(row.failures) for row in rows)
    share = true / (true + false + missing.total()) if true else 0.0
    requests = max((row.requests for row in rows), default=0)
    head = f"{len(rows)} drafts: {true} facts true, {false} false, {share:.0%} of the facts shown"
    listing = ", ".join(f"{name} {count}" for name, count in missing.most_common(12))
    return f"{head}, {failing} runs with a failure, {requests} requests at most\nmissing most often: {listing}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help="variants; default: the reference alone")
    parser.add_argument("--variants", action="store_true", help="the reference and all variants")
    parser.add_argument("--drawn", type=int, default=0, metavar="N", help="N random targets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-run", action="store_true", help="draft only")
    options = parser.parse_args()
    names = ["", *variants()] if options.variants else options.targets or ([] if options.drawn else [""])
    rows, broken = [], 0
    with (
        reference() as service,
        environment(service.environment),
        tempfile.TemporaryDirectory() as folder,
    ):
        place = Path(folder)
        for subject in (*known_subjects(names), *drawn_subjects(options.drawn, options.seed, place)):
            try:
                row = examine(subject, service, place, judge=not options.no_run)
            except ConformanceError as error:
                broken += 1
                print(f"{subject.name}: {error}\n    {json.dumps(subject.choices)}", flush=True)
                continue
            rows.append(row)
            print(format_row(row), flush=True)
    print(summary(rows))
    return 1 if broken or any(row.comparison.false or row.failures for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
