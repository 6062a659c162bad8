"""The program: `conformance` and `python -m conformance`.

It imports everything late: Ctrl-C during an import of this module would end with a traceback of Python.
"""

import sys

_INTERRUPTED_CODE = 130


def main(program: str | None = None) -> None:
    """Runs the command of `sys.argv`. `program`: its name in messages, where `sys.argv[0]` is another one."""
    try:
        from conformance.core.interrupts import interrupt_when_terminated

        interrupt_when_terminated()
        from conformance.core.gc_tuning import reduce_collections

        with reduce_collections():  # imports create many objects and no garbage: collections take a tenth of their time
            from conformance.cli import main as command
        command(prog_name=program)
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        sys.exit(_INTERRUPTED_CODE)


if __name__ == "__main__":
    main()
