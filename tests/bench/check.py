"""What the checks cost (`--rounds R`), and whether the targets hold: the cheap ones beside compiling, imports beside those of a fresh process."""

from __future__ import annotations

import argparse

from tests.bench import imports, rules


def main() -> None:
    """Measure and print the tables."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rounds", type=int, default=3)
    rounds = asked.parse_args().rounds
    rules.measure(rounds)
    imports.measure(rounds)


if __name__ == "__main__":
    main()
