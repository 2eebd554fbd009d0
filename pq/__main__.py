"""`pq` and `python -m pq`."""

import sys

from pq.cli.quick import quick_top


def main() -> int:
    """Answer `pq top` at once where that is possible; load the command line otherwise."""
    if sys.argv[1:] == ["top"] and (name := quick_top()) is not None:
        sys.stdout.buffer.write(name.encode() + b"\n")
        return 0
    from pq.cli.main import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
