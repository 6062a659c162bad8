"""`conformance probe` and `init`: draft a profile from the responses of a target."""
