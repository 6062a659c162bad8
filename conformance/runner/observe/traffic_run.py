"""The one pipeline of observed traffic: observation -> answer -> judge -> redaction -> journal -> run -> reports."""

from __future__ import annotations

import contextlib
import re
import shlex
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import structs

from conformance.checks.support.registry import check_set_digest
from conformance.client.recorder import Recorder
from conformance.client.redaction.learn import secrets_of
from conformance.client.redaction.traffic_redactor import TrafficRedactor
from conformance.client.response import Answer
from conformance.client.traffic.answers import AnswerBuilder, CredentialNames, traffic_judge
from conformance.client.traffic.observation import Observation
from conformance.client.traffic.operation_index import OperationIndex
from conformance.contract import load_contract
from conformance.core.errors import JournalError, ProfileError
from conformance.core.model import Exchange, ProfileInfo, Run, Suite
from conformance.decisions.previous_run import with_previous_run
from conformance.engine.options import run_name, suite_version
from conformance.journal.journal import NAME, Journal
from conformance.journal.lines import JOURNAL_VERSION, RunStarted, SegmentEnded, TrafficCounted, TrafficSource
from conformance.journal.run_directory import claim_directory, remove_empty
from conformance.judge.assemble import load
from conformance.judge.coverage import unreachable
from conformance.judge.invariant_results import is_binding
from conformance.judge.invariants import Invariants
from conformance.judge.laws.facts import law_facts
from conformance.judge.validators import Validators
from conformance.profile.loader import load_profile
from conformance.profile.model import Profile
from conformance.profile.secrets import require_distinct, resolve_secret
from conformance.profile.source import key_lines
from conformance.reports import write_reports

_MAX_UNKNOWN: Final = 50
"""Requests that are not operations, by method and path; further ones are counted together."""
_OTHERS: Final = "others"
_COUNT_EVERY: Final = 1_000
_CLOCK_S: Final = 0.003
"""The precision of the times of a recording, in seconds."""
"""Exchanges between two lines of counts: a run that is killed keeps the counts of the last one."""
_ID_SEGMENT: Final = re.compile(r"(?<=/)(?!v\d+(?:/|$))(?=[^/]*(?:\d|%|@|:|«))[^/]+|(?<=/)[^/]{25,}")
_LONGEST_PATH: Final = 200


@dataclass(frozen=True)
class TrafficOptions:
    """What a run of observed traffic was asked for."""

    profile: Path
    base_url: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    report_dir: Path | None = None
    bodies: str = "redacted"
    """`redacted` or `shape`."""
    is_all_traffic: bool = False
    """No request with the same credentials goes past what is observed."""
    words: tuple[str, ...] = ()
    """The words of the command that repeat it."""

    @property
    def command(self) -> str:
        return f"conformance observe {shlex.join(['--profile', str(self.profile.absolute()), *self.words])}"


