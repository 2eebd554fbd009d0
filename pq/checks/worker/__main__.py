"""Runs in the interpreter of the import check, which need not have pq: standard library only, no import of pq.

`python -I FOLDER ORDER` carries out one order (see `pq_imports`) and writes the answer to the open pipe `answer`.
`python -I FOLDER --stay ORDER` loads what the candidate trees import from elsewhere, and waits for orders (see `pq_station`).
"""

from __future__ import annotations

import json
import os
import sys

import pq_imports
import pq_station


def main() -> None:
    """Do what the arguments say."""
    del sys.path[0]  # where these modules are; the candidate must not find them
    *words, text = sys.argv[1:]
    sys.argv[1:] = []
    sys.dont_write_bytecode = False
    if words:
        pq_station.stay(json.loads(text))
        return
    order, process = json.loads(text), os.getpid()
    reply = json.dumps(pq_imports.attempt(order)).encode()
    while reply and os.getpid() == process:  # a process that an import forked off has no say
        reply = reply[os.write(order["answer"], reply) :]
    os._exit(0)


if __name__ == "__main__":
    main()
