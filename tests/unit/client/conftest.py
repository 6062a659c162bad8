"""The sender of the client's tests."""

from tests.support.senders import through

__all__ = ["through"]
