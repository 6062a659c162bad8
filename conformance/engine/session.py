"""One run from the first line of its journal to the last: profile, journal, engine. pytest's side is in `plugin`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from conformance.checks.support.context import Runtime, Settings
from conformance.checks.support.costs import predict
from conformance.checks.support.registry import Instance, all_checks, check_set_digest, instances
from conformance.client.recorder import redact_exchange
from conformance.client.redaction.learn import secrets_of
from conformance.contract import Contract, load_contract
from conformance.core.defaults import CONCURRENCY, DEEP_EXAMPLES, EXAMPLES
from conformance.core.errors import JournalError, Unreachable
from conformance.core.model import Result, Run
from conformance.core.paths import absolute_path, display_path
from conformance.core.run_options import RunOptions
from conformance.engine import check_runner as runner
from conformance.engine.first_failure import Alarm
from conformance.engine.open_context import load_sender, open_context
from conformance.engine.options import RunPart, new_seed, run_name, utc_timestamp
from conformance.engine.run_head import profile_path, run_head
from conformance.engine.scheduler import Engine, Job, lane_count
from conformance.journal.journal import NAME, Journal, MemoryJournal
from conformance.journal.lines import (
    CheckConcluded,
    ExchangeRecorded,
    Line,
    SegmentEnded,
    SegmentResumed,
    TrafficStats,
)
from conformance.journal.reader import read
from conformance.journal.run_directory import claim_directory, remove_empty, worker_journals
from conformance.journal.segments import KILLED, PreviousSegments
from conformance.judge.assemble import Assembly, assemble
from conformance.profile.loader import load_profile
from conformance.profile.model import Profile
from conformance.profile.overrides import override_limits
from conformance.profile.secrets import resolve_secrets
from conformance.profile.shares import remove_used, share_of

_WHOLE_RUN: Final = RunPart()
_LINES_AHEAD: Final = 40
_PAUSE_AHEAD_S: Final = 0.002
"""Lines that are read at a time, in about a millisecond, and the pause after them."""
_CHECK_GRACE_S: Final = 0.3
"""Seconds that a check may take to fail by itself after its exchange violated an invariant; its row is then red."""


class Session:
    """A run in progress. Call `start`, then `result` for each instance, then `finish`."""

    def __init__(
        self,
        options: RunOptions,
        part: RunPart = _WHOLE_RUN,
        *,
        profile: Profile | None = None,
        journal: Journal | None = None,
    ) -> None:
        """`profile` replaces the one of `options.profile`."""
        self.options = options
        self.part = part
        full_profile = profile or _load_profile_of(options)
        full_profile = replace(full_profile, limits=override_limits(full_profile.limits, options.limit_overrides))
        self.previous_segments = part.previous_segments
        self.profile: Profile = share_of(
            remove_used(full_profile, self.previous_segments.used_places if self.previous_segments else {}), *self.share
        )
        self.contract: Contract = load_contract()
        self.seed = self._seed() if options.seed is None else options.seed
        used_names = self.previous_segments.names if self.previous_segments else ()
        self.run_name = part.run_name or next(name for name in iter(run_name, "") if name not in used_names)
        self.directory = options.report_dir if part.worker and options.report_dir else Path()
        self.directory_name = ""
        """The folder for display: as it can be typed where the run was started."""
        self.alarm = Alarm(self.contract.requirements, self.profile.waivers) if options.fail_fast else None
        self.planned_count = 0
        """The number of selected instances; 0 until the journal's first line is written."""
        self._began = datetime.now(UTC)
        self.started_at = utc_timestamp(self._began)
        self._start_monotonic = time.monotonic()
        self._new_directories: list[Path] = []
        self.keys = part.keys or resolve_secrets({} if part.dry_run else self.profile.credentials)
        self.secrets = secrets_of(self.profile, self.contract, self.keys)
        self.unreachable: Unreachable | None = None
        """Why nothing can be sent; the run is reported nevertheless."""
        self._scheduled: tuple[Sequence[Instance], Iterable[Instance]] = ((), ())
        self._engine: Engine[Runtime, Result] | None = None
        self._journal = journal
        self._runtime: Runtime | None = None
        self._assembly: Assembly | None = None

    @cached_property
    def instances(self) -> list[Instance]:
        """All instances that apply to this profile; of a resumed run, those that are still open."""
        applicable = instances(all_checks(), self.profile, self.contract)
        open_keys = set(self.previous_segments.remaining) if self.previous_segments else None
        return [
            instance
            for instance in applicable
            if open_keys is None or (instance.check.id, instance.operation.id, instance.case) in open_keys
        ]

    @cached_property
    def instances_by_subject(self) -> Mapping[str, Sequence[Instance]]:
        """`instances` by the name of the module of their checks."""
        found: dict[str, list[Instance]] = {}
        for instance in self.instances:
            found.setdefault(instance.check.subject, []).append(instance)
        return found

    def _seed(self) -> int:
        """The seed of a run without `--seed`: random; for shards derived from profile and checks, so that all agree."""
        if self.options.shard_index[1] == 1:
            return new_seed()
        return int(sha256(f"{self.profile.digest} {check_set_digest()}".encode()).hexdigest()[:8], 16)

    @property
    def share(self) -> tuple[int, int]:
        """(index, count) of this process among those that share the limits: the workers of all shards."""
        (shard, shards), (worker, workers) = self.options.shard_index, self.part.share
        return shard * workers + worker, shards * workers

    @property
    def concurrency(self) -> int:
        _, workers = self.share
        total = self.options.concurrency or self.profile.limits.concurrency or CONCURRENCY
        return max(1, total // workers)

    @property
    def deadline_s(self) -> float | None:
        """Seconds for the whole run, from the creation of the session; None: no deadline."""
        return self.options.deadline_s or self.profile.limits.deadline_s

    @property
    def examples(self) -> int:
        """The number of generated requests for each property."""
        return self.options.examples or (DEEP_EXAMPLES if self.profile.limits.depth == "deep" else EXAMPLES)

    @cached_property
    def may_end_early(self) -> bool:
        """Whether requests, or seconds, may not suffice for all checks, so that their order matters."""
        if self.options.fail_fast or self.options.deadline_s is not None:  # a profile's deadline is an upper bound
            return True
        costs = predict(self.instances).values()
        return self.profile.limits.max_requests < sum(cost.reads + cost.writes for cost in costs)

    @property
    def completed_count(self) -> int:
        return self._engine.completed_count if self._engine else 0

    @property
    def runtime(self) -> Runtime | None:
        """The engine's open runtime, for progress figures only."""
        return self._runtime

    @cached_property
    def rerun_command(self) -> str:
        """The command that repeats this run: the same profile, target and seed."""
        if self.part.rerun_command:
            return self.part.rerun_command
        return replace(self.options, base_url=self.profile.base_url, seed=self.seed).repeat_command()

    # Called by the controller

    def claim(self, unreachable: Unreachable | None = None) -> None:
        """Claims the report folder. `unreachable`: why nothing can be sent; the run is reported nevertheless."""
        self.unreachable = unreachable
        if self.previous_segments and self.options.report_dir:
            self.directory = absolute_path(self.options.report_dir)
        else:
            directory, new_directories = claim_directory(self.options.report_dir, self.profile.name)
            self.directory, self._new_directories = absolute_path(directory), list(map(absolute_path, new_directories))
        self.directory_name = display_path(self.directory)

    def discard_unused_directory(self) -> None:
        """Removes the folder of a run that did not begin."""
        journal_file = self.directory / NAME
        if self.directory == Path() or not journal_file.is_file() or journal_file.stat().st_size:
            return
        for path in (journal_file, *worker_journals(self.directory)):
            path.unlink()
        remove_empty(self._new_directories)

    def write_head(self, selected: Sequence[Instance], selection: str = "", left_out: Sequence[Instance] = ()) -> None:
        """Writes the journal's first line: the run and its planned checks, or the segment of a resumed run.

        `selection`: the selection expressions, as text. `left_out`: what is not run in this depth.
        """
        if self.previous_segments:
            segment = SegmentResumed(
                self.previous_segments.part,
                self.previous_segments.interruption,
                len(selected),
                self.run_name,
                self.started_at,
            )
            self.journal.append(segment)
        else:
            self.journal.append(run_head(self, selected, selection, left_out))
        self.planned_count = len(selected)

    @property
    def journal(self) -> Journal:
        if self._journal is None:
            name = f"journal-{self.part.worker}.ndjson" if self.part.worker else NAME
            self._journal = Journal(self.directory / name)
        return self._journal

    def join_workers(self) -> None:
        """Appends the workers' journals to the controller's, unless the run did not begin."""
        if not self.planned_count:
            return
        for path in worker_journals(self.directory):
            for line in read(path):
                self.journal.append(self._redact(line))
            path.unlink()

    def _redact(self, line: Line) -> Line:
        """Redacts the secrets of the other workers in a worker's line: a target may repeat a secret to any worker."""
        clean = self.secrets.clean_word
        match line:
            case ExchangeRecorded(exchange=exchange):
                return ExchangeRecorded(redact_exchange(exchange, clean))
            case CheckConcluded(result=result):
                return CheckConcluded(runner.redact_result(result, clean))
        return line

    def assemble_run(self) -> Run:
        if isinstance(self._journal, MemoryJournal):
            return assemble(self._journal.lines)
        run = (self._assembly or Assembly(self.directory)).run()
        if run.interrupted == KILLED and (problem := self.journal.write_error):  # so that it has no last line
            return structs.replace(run, interrupted=f"the journal could not be written: {problem}")
        return run

    # Called in the process that sends

    def settings_for(self, chosen: Sequence[Instance]) -> Settings:
        """The settings of a runtime for these instances."""
        number, shards = self.options.shard_index
        shard, part = (
            f"s{number + 1}" if shards > 1 else "",
            f"r{self.previous_segments.part - 1}" if self.previous_segments else "",
        )
        settings = Settings(
            profile=self.profile,
            contract=self.contract,
            keys=self.keys,
            journal=self.journal,
            secrets=self.secrets,
            run=f"{self.run_name}{self.part.worker}",
            concurrency=self.concurrency,
            seed=self.seed,
            examples=self.examples,
            exclusive_operations=tuple(sorted({i.operation.id for i in chosen if i.check.exclusive})),
            rerun_command=self.rerun_command,
            prefix=shard + part + (f"{self.part.worker}-" if self.part.worker else "x"),
            on_exchange=self.alarm.examine_exchange if self.alarm else None,
        )
        return (
            settings if self.previous_segments is None else self._with_previous_usage(settings, self.previous_segments)
        )

    def start(self, chosen: Sequence[Instance], order: Iterable[Instance] | None = None) -> None:
        """Starts the engine with all non-exclusive instances; chains first, unless their order matters.

        `order`: the same instances in the order in which they start; it may be computed while they run.
        """
        load_sender()
        elapsed_s = time.monotonic() - self._start_monotonic
        remaining_s = None if self.deadline_s is None else max(0.0, self.deadline_s - elapsed_s)
        settings = replace(self.settings_for(chosen), remaining_s=remaining_s, fail_fast=self.options.fail_fast)

        @contextlib.asynccontextmanager
        async def open_runtime() -> Any:
            async with open_context(settings) as runtime:
                self._runtime = runtime
                yield runtime

        chains = [instance for instance in chosen if instance.check.chain]
        lanes = lane_count(self.concurrency, self.profile.limits.rate, len(chains), may_end_early=self.may_end_early)
        self._engine = Engine(open_runtime, workers=lanes, deadline_s=self.deadline_s, remaining_s=remaining_s)
        self._engine.start()
        leading = [] if self.may_end_early else chains
        leading_ids = {instance.id for instance in leading}

        def is_later(instance: Instance) -> bool:
            return not instance.check.exclusive and instance.id not in leading_ids

        self._engine.submit(map(self._job, leading))
        self._engine.submit_later(
            [instance.id for instance in filter(is_later, chosen)],
            map(self._job, filter(is_later, chosen if order is None else order)),
        )

    def _with_previous_usage(self, settings: Settings, previous: PreviousSegments) -> Settings:
        """Adds the requests, the time and the provoked limits of earlier segments to the settings."""
        elapsed = datetime.now(UTC) - datetime.fromisoformat(previous.began_at)
        return replace(
            settings,
            requests_before=-(-previous.requests // self.part.share[1]),  # all of them were sent by this shard
            since_s=max(0.0, elapsed.total_seconds()),
            limits_provoked=previous.limits_provoked,
        )

    def schedule(self, instances: Sequence[Instance], order: Iterable[Instance]) -> None:
        """Sets what is passed to `start` by the first call of `result`."""
        self._scheduled = instances, order

    def result(self, instance: Instance, on_wait: Callable[[], None] = lambda: None) -> Result:
        """Waits for an instance. Raises EngineShutdown, EngineFailure, or an exception that broke the suite.

        `on_wait` is called while an exclusive check runs, which mostly waits for a limit.
        """
        if self._engine is None:
            self.start(*self._scheduled)
        assert self._engine is not None
        self._engine.submit([self._job(instance)])
        if instance.check.exclusive and not self.part.worker:
            self._read_ahead(self._engine, instance)
            on_wait()
        return self._engine.result(instance.id)

    def _read_ahead(self, engine: Engine[Runtime, Result], instance: Instance) -> None:
        """Reads the journal for `assemble_run`, in small parts with pauses: a burst must not be slowed down."""
        if type(self.journal) is not Journal:
            return
        self._assembly = self._assembly or Assembly(self.directory)
        try:
            while self._assembly.line_count + _LINES_AHEAD <= self.journal.line_count and not engine.is_done(
                instance.id
            ):
                self._assembly.read(_LINES_AHEAD)
                time.sleep(_PAUSE_AHEAD_S)
        except JournalError:  # raised again by `assemble_run`
            self._assembly = None

    def wait(self, instance: Instance) -> None:
        """Waits until an instance has a result, anything failed (see `alarm`), or the engine stopped."""
        assert self._engine is not None and self.alarm is not None
        self._engine.submit([self._job(instance)])
        self.alarm.event.clear()
        if not self.alarm.is_triggered:
            self._engine.wait(instance.id, self.alarm.event)
        if self.alarm.violation and not self.alarm.failed_instance:
            self.alarm.event.clear()
            self._engine.wait(self.alarm.violation_sender, self.alarm.event, _CHECK_GRACE_S)

    def _job(self, instance: Instance) -> Job[Runtime, Result]:
        async def work(runtime: Runtime) -> Result:
            return await runner.run(instance, runtime)

        watched_work = self.alarm.wrap(instance.id, work) if self.alarm else work
        return Job(instance.id, watched_work, instance.check.exclusive)

    def finish(self, reason: str = "") -> None:
        """Stops the engine and, if the run began, writes the journal's last line."""
        flow = self._runtime.sender if self._runtime else None
        if self._engine is not None:
            self._engine.stop(reason)
            reason = self._engine.stop_reason or (flow.limit_reached if flow else "") or reason
            if (failure := self._engine.failure) is not None:
                reason = f"the suite erred: {type(failure).__name__}: {failure}"
        if not (self.planned_count or self.part.worker):
            return
        with contextlib.suppress(JournalError):
            self.journal.append(
                SegmentEnded(
                    finished_at=utc_timestamp(self._began, time.monotonic() - self._start_monotonic),
                    interrupted=self.secrets.clean_truncated(reason),
                    worker=self.part.worker,
                    traffic=flow.traffic_stats if flow else TrafficStats(),
                    fixtures=dict(self._runtime.fixtures.issue_counts) if self._runtime else {},
                )
            )


def _load_profile_of(options: RunOptions) -> Profile:
    return load_profile(profile_path(options), base_url=options.base_url or None, variables=options.variables)
