"""Targets that are drawn: any mixture of legitimate readings, as a policy and as what its owner's profile says."""
