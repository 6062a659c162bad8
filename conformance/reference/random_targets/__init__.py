"""Random targets: any mixture of legitimate readings, as a policy and as the profile that its owner would write."""
