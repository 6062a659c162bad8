"""`-x`: the run ends when the first failure occurs, not when pytest's order reaches it."""

from __future__ import annotations

from itertools import zip_longest
from typing import Final

import pytest

from conformance.engine.session import Session
from conformance.runner.items import CheckItem, session_key

INTERRUPTED_WORKER: Final = "keyboard-interrupt"
"""How pytest-xdist describes the end of a worker that was interrupted."""


class FirstFailure:
    """A pytest plugin, registered with `-x`. In a split run each process keeps pytest's order."""

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """pytest's own loop, except that an item that failed is reported in place of the one that is awaited."""
        run_session = session.config.stash.get(session_key, None)
        if run_session is None or run_session.alarm is None or session.testsfailed or session.config.option.collectonly:
            return None
        if run_session.part.worker or session.config.getoption("dist", "no") != "no":
            return None
        checks = {item.instance.id: item for item in session.items if isinstance(item, CheckItem)}
        for planned, following in zip_longest(session.items, session.items[1:]):
            item = planned
            if isinstance(planned, CheckItem):
                item = checks[_failed_check_id(planned, run_session) or planned.instance.id]
            # the next check is not known, so that fixtures of other tests are torn down before it
            nextitem = None if isinstance(following, CheckItem) else following
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
        return True


def is_failure_of_a_worker(stop: KeyboardInterrupt) -> bool:
    """Whether a worker has stopped at its first failure: pytest-xdist raises an interrupt of its own for that."""
    return type(stop) is not KeyboardInterrupt and not str(stop).endswith(INTERRUPTED_WORKER)


def _failed_check_id(planned: CheckItem, run_session: Session) -> str:
    """The id of the check that failed; empty if none did. Raises pytest's Failed if an invariant was violated."""
    alarm = run_session.alarm
    assert alarm is not None
    run_session.wait(planned.instance)
    if alarm.violation and not alarm.failed_instance:
        planned.session.shouldfail = f"stopping at the first failure: {alarm.violation}"
        raise planned.session.Failed(planned.session.shouldfail)
    return alarm.failed_instance
