"""Sending one operation: request, wire, transport, credentials, DPoP, fixtures, recorder (design, The house)."""
