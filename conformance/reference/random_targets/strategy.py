"""Generation of random targets. Only this module needs hypothesis, and only when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.reference.random_targets.choices import REFERENCE, RandomTarget, make_consistent
from conformance.reference.random_targets.legitimate_values import CHOICES, STAGES, SUBSETS

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_EXAMPLES_PER_TARGET = 4
"""Examples generated for each target: consecutive examples of hypothesis are often similar."""


def target_strategy() -> SearchStrategy[RandomTarget]:
    """Any legitimate target; it shrinks towards the reference's own readings."""
    from hypothesis import strategies as st

    def subsets(names: tuple[str, ...]) -> SearchStrategy[tuple[str, ...]]:
        return st.lists(st.sampled_from(names), unique=True).map(
            lambda names_chosen: tuple(sorted(names_chosen, key=names.index))
        )

    orders = st.sampled_from((STAGES[:-1], STAGES)).flatmap(st.permutations).map(tuple)
    algorithms = st.lists(st.sampled_from(REFERENCE.algorithms), min_size=1, unique=True).map(tuple)
    fields: dict[str, SearchStrategy[Any]] = {name: st.sampled_from(values) for name, values in CHOICES.items()}
    fields |= {name: subsets(values) for name, values in SUBSETS.items()}
    return st.builds(RandomTarget, stages=orders, algorithms=algorithms, **fields).map(make_consistent)


def random_targets(count: int, seed: int) -> list[RandomTarget]:
    """`count` different targets; the same ones for the same seed and version of hypothesis."""
    import hypothesis

    targets: dict[RandomTarget, None] = {}

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=_EXAMPLES_PER_TARGET * (count + 10),
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(target_strategy())
    def collect(target: RandomTarget) -> None:
        targets.setdefault(target)

    collect()
    return [target for index, target in enumerate(targets) if index % (len(targets) // count) == 0][:count]
