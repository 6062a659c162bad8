"""Sending one operation: request, wire, transport, credentials, DPoP, fixtures, recorder (design, The house)."""

__all__ = [
    "created_resources",
    "dpop",
    "fixtures",
    "limit_watch",
    "pattern",
    "pauses",
    "raw_socket",
    "reachability",
    "recorder",
    "redaction",
    "request",
    "request_builder",
    "response",
    "retry_after",
    "send_errors",
    "sender",
    "throttle",
    "traffic",
    "transport",
]
