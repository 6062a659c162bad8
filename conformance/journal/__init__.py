"""The journal of a run: its lines, their writers and readers, the exchanges in it, a run's folder, its segments."""

__all__ = ["exchange_store", "fold", "journal", "lines", "outbox", "reader", "run_directory", "segments", "shards"]
