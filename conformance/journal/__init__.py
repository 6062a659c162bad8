"""The journal of a run: its lines, their writers and readers, the exchanges in it, a run's folder, its segments."""

__all__ = ["exchange_store", "journal", "outbox", "run_directory", "segments", "shards"]