class TrafficRun:
    """Call `begin`, then `record` for each observation, then `finish`. One thread at a time."""

    def __init__(self, options: TrafficOptions, sources: Sequence[str], *, is_current: bool) -> None:
        """`is_current`: the traffic is of today, as the profile is. Raises ProfileError and ReportDirError."""
        self.options = options
        self._is_current = is_current
        self.profile: Profile = load_profile(
            options.profile, base_url=options.base_url or None, variables=options.variables
        )
        self.contract = load_contract()
        keys, self.absent_keys = _resolved_keys(self.profile)
        self.secrets = secrets_of(self.profile, self.contract, keys)
        self.redactor = TrafficRedactor(self.profile, self.secrets, shape=options.bodies == "shape")
        self.index = OperationIndex(self.contract, self.profile.base_url)
        self.operations: Counter[str] = Counter()
        self.findings: Counter[str] = Counter()
        """Requirement -> number of exchanges that violate it."""
        self.label = ""
        """What the exchanges that are recorded now belong to, such as a test."""
        self.findings_by_label: dict[str, list[str]] = {}
        self.count = 0
        self.left_out = 0
        self._sources = tuple(self.secrets.clean(name) for name in sources)
        self._counts = {name: _Counts() for name in self._sources}
        self._builder = AnswerBuilder(CredentialNames(self.profile, keys))
        self._is_request_cut = False
        self._has_begun = False
        self._last_s = 0.0
        self.directory, self._new_directories = claim_directory(options.report_dir, self.profile.name)
        self._journal = Journal(self.directory / NAME)
        judge = traffic_judge(Invariants(self.profile, Validators(self.profile.schemas)).judge)
        self._recorder = Recorder(self._journal, self.secrets, judge, finish=self._redact)

    def begin(self, started: float | None = None) -> None:
        """Writes the first line. `started`: when the traffic began, in seconds since 1970."""
        if self._has_begun:
            return
        self._has_begun = True
        self._builder.started = started
        self._journal.append(self._head(time.time() if started is None else started))

    def _head(self, started: float) -> RunStarted:
        clean, profile, contract = self.secrets.clean, self.profile, self.contract
        path = self.options.profile.absolute()
        return RunStarted(
            schema_version=JOURNAL_VERSION,
            suite=Suite(suite_version(), contract.digest, check_set_digest()),
            target=clean(profile.base_url),
            profile=ProfileInfo(
                clean(profile.name),
                profile.digest,
                clean(str(path)),
                {clean(key): line for key, line in key_lines(path).items()},
            ),
            seed=0,
            run=run_name(),
            started_at=_timestamp(started),
            requirements=tuple(contract.requirements.values()),
            operations=tuple(operation.info for operation in contract.all),
            planned=(),
            examples=0,
            again=clean(self.options.command),
            unreachable={operation.id: unreachable(operation) for operation in contract.all},
            exclusions={clean(key): clean(reason) for key, reason in profile.exclusions.items()},
            provokes=profile.rate_limit.provoke,
            answer_schemas={operation.id: operation.response_schema for operation in contract.all},
            further_members=profile.answers.further_members,
            waivers=tuple(profile.waivers),
            observed=TrafficSource(self._sources, self.options.bodies),
            laws=structs.replace(
                law_facts(profile, contract),
                clock_s=_CLOCK_S,
                is_current=self._is_current,
                is_all_traffic=self.options.is_all_traffic,
            ),
        )

    def record(self, observation: Observation, source: int = 0) -> Exchange | None:
        """Judges an observation and writes it; None for one that is left out. Raises JournalError.

        `source`: the index of its source.
        """
        path = self.index.path_of(observation.url)
        counts = self._counts[self._sources[source]]
        if path is None:
            counts.foreign += 1
            self.left_out += 1
            return None
        call = self.index.find(observation.method, path)
        if call is None:
            counts.add_unknown(self._name_of(observation.method, path))
            self.left_out += 1
            return None
        self.begin(observation.started)
        answer = self._builder.build(observation, call)
        self._is_request_cut = observation.request_cut
        self.redactor.learn(answer)
        exchange = self._recorder.record(answer)
        self._note(exchange)
        return exchange

    def skip(self, reason: str, source: int = 0) -> None:
        """Counts an entry that is not an exchange, or that is not judged."""
        self._counts[self._sources[source]].skipped[reason] += 1
        self.left_out += 1

    def _name_of(self, method: str, path: str) -> str:
        """`GET /api/v1/users/{}`: without ids, secrets and people's data."""
        plain = _ID_SEGMENT.sub("{}", self.redactor.text(path)[:_LONGEST_PATH])
        return self.redactor.text(f"{method[:20]} {plain or '/'}")

    def _redact(self, exchange: Exchange, answer: Answer) -> Exchange:
        exchange = structs.replace(self.redactor.redact(exchange, answer), check=self.label)
        if self._is_request_cut:
            exchange = structs.replace(exchange, request=structs.replace(exchange.request, truncated=True))
        return exchange

    def _note(self, exchange: Exchange) -> None:
        self.count += 1
        self.operations[exchange.operation] += 1
        self._last_s = max(self._last_s, exchange.at + exchange.duration_ms / 1000)
        binding = [finding for finding in exchange.findings if is_binding(finding)]
        self.findings.update({finding.requirement for finding in binding})
        if binding and self.label:
            texts = self.findings_by_label.setdefault(self.label, [])
            texts += [f"{f.requirement} on {exchange.operation}: {f.message}" for f in binding]
        if self.count % _COUNT_EVERY == 0:
            self._write_counts()

    def _write_counts(self) -> None:
        for name, counts in self._counts.items():
            self._journal.append(TrafficCounted(name, counts.foreign, dict(counts.unknown), dict(counts.skipped)))

    def finish(self, reason: str = "") -> Run:
        """Ends the journal and writes the reports. `reason`: why it ended early; empty where it is complete.

        Raises ConformanceError where a report could not be written; the others then are.
        """
        with contextlib.suppress(JournalError):
            self.begin()
            self._write_counts()
            started = time.time() if self._builder.started is None else self._builder.started
            self._journal.append(SegmentEnded(_timestamp(started + self._last_s), self.secrets.clean_truncated(reason)))
        self._journal.close()
        run = load(self.directory)
        write_reports(with_previous_run(run, self.directory), self.directory)
        return run

    def discard(self) -> None:
        """Removes the folder of a run of which nothing was written."""
        if self._has_begun:
            return
        self._journal.close()
        self._journal.path.unlink()
        remove_empty(self._new_directories)


class _Counts:
    """What was left out of one source."""

    def __init__(self) -> None:
        self.foreign = 0
        self.unknown: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()

    def add_unknown(self, name: str) -> None:
        self.unknown[name if name in self.unknown or len(self.unknown) < _MAX_UNKNOWN else _OTHERS] += 1


def _resolved_keys(profile: Profile) -> tuple[dict[str, str], tuple[str, ...]]:
    """The API keys that are there, and the names of the others: observing needs none, and recognises those it has."""
    keys, absent = {}, []
    for name, credential in profile.credentials.items():
        try:
            keys[name] = resolve_secret(credential)
        except ProfileError:
            absent.append(name)
    require_distinct(profile.credentials, keys)
    return keys, tuple(absent)


def _timestamp(seconds: float) -> str:
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        moment = datetime.now(UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
