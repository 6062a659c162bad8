"""Legitimate readings, one file a subject. A new one is a function here with the decorator `registry.variant`."""
