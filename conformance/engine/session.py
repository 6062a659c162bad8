"""One run from its first line to its last: profile, journal, engine, reports. What pytest adds is in `plugin`."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from conformance.checks.support.context import Runtime, Settings
from conformance.checks.support.registry import Instance, all_checks, check_set_digest, instances
from conformance.client.recorder import redact_exchange
from conformance.client.redaction.learn import secrets_of
from conformance.contract import Contract, load_contract
from conformance.core.defaults import CONCURRENCY, EXAMPLES
from conformance.core.errors import ConformanceError, JournalError, Unreachable, UsageError
from conformance.core.model import ProfileInfo, Result, Run, Suite
from conformance.core.run_options import RunOptions
from conformance.engine import check_runner as runner
from conformance.engine.first_failure import Alarm
from conformance.engine.open_context import load_sender, open_context
from conformance.engine.options import RunPart, new_seed, now, run_name, suite_version
from conformance.engine.scheduler import Engine, Job
from conformance.journal.journal import NAME, Journal, MemoryJournal
from conformance.journal.lines import (
    JOURNAL_VERSION,
    CheckConcluded,
    ExchangeRecorded,
    Line,
    PlannedCheck,
    RunStarted,
    SegmentEnded,
    SegmentResumed,
    Shard,
    TrafficStats,
)
from conformance.journal.reader import read
from conformance.journal.run_directory import claim_directory, remove_empty, worker_journals
from conformance.journal.segments import PreviousSegments
from conformance.judge.assemble import assemble, load
from conformance.judge.coverage import unreachable
from conformance.profile.loader import load_profile
from conformance.profile.model import Profile
from conformance.profile.overrides import override_limits
from conformance.profile.secrets import resolve_secret
from conformance.profile.shares import remove_used, share_of

_WHOLE: Final = RunPart()
_SPARE_LANES: Final = 4
"""Checks that wait for a fixture or a back-off leave their place in flight to these."""
_OWN_WORD_S: Final = 0.3
"""So long a check whose exchange violates an invariant may take to say so itself: the row that goes red is then its."""


class Session:
    """A run that is being made. `start`, then `result` for each instance, then `finish`."""

    def __init__(
        self,
        options: RunOptions,
        part: RunPart = _WHOLE,
        *,
        profile: Profile | None = None,
        journal: Journal | None = None,
    ) -> None:
        """`profile` stands in for the one in the options' file."""
        self.options = options
        self.part = part
        whole = profile or _loaded(options)
        whole = replace(whole, limits=override_limits(whole.limits, options.limit_overrides))
        self.earlier = part.earlier
        self.profile: Profile = share_of(
            remove_used(whole, self.earlier.used_places if self.earlier else {}), *self.share
        )
        self.contract: Contract = load_contract()
        self.seed = self._seed() if options.seed is None else options.seed
        used = self.earlier.names if self.earlier else ()
        self.run = part.run or next(name for name in iter(run_name, "") if name not in used)
        self.directory = options.report_dir if part.worker and options.report_dir else Path()
        self.alarm = Alarm(self.contract.requirements, self.profile.waivers) if options.fail_fast else None
        self.planned = 0
        """How many instances this run is about; 0 until that is known."""
        self._started_at = now()
        self._began = time.monotonic()
        self._made: list[Path] = []
        credentials = {} if part.dry else self.profile.credentials
        self.keys = part.keys or {name: resolve_secret(one) for name, one in credentials.items()}
        self.secrets = secrets_of(self.profile, self.contract, self.keys)
        self.unreachable: Unreachable | None = None
        """Why nothing can be sent; the run is reported all the same."""
        self._scheduled: Sequence[Instance] = ()
        self._engine: Engine[Runtime, Result] | None = None
        self._journal = journal
        self._runtime: Runtime | None = None

    @cached_property
    def instances(self) -> list[Instance]:
        """All that this profile calls for, or what is left of it."""
        found = instances(all_checks(), self.profile, self.contract)
        left = set(self.earlier.remaining) if self.earlier else None
        return [one for one in found if left is None or (one.check.id, one.operation.id, one.case) in left]

    def _seed(self) -> int:
        """Where none was asked for: any; for shards the same one, which need not know of each other."""
        if self.options.shard_index[1] == 1:
            return new_seed()
        return int(sha256(f"{self.profile.digest} {check_set_digest()}".encode()).hexdigest()[:8], 16)

    @property
    def share(self) -> tuple[int, int]:
        """Which of all processes this is, from 0, and how many keep the limits together: the workers of all shards."""
        (shard, shards), (worker, workers) = self.options.shard_index, self.part.share
        return shard * workers + worker, shards * workers

    @property
    def concurrency(self) -> int:
        _, workers = self.share
        wanted = self.options.concurrency or self.profile.limits.concurrency or CONCURRENCY
        return max(1, wanted // workers)

    @property
    def deadline_s(self) -> float | None:
        """For the whole run, from the moment when the session was made; None sets none."""
        return self.options.deadline_s or self.profile.limits.deadline_s

    @property
    def done(self) -> int:
        return self._engine.done if self._engine else 0

    @property
    def runtime(self) -> Runtime | None:
        """What the engine has open; for progress figures only."""
        return self._runtime

    @cached_property
    def again(self) -> str:
        """The command that runs this profile against this target once more."""
        if self.part.again:
            return self.part.again
        return replace(self.options, base_url=self.profile.base_url, seed=self.seed).repeat_command()

    # The controller's part

    def claim(self, unreachable: Unreachable | None = None) -> None:
        """Takes the report folder. `unreachable` says why nothing can be sent; the run is reported all the same."""
        self.unreachable = unreachable
        if self.earlier and self.options.report_dir:
            self.directory = self.options.report_dir
        else:
            self.directory, self._made = claim_directory(self.options.report_dir, self.profile.name)

    def forget(self) -> None:
        """Takes back the folder of a run that never began."""
        claimed = self.directory / NAME
        if self.directory == Path() or not claimed.is_file() or claimed.stat().st_size:
            return
        for path in (claimed, *worker_journals(self.directory)):
            path.unlink()
        remove_empty(self._made)

    def write_head(self, selected: Sequence[Instance], asked: str = "") -> None:
        """The journal's first line: which run this is, and all that is going to be judged; or which part of it.

        `asked`: by what it was selected, as text.
        """
        if self.earlier:
            resumed = SegmentResumed(
                self.earlier.part, self.earlier.interruption, len(selected), self.run, self._started_at
            )
            self.journal.append(resumed)
        else:
            self.journal.append(self._head(selected, asked))
        self.planned = len(selected)

    def _head(self, selected: Sequence[Instance], asked: str) -> RunStarted:
        clean, again, path = self.secrets.clean, self.secrets.clean(self.again), _path_of(self.options).absolute()
        everything = {instance.id for instance in self.instances}
        number, shards = self.options.shard_index
        return RunStarted(
            schema_version=JOURNAL_VERSION,
            suite=Suite(suite_version(), self.contract.digest, check_set_digest()),
            target=clean(self.profile.base_url),
            profile=ProfileInfo(clean(self.profile.name), self.profile.digest, clean(str(path))),
            seed=self.seed,
            run=self.run,
            started_at=self._started_at,
            requirements=tuple(self.contract.requirements.values()),
            operations=tuple(operation.info for operation in self.contract.all),
            planned=tuple(_planned(instance, self.contract, again) for instance in selected),
            examples=self.options.examples or EXAMPLES,
            filtered=everything != {instance.id for instance in selected},
            again=again,
            options=self.secrets.redact_json(self.options.to_json()),
            unreachable={operation.id: unreachable(operation) for operation in self.contract.all},
            exclusions={clean(key): clean(reason) for key, reason in self.profile.exclusions.items()},
            provokes=self.profile.rate_limit.provoke,
            answer_schemas={operation.id: operation.response_schema for operation in self.contract.all},
            waivers=tuple(self.profile.waivers),
            shard=Shard(number + 1, shards, len(everything), clean(asked)) if shards > 1 else None,
        )

    @property
    def journal(self) -> Journal:
        if self._journal is None:
            name = f"journal-{self.part.worker}.ndjson" if self.part.worker else NAME
            self._journal = Journal(self.directory / name)
        return self._journal

    def join_workers(self) -> None:
        """The lines of all workers, behind the controller's own, where there is a run that they belong to."""
        if not self.planned:
            return
        for path in worker_journals(self.directory):
            for line in read(path):
                self.journal.append(self._redact(line))
            path.unlink()

    def _redact(self, line: Line) -> Line:
        """A worker's line without what only the other workers knew for a secret: a target may repeat one to all."""
        clean = self.secrets.clean_word
        match line:
            case ExchangeRecorded(exchange=exchange):
                return ExchangeRecorded(redact_exchange(exchange, clean))
            case CheckConcluded(result=result):
                return CheckConcluded(runner.redact_result(result, clean))
        return line

    def assembled(self) -> Run:
        if isinstance(self._journal, MemoryJournal):
            return assemble(self._journal.lines)
        return load(self.directory)

    # The part of whoever sends

    def settings_for(self, chosen: Sequence[Instance]) -> Settings:
        """What a runtime for these instances is made of."""
        number, shards = self.options.shard_index
        shard, part = f"s{number + 1}" if shards > 1 else "", f"r{self.earlier.part - 1}" if self.earlier else ""
        settings = Settings(
            profile=self.profile,
            contract=self.contract,
            keys=self.keys,
            journal=self.journal,
            secrets=self.secrets,
            run=f"{self.run}{self.part.worker}",
            concurrency=self.concurrency,
            seed=self.seed,
            examples=self.options.examples or EXAMPLES,
            exclusive_operations=tuple(sorted({i.operation.id for i in chosen if i.check.exclusive})),
            rerun_command=self.again,
            prefix=shard + part + (f"{self.part.worker}-" if self.part.worker else "x"),
            on_exchange=self.alarm.saw if self.alarm else None,
        )
        return settings if self.earlier is None else self._resumed(settings, self.earlier)

    def start(self, selected: Iterable[Instance]) -> None:
        """Begins to run everything that need not run alone, in the order given; chains first, unless time is short."""
        load_sender()
        chosen = list(selected)
        spent_s = time.monotonic() - self._began
        left_s = None if self.deadline_s is None else max(0.0, self.deadline_s - spent_s)
        settings = replace(self.settings_for(chosen), remaining_s=left_s, fail_fast=self.options.fail_fast)

        @contextlib.asynccontextmanager
        async def open_runtime() -> Any:
            asyncio.get_running_loop().set_exception_handler(_unheard)
            async with open_context(settings) as runtime:
                self._runtime = runtime
                yield runtime

        chains = [instance for instance in chosen if instance.check.chain]
        lanes = self.concurrency + _SPARE_LANES + len(chains)
        self._engine = Engine(open_runtime, workers=lanes, deadline_s=self.deadline_s, left_s=left_s)
        self._engine.start()
        first = () if self.options.fail_fast else chains
        rest = (one for one in chosen if not one.check.exclusive and (self.options.fail_fast or not one.check.chain))
        self._engine.submit(self._job(instance) for instance in (*first, *rest))

    def _resumed(self, settings: Settings, earlier: PreviousSegments) -> Settings:
        """The settings with what of earlier segments counts in this one too."""
        since = datetime.now(UTC) - datetime.fromisoformat(earlier.began_at)
        return replace(
            settings,
            requests_before=-(-earlier.requests // self.part.share[1]),  # all of them were sent by this shard
            since_s=max(0.0, since.total_seconds()),
            limits_provoked=earlier.limits_provoked,
        )

    def schedule(self, instances: Sequence[Instance]) -> None:
        """These are started when the first result is asked for."""
        self._scheduled = instances

    def result(self, instance: Instance) -> Result:
        """Waits for an instance. Raises engine.Stopped, or whatever broke the suite."""
        if self._engine is None:
            self.start(self._scheduled)
        assert self._engine is not None
        self._engine.submit([self._job(instance)])
        return self._engine.result(instance.id)

    def wait(self, instance: Instance) -> None:
        """Until an instance has a result or, sooner, anything failed (see `alarm`), or the engine stops."""
        assert self._engine is not None and self.alarm is not None
        self._engine.submit([self._job(instance)])
        self.alarm.event.clear()
        if not self.alarm.rung:
            self._engine.wait(instance.id, self.alarm.event)
        if self.alarm.violated and not self.alarm.failed:
            self.alarm.event.clear()
            self._engine.wait(self.alarm.by, self.alarm.event, _OWN_WORD_S)

    def _job(self, instance: Instance) -> Job[Runtime, Result]:
        async def work(runtime: Runtime) -> Result:
            return await runner.run(instance, runtime)

        heard = self.alarm.heard(instance.id, work) if self.alarm else work
        return Job(instance.id, heard, instance.check.exclusive)

    def finish(self, interrupted: str = "") -> None:
        """Ends the engine and, where the run began, writes the journal's last line."""
        flow = self._runtime.sender if self._runtime else None
        if self._engine is not None:
            self._engine.stop(interrupted)
            interrupted = self._engine.stopped or (flow.limit_reached if flow else "") or interrupted
            if self._engine.failure is not None:
                interrupted = interrupted or f"the suite erred: {self._engine.failure}"
        if not (self.planned or self.part.worker):
            return
        with contextlib.suppress(JournalError):
            self.journal.append(
                SegmentEnded(
                    finished_at=now(),
                    interrupted=self.secrets.clean_truncated(interrupted),
                    worker=self.part.worker,
                    traffic=flow.traffic_stats if flow else TrafficStats(),
                    fixtures=dict(self._runtime.fixtures.issue_counts) if self._runtime else {},
                )
            )


def _unheard(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What ends a run is told once, by whoever waited for it; not again by each task that nobody waits for any more."""
    if not isinstance(context.get("exception"), ConformanceError):
        loop.default_exception_handler(context)


def _planned(instance: Instance, contract: Contract, again: str) -> PlannedCheck:
    level = contract.requirements[instance.check.requirement].level
    blank = runner.blank_result(instance, level, again)
    return PlannedCheck(blank.check, blank.requirement, blank.operation, blank.case, blank.level, blank.reproduce)


def _loaded(options: RunOptions) -> Profile:
    return load_profile(_path_of(options), base_url=options.base_url or None, variables=options.variables)


def _path_of(options: RunOptions) -> Path:
    """Raises UsageError."""
    if options.profile is None:
        raise UsageError("no profile was given", where="--profile", hint="name the target's TOML file")
    return options.profile
