"""Drawing targets. Only this module needs hypothesis, and only when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.reference.drawn.choices import CHOICES, REFERENCE, STAGES, SUBSETS, Drawn, settled

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_SPARE = 4
"""So many draws for each target that is wanted: what hypothesis draws one after the other is often alike."""


def drawn_targets() -> SearchStrategy[Drawn]:
    """Any legitimate target; it shrinks towards the reference's own readings."""
    from hypothesis import strategies as st

    def some(names: tuple[str, ...]) -> SearchStrategy[tuple[str, ...]]:
        return st.lists(st.sampled_from(names), unique=True).map(lambda chosen: tuple(sorted(chosen, key=names.index)))

    orders = st.sampled_from((STAGES[:-1], STAGES)).flatmap(st.permutations).map(tuple)
    algorithms = st.lists(st.sampled_from(REFERENCE.algorithms), min_size=1, unique=True).map(tuple)
    fields: dict[str, SearchStrategy[Any]] = {name: st.sampled_from(values) for name, values in CHOICES.items()}
    fields |= {name: some(values) for name, values in SUBSETS.items()}
    return st.builds(Drawn, stages=orders, algorithms=algorithms, **fields).map(settled)


def drawn(count: int, seed: int) -> list[Drawn]:
    """So many different targets; the same ones for the same seed and version of hypothesis."""
    import hypothesis

    found: dict[Drawn, None] = {}

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=_SPARE * (count + 10),
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(drawn_targets())
    def collect(target: Drawn) -> None:
        found.setdefault(target)

    collect()
    return [target for index, target in enumerate(found) if index % (len(found) // count) == 0][:count]
