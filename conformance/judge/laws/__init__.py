"""Laws over several exchanges, judged from recorded traffic that no check has sent.

Each law says what it needs to be sure, and is silent where the traffic is ambiguous: lost answers, calls that overlap,
truncated bodies, values that were redacted without a mark, facts that the profile does not state.
"""
