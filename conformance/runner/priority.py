"""The order in which checks start: the likeliest and cheapest evidence of a fault first.

What a check has found on one operation and in one case, it may find on any other (`best_first`). An instance counts for
what the ones before it may have missed, for each request that it costs (`costs.json`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from conformance.checks.support.registry import Instance
from conformance.core.defaults import QUICK_REQUESTS
from conformance.engine.session import Session
from conformance.runner.best_first import Search, Weights
from conformance.runner.evidence import Evidence, known_evidence

PLAIN_CHECK: Final = "check_public::the_operation_is_served_under_its_declared_path"
_PLANNED_SHARE: Final = 0.99
"""Of the requests of quick depth. A run on the reference sends as many as are planned or some more, since reads between
negatives are shared where those of an operation are close to each other."""
_WEIGHTS: Final = Weights(0.02, 1.0, 0.8, all_instances=0.6, single_instance=0.2)
"""Greater weights of unknown faults find more of the faults that the order was not fitted on, and fewer of the others:
`python -m tests.matrix.fit_order` has both figures."""
_WEIGHTS_UNTIL_FAILURE: Final = Weights(0.5, 0.5, 0.3, all_instances=0.2, single_instance=1.0)
"""The same, where only the first failure counts: breadth is worth less, and what is cheap and likely more."""


def sort_by_priority(
    instances: Iterable[Instance], evidence: Evidence | None = None, *, until_failure: bool = False
) -> list[Instance]:
    """The same instances; exclusive ones last, in their given order.

    `until_failure`: the run ends with the first failure, so that no requirement has to be covered before another.
    """
    return list(iterate_by_priority(list(instances), evidence, until_failure=until_failure))


def iterate_by_priority(
    instances: Sequence[Instance], evidence: Evidence | None = None, *, until_failure: bool = False
) -> Iterator[Instance]:
    """As `sort_by_priority`; each instance is chosen when it is asked for, since a run may end with the first ones."""
    ordinary = [instance for instance in instances if not instance.check.exclusive]
    weights, coverage = (_WEIGHTS_UNTIL_FAILURE, ()) if until_failure else (_WEIGHTS, _COVERAGE)
    yield from Search(ordinary, evidence or known_evidence(), weights, coverage).order()
    yield from (instance for instance in instances if instance.check.exclusive)


def select_within(instances: Iterable[Instance], budget: float, evidence: Evidence | None = None) -> frozenset[str]:
    """The ids of the instances that are worth most for about `budget` requests."""
    search = Search(list(instances), evidence or known_evidence(), _WEIGHTS, _COVERAGE)
    return frozenset(instance.id for instance in search.order(budget))


def select_quick(instances: Iterable[Instance], evidence: Evidence | None = None) -> frozenset[str]:
    """The ids of the instances that are run in quick depth.

    On each operation the check that needs its control only is among them: the others may lack facts of the profile.
    """
    known = list(instances)
    plain = (instance.id for instance in known if instance.check.id == PLAIN_CHECK)
    return select_within(known, _PLANNED_SHARE * QUICK_REQUESTS, evidence).union(plain)


def select_for_depth(instances: Sequence[Instance], session: Session) -> frozenset[str]:
    """The ids of the instances that are run in the depth of a session."""
    if session.profile.limits.depth != "quick":
        return frozenset(instance.id for instance in instances)
    return select_quick(instances)


def sort_for_session(instances: Sequence[Instance], session: Session) -> Iterable[Instance]:
    """By priority where the run may end before all of them; in quick depth by operation, spread over the run otherwise.

    The negatives of an operation share their last control where they are run one after the other.
    """
    if session.may_end_early:
        return iterate_by_priority(instances, until_failure=session.options.fail_fast)
    if session.profile.limits.depth != "quick":
        return spread_by_operation(instances)
    return sorted(instances, key=lambda i: (i.check.exclusive, "" if i.check.exclusive else i.operation.id))


def spread_by_operation(instances: Sequence[Instance]) -> list[Instance]:
    """The instances of each module and operation in their given order, evenly over the whole run.

    Negatives of one operation take turns: if they were left until the end, nothing else would be in flight.
    """
    groups = [(instance.operation.id, instance.check.subject) for instance in instances]
    counts, seen = Counter(groups), Counter[tuple[str, str]]()
    positions: list[float] = []
    for group in groups:
        seen[group] += 1
        positions.append((seen[group] - 0.5) / counts[group])
    return [instances[index] for index in sorted(range(len(instances)), key=positions.__getitem__)]


def sort_for_depth(session: Session, instances: list[Instance]) -> list[Instance]:
    """The instances that are run in the depth of a session, in their order."""
    selected_ids = select_for_depth(instances, session)
    return list(sort_for_session([instance for instance in instances if instance.id in selected_ids], session))


def _requirement(instance: Instance) -> str:
    return instance.check.requirement


def _operation(instance: Instance) -> str:
    return instance.operation.id


def _guard(instance: Instance) -> str:
    is_guard = _GUARDS.get(instance.check.id) in ("", instance.case)
    return f"{instance.check.id} {instance.operation.id}" if is_guard else ""


_GUARDS: Final = {
    "check_authentication::a_defective_credential_is_answered_401": "absent",
    "check_scopes::a_key_without_the_scope_is_answered_403": "",
    "check_public::a_public_operation_needs_no_credential": "",
    "check_hosted::a_hosted_operation_needs_no_credential": "",
    "check_idempotency::a_call_without_a_key_is_answered_400": "absent",
    "check_bodies::a_required_body_must_be_sent": "absent",
}
"""Check -> case, or "" for any, of what stands in front of each operation and is easily forgotten for one of them."""
_COVERAGE: Final = (_requirement, _operation, _guard)
"""Each requirement is asked once before any is asked twice, each operation is called, and each guard is tried there."""
