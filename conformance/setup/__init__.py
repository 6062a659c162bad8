"""Commands before a run: probe drafts a profile, doctor verifies the set-up, plan lists the planned requests."""

__all__ = ["doctor", "plan", "probe"]
