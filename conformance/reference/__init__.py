"""The reference service: a real implementation of the interface, its legitimate variants and its seeded faults.

Side B of the house: it imports nothing of the suite but `conformance.core.errors`, and it never reads the contract.
"""

__all__ = ["command", "drawn", "registry"]
