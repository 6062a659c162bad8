"""`conformance run --plan`: what a run would send."""
