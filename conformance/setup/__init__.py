"""Setting up: from a target that answers to a profile that says what it does (probe, draft)."""
