"""`python -m conformance.reference`: the service as a process of its own; prints one line of JSON when ready."""

from __future__ import annotations

import argparse
import sys

from conformance.core.errors import ConformanceError
from conformance.reference.command import serve


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.reference", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--control-port", type=int, default=0, help="0: a free one")
    parser.add_argument("--database", help="a SQLAlchemy URL; SQLite in memory without it")
    parser.add_argument("--variant", action="append", help="shape the default target by this variant; may repeat")
    parser.add_argument("--fault", action="append", help="shape the default target by this fault; may repeat")
    parser.add_argument("--workers", type=int, default=1, help="number of processes, on a shared database")
    options = parser.parse_args(arguments)
    try:
        return serve(
            options.port,
            options.control_port,
            options.database,
            options.variant,
            options.fault,
            options.host,
            as_json=True,
            workers=options.workers,
        )
    except ConformanceError as error:
        print(error, file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
