"""Judgement, as pure functions: exchanges -> findings, journal -> Run (design, The way of the data)."""
