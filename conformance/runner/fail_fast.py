"""`-x`: the run ends when the first failure occurs, not when pytest's order reaches it."""

from __future__ import annotations

from itertools import zip_longest

import pytest

from conformance.engine.session import Session
from conformance.runner.items import CheckItem, session_key


class FirstFailure:
    """A pytest plugin, registered with `-x`. In a split run each process keeps pytest's order."""

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """pytest's own loop, except that an item that failed is reported in place of the one that is awaited."""
        own = session.config.stash.get(session_key, None)
        if own is None or own.alarm is None or session.testsfailed or session.config.option.collectonly:
            return None
        if own.part.worker or session.config.getoption("dist", "no") != "no":
            return None
        checks = {item.instance.id: item for item in session.items if isinstance(item, CheckItem)}
        for planned, following in zip_longest(session.items, session.items[1:]):
            item = planned
            if isinstance(planned, CheckItem):
                item = checks[_first_to_tell(planned, own) or planned.instance.id]
            # the next check is not known, so that fixtures of other tests are torn down before it
            nextitem = None if isinstance(following, CheckItem) else following
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
        return True


def _first_to_tell(planned: CheckItem, own: Session) -> str:
    """The id of the check that failed; empty if none did. Raises pytest's Failed if an invariant was violated."""
    alarm = own.alarm
    assert alarm is not None
    own.wait(planned.instance)
    if alarm.violated and not alarm.failed:
        planned.session.shouldfail = f"stopping at the first failure: {alarm.violated}"
        raise planned.session.Failed(planned.session.shouldfail)
    return alarm.failed
