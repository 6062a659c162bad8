"""The program: `conformance` and `python -m conformance`."""

import sys

from conformance.core.gc_tuning import reduce_collections


def main(program: str | None = None) -> None:
    """Runs the command of `sys.argv`. `program`: its name in messages, where `sys.argv[0]` is another one."""
    try:
        with reduce_collections():  # imports create many objects and no garbage: collections take a tenth of their time
            from conformance.cli import main as command
    except KeyboardInterrupt:
        from conformance.core.exit_codes import EXIT_INTERRUPTED

        print("error: interrupted", file=sys.stderr)
        raise SystemExit(EXIT_INTERRUPTED) from None
    command(prog_name=program)


if __name__ == "__main__":
    main()
