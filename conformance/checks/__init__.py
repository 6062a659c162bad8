"""The checks: short async functions, one subject a file. A check judges a target; a test judges this project."""

__all__ = ["catalog", "support"]
