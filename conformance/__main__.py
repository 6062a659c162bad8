"""The program: `conformance` and `python -m conformance`."""

from conformance.core.gc_tuning import reduce_collections


def main() -> None:
    with reduce_collections():  # imports create many objects and no garbage: collections take a tenth of their time
        from conformance.cli import main as command
    command()


if __name__ == "__main__":
    main()
