"""A command, not a test: whole runs against conforming targets, observed through both ways in.

Each run goes through the observing proxy, whose findings are the first figure; the run's own `exchanges.har` is then
observed as a recording, whose findings are the second. A conforming target must show nothing in either.

    python -m tests.matrix.observe_ways reference variants random:100
    python -m tests.matrix.observe_ways variants random:100 --part 1/2     # and 2/2 beside it
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomlkit
from rich.console import Console

from conformance.contract import load_contract
from conformance.core.errors import ConformanceError
from conformance.core.model import Run
from conformance.core.run_options import RunOptions
from conformance.engine.in_process import document_profile, judge, merge_patch
from conformance.journal.journal import MemoryJournal
from conformance.reports import har
from conformance.runner import embedded_reference as embedded
from conformance.runner.observe.har_files import observe_files
from conformance.runner.observe.listening import BackgroundProxy
from conformance.runner.observe.live_line import LiveLine
from conformance.runner.observe.traffic_run import TrafficOptions
from conformance.runner.random_target_runs import random_target_document, run_options
from tests.matrix.observe_faults import RED, Subject, subjects


def document_of(subject: Subject, service: embedded.EmbeddedReference, folder: Path) -> tuple[RunOptions, Any]:
    """The options of a run, and the target's profile as a document."""
    if subject.random_target is not None:
        options, document = random_target_document(subject.random_target, subject.name, service, folder)
    else:
        options = run_options(service, subject.name, folder)
        assert options.profile is not None
        patch = subject.seeded.profile if subject.seeded else {}
        document = merge_patch(tomllib.loads(options.profile.read_text(encoding="utf-8")), patch)
    assert options.profile is not None
    if "schemas" in document:  # a random target may state none
        file = options.profile.parent / document["schemas"]["file"]
        document = merge_patch(document, {"schemas": {"file": str(file.resolve())}})
    return options, document


def through_proxy(proxy: BackgroundProxy, options: RunOptions, document: Mapping[str, Any]) -> Run:
    """A whole run whose requests go through the proxy. Proofs name the address that the service itself has."""
    if document.get("oauth", {}).get("token_url") == "":
        token_url = options.base_url + load_contract().operations["exchangeOAuthToken"].path
        document = merge_patch(document, {"oauth": {"token_url": token_url}})
    own = replace(options, base_url=proxy.base_url, report_dir=None)
    return judge(own, profile=document_profile(own, document), journal=MemoryJournal(evidence=True))


def observe_both(subject: Subject, service: embedded.EmbeddedReference, folder: Path) -> tuple[Run, Run, Run]:
    """The run itself, what the proxy observed of it, and what its recording shows."""
    (folder / "suite").mkdir()
    options, document = document_of(subject, service, folder / "suite")
    file = folder / "observed.toml"
    file.write_text(tomlkit.dumps(document), encoding="utf-8")
    watched = TrafficOptions(file, options.base_url, options.variables, folder / "proxy", is_all_traffic=True)
    proxy = BackgroundProxy(watched)
    proxy.start()
    try:
        run = through_proxy(proxy, options, document)
    finally:
        observed, _, _ = proxy.stop()
    # what waited in the sender, and what was abandoned, makes the recording an imperfect picture of the traffic
    recording = replace(watched, base_url=proxy.base_url, report_dir=folder / "har", is_all_traffic=False)
    (folder / "recording").mkdir()
    path = har.write_file(run, folder / "recording")
    recorded, _, _ = observe_files([path], recording, LiveLine(Console(), quiet=True))
    return run, observed, recorded


def red_lines(run: Run) -> list[str]:
    return [f"{r.requirement} {r.operation}: {r.message} {r.observed}" for r in run.results if r.outcome in RED]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["reference"])
    parser.add_argument("--part", default="1/1", help="K/N: each Nth of the targets, from the Kth")
    options = parser.parse_args()
    number, count = map(int, options.part.split("/"))
    targets = list(subjects(options.names))[number - 1 :: count]
    with_findings, exchanges = 0, 0
    with embedded.reference() as service, embedded.environment(service.environment):
        for subject in targets:
            name = subject.name or "reference"
            with tempfile.TemporaryDirectory() as folder:
                try:
                    run, *ways = observe_both(subject, service, Path(folder))
                except ConformanceError as error:
                    print(f"{name:10} broken: {error}", flush=True)
                    with_findings += 1
                    continue
            red = [f"{way}: {line}" for way, one in zip(("proxy", "HAR"), ways, strict=True) for line in red_lines(one)]
            judged = [one.traffic.requests for one in ways]
            exchanges += sum(judged)
            with_findings += bool(red)
            verdict = f"{run.verdict.value}, {run.traffic.requests:,} requests; observed {judged[0]:,}, {judged[1]:,}"
            print("\n       ".join([f"{name:10} {'ALARM' if red else '-':6} {verdict}", *red[:20]]), flush=True)
            gc.collect()
    print(f"{with_findings} of {len(targets)} targets with findings, {exchanges:,} observed exchanges")
    return 1 if with_findings else 0


if __name__ == "__main__":
    sys.exit(main())
