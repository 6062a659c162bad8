"""Scheduling: how many at once, back-off, what must run alone, control reuse (design, Engine)."""
