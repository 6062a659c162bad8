"""Judgement, as pure functions: exchanges -> findings, journal -> Run (design, The way of the data)."""

__all__ = [
    "answer_scope", "assemble", "coverage", "invariant_results", "invariants",
    "laws", "public_calls", "scope", "validators", "verdict",
]  # fmt: skip
