"""`pq` and `python -m pq`."""

import sys

from pq.cli.quick import quick_top


def main() -> int:
    """Answer `pq top` at once where that is possible; load the command line otherwise."""
    if sys.argv[1:] == ["top"] and (name := quick_top()) is not None:
        sys.stdout.buffer.write(name.encode() + b"\n")
        return 0
    import signal

    try:
        from pq.cli.main import run
    except KeyboardInterrupt:
        sys.stderr.write("pq: interrupted\n")
        return 130
    for number in (signal.SIGTERM, signal.SIGHUP):  # like Ctrl-C: what was begun is taken back, what was started is ended
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, signal.default_int_handler)
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
