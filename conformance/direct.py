"""A run without pytest: for the kill matrix, where hundreds of targets are judged in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from conformance.checks.registry import Instance
from conformance.engine.engine import Stopped
from conformance.model import Run
from conformance.session import Options, Session


def judge(options: Options, select: Callable[[Instance], bool] = lambda instance: True) -> Run:
    """Certifies one target with the checks that `select` lets through. `options.report_dir` keeps the journal.

    Raises ConformanceError as a run from the command line does.
    """
    session = Session(options)
    session.claim()
    return complete(session, [instance for instance in session.instances if select(instance)])


def complete(session: Session, selected: Iterable[Instance]) -> Run:
    """Runs the selected instances of a session that has its folder, and assembles the run."""
    chosen = sorted(selected, key=lambda instance: instance.check.exclusive)
    session.write_head(chosen)
    session.start(chosen)
    try:
        for instance in chosen:
            session.result(instance)
    except Stopped:
        pass
    finally:
        session.finish()
    return session.assembled()


def reference_options(base_url: str, control_url: str, target: str, profile: Path, report_dir: Path) -> Options:
    """The options for one of the reference's targets, by the path prefix that it is served under."""
    place = f"/{target}" if target else ""
    return Options(
        profile=profile,
        base_url=base_url + place,
        variables={"control": control_url + place},
        report_dir=report_dir,
        seed=0,
    )
