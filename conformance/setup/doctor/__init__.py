"""`conformance doctor`: proves the facts of a profile one by one before a run."""
