"""The first line of a run's journal: its identity, and everything that it will judge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from conformance.checks.support.registry import Instance, check_set_digest
from conformance.contract import Contract
from conformance.core.errors import UsageError
from conformance.core.model import ProfileInfo, Suite
from conformance.core.run_options import RunOptions
from conformance.engine import check_runner as runner
from conformance.engine.options import suite_version
from conformance.journal.lines import JOURNAL_VERSION, PlannedCheck, RunStarted, Shard
from conformance.judge.coverage import unreachable
from conformance.profile.source import key_lines

if TYPE_CHECKING:
    from conformance.engine.session import Session


def run_head(
    session: Session, selected: Sequence[Instance], selection: str, left_out: Sequence[Instance]
) -> RunStarted:
    """`selection`: the selection expressions, as text. `left_out`: what is not run in this depth."""
    clean, rerun_command, path = (
        session.secrets.clean,
        session.secrets.clean(session.rerun_command),
        profile_path(session.options).absolute(),
    )
    all_ids = {instance.id for instance in session.instances}
    number, shards = session.options.shard_index
    return RunStarted(
        schema_version=JOURNAL_VERSION,
        suite=Suite(suite_version(), session.contract.digest, check_set_digest()),
        target=clean(session.profile.base_url),
        profile=ProfileInfo(
            clean(session.profile.name),
            session.profile.digest,
            clean(str(path)),
            {clean(key): line for key, line in key_lines(path).items()},
        ),
        seed=session.seed,
        run=session.run_name,
        started_at=session.started_at,
        requirements=tuple(session.contract.requirements.values()),
        operations=tuple(operation.info for operation in session.contract.all),
        planned=(
            *(_planned_check(instance, session.contract, rerun_command) for instance in selected),
            *(_planned_check(instance, session.contract, rerun_command, left_out=True) for instance in left_out),
        ),
        examples=session.examples,
        depth=session.profile.limits.depth,
        filtered=all_ids != {instance.id for instance in (*selected, *left_out)},
        again=rerun_command,
        options=session.secrets.redact_json(session.options.to_json()),
        unreachable={operation.id: unreachable(operation) for operation in session.contract.all},
        exclusions={clean(key): clean(reason) for key, reason in session.profile.exclusions.items()},
        provokes=session.profile.rate_limit.provoke,
        answer_schemas={operation.id: operation.response_schema for operation in session.contract.all},
        unverified=not session.profile.tls.verify and urlsplit(session.profile.base_url).scheme == "https",
        further_members=session.profile.answers.further_members,
        waivers=tuple(session.profile.waivers),
        shard=Shard(number + 1, shards, len(all_ids), clean(selection)) if shards > 1 else None,
    )


def _planned_check(
    instance: Instance, contract: Contract, rerun_command: str, *, left_out: bool = False
) -> PlannedCheck:
    level = contract.requirements[instance.check.requirement].level
    blank = runner.blank_result(instance, level, rerun_command)
    return PlannedCheck(
        blank.check, blank.requirement, blank.operation, blank.case, blank.level, blank.reproduce, left_out
    )


def profile_path(options: RunOptions) -> Path:
    """Raises UsageError."""
    if options.profile is None:
        raise UsageError("no profile was given", where="--profile", hint="name the target's TOML file")
    return options.profile
