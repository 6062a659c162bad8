"""Before a run: whether the set-up is right, what a run would send, and a first draft of a profile."""
