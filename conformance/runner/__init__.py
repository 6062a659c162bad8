"""How a run is driven: command, pytest plugin, progress, order, shards, many targets, kill matrix, observed traffic."""

__all__ = ["command", "embedded_reference", "kill_matrix", "many_targets", "observe", "progress"]
