"""Commands before a run: init asks, probe drafts a profile, doctor verifies the set-up, plan lists the requests."""

__all__ = ["doctor", "plan", "probe", "questionnaire"]
