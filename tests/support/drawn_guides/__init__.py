"""The guide that the operator of a random target would write, from its policy."""
