"""Exchanges that others sent: read from a recording, or seen by a proxy, as answers that the judge can judge."""
