"""The reference service as two guides describe it: `profiles/guides/kestrel.md` and `heron.md`."""
