"""The journal of a run: its lines, writers and readers, exchanges, run folder, segments and shards."""

__all__ = ["exchange_store", "fold", "journal", "lines", "outbox", "reader", "run_directory", "segments", "shards"]
