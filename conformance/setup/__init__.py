"""Before a run: `probe` drafts a profile, `doctor` proves its facts, `plan` predicts the requests."""

__all__ = ["doctor", "plan", "probe"]
