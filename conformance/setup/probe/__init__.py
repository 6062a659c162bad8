"""`conformance probe` and `init`: drafts a profile from what a target shows."""
