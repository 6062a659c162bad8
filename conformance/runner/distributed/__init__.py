"""One run over several processes and machines, through pytest-xdist."""
