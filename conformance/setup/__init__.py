"""Before a run: a first draft of a profile (probe), the set-up proven (doctor), what would be sent (plan)."""

__all__ = ["doctor", "plan", "probe"]
