"""The questions of `conformance init`: facts that only a person knows."""
