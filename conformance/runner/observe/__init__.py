"""Runs that send nothing: they judge the traffic of others, from recordings or through a proxy."""
