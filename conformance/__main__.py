"""`python -m conformance`."""

from conformance.cli import main

main()
