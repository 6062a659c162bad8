"""How a run is driven: command, pytest plugin, progress, order, shards, pytest-xdist, many targets,
kill matrix; and the observation of traffic."""

__all__ = ["command", "embedded_reference", "kill_matrix", "many_targets", "observe", "progress"]
