"""The reference service: a real implementation of the interface, its legitimate variants and its seeded faults.

It imports nothing of the suite but `conformance.core.errors`, and never reads the contract.
"""

__all__ = ["command", "random_targets", "registry"]
