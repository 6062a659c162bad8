"""What a run costs, and what it is worth beside what people would use instead: `python -m tests.benchmarks`."""
