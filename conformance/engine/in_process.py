"""A run without pytest, for the kill matrix: it judges hundreds of targets in one process."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from conformance.checks.support.registry import Instance
from conformance.core.model import Run
from conformance.core.run_options import RunOptions
from conformance.engine.scheduler import EngineShutdown
from conformance.engine.session import Session
from conformance.journal.journal import MemoryJournal
from conformance.profile.loader import profile_from_document
from conformance.profile.model import Profile


def judge(
    options: RunOptions,
    select: Callable[[Instance], bool] = lambda _: True,
    *,
    profile: Profile | None = None,
    keep_journal: bool = True,
    journal: MemoryJournal | None = None,
    arrange: Callable[[Session, list[Instance]], list[Instance]] = lambda _, selected: selected,
) -> Run:
    """Certifies one target with the checks that `select` accepts.

    The journal is written to `options.report_dir`; with `keep_journal=False` it stays in memory, without bodies.
    `journal` replaces either.
    `profile` replaces the one of `options.profile`. `arrange` sorts the selected checks, or leaves some out.
    Raises ConformanceError like a run from the command line.
    """
    if journal is None and not keep_journal:
        journal = MemoryJournal(evidence=False)
    session = Session(options, profile=profile, journal=journal)
    session.claim()
    return run_instances(session, arrange(session, [i for i in session.instances if select(i)]))


def run_instances(session: Session, selected: Iterable[Instance]) -> Run:
    """Runs the selected instances of a session whose folder is claimed, and assembles the run."""
    chosen = sorted(selected, key=lambda instance: instance.check.exclusive)
    session.write_head(chosen)
    session.start(chosen)
    try:
        for instance in chosen:
            session.result(instance)
    except EngineShutdown:
        pass
    finally:
        session.finish()
    return session.assemble_run()


def patched_profile(options: RunOptions, patch: Mapping[str, Any]) -> Profile:
    """The profile of the options with a patch merged into its document, as by `merge_patch`. Raises ProfileError."""
    assert options.profile is not None
    return document_profile(options, merge_patch(tomllib.loads(options.profile.read_text(encoding="utf-8")), patch))


def document_profile(options: RunOptions, document: Mapping[str, Any]) -> Profile:
    """The profile that a document states, for the target of the options. Raises ProfileError."""
    assert options.profile is not None
    return profile_from_document(
        document,
        directory=options.profile.parent,
        path=options.profile,
        base_url=options.base_url or None,
        variables=options.variables,
    )


def merge_patch(document: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """The document with a patch: tables are merged recursively, lists and exclusions replaced; None removes a key.

    A table is merged into each table of an array.
    """
    patched = dict(document)
    for name, value in patch.items():
        if value is None:
            patched.pop(name, None)
        elif isinstance(value, Mapping) and isinstance(patched.get(name), Mapping) and not _is_exclusion(value):
            patched[name] = merge_patch(patched[name], value)
        elif isinstance(value, Mapping) and isinstance(patched.get(name), list) and not _is_exclusion(value):
            patched[name] = [merge_patch(table, value) for table in patched[name]]
        else:
            patched[name] = value
    return patched


def _is_exclusion(table: Mapping[str, Any]) -> bool:
    """Whether `none` holds a reason: it may also be a table, of the credential that has this name."""
    return isinstance(table.get("none"), str)


def reference_options(base_url: str, control_url: str, target: str, profile: Path, report_dir: Path) -> RunOptions:
    """The options for one target of the reference service, which serves it under the path prefix `target`."""
    prefix = f"/{target}" if target else ""
    return RunOptions(
        profile=profile,
        base_url=base_url + prefix,
        variables={"control": control_url + prefix},
        report_dir=report_dir,
        seed=0,
    )
