"""Simulates how often intervals hold and verdicts are right, on made-up launches whose truth is known.

python -m benchmarks.statistics [--experiments N] [--output FILE] [FAMILY ...]

Each family is a module in benchmarks/simulations; all are simulated if none is named. Prints tables and promises, and
writes all figures to FILE (default build/bench-statistics.json). Takes about 10 minutes on one core.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from downbeat.launchers.libraries import ROOT

from benchmarks.promises import print_promises
from benchmarks.running import fail, write_json
from benchmarks.simulations import (
    choices,
    claims,
    claims_at_border,
    conditions,
    extremes,
    intervals,
    launch_medians,
    launches,
    sessions,
    states,
    steps,
    verdicts,
)

NAME = "bench-statistics"
DEFAULT = 4000  # experiments; the tables of docs/statistics.md are of 10,000
FAMILIES = {
    "choices": choices.simulate,
    "claims": claims.simulate,
    "claims_at_border": claims_at_border.simulate,
    "conditions": conditions.simulate,
    "extremes": extremes.simulate,
    "intervals": intervals.simulate,
    "launch_medians": launch_medians.simulate,
    "launches": launches.simulate,
    "sessions": sessions.simulate,
    "states": states.simulate,
    "steps": steps.simulate,
    "verdicts": verdicts.simulate,
}


def main() -> int:
    """Simulates, prints, writes; returns 0 even if a promise was missed: a measurement is not a test."""
    parser = argparse.ArgumentParser(
        prog=NAME, description="Simulates what intervals and verdicts are worth.", allow_abbrev=False
    )
    parser.add_argument("family", nargs="*", help=f"what to simulate, of {', '.join(FAMILIES)} (default all)")
    parser.add_argument(
        "--experiments", type=int, default=DEFAULT, help=f"simulated for each figure (default {DEFAULT})"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "build/bench-statistics.json")
    arguments = parser.parse_args()
    if arguments.experiments < 100:
        fail(NAME, f"--experiments {arguments.experiments}: valid are integers from 100")
    for name in arguments.family:
        if name not in FAMILIES:
            fail(NAME, f"{name}: valid are {', '.join(FAMILIES)}")
    found = {name: FAMILIES[name](arguments.experiments) for name in arguments.family or FAMILIES}
    print(file=sys.stderr)
    for findings in found.values():
        for table in findings.tables:
            print(f"{table.text()}\n")
    print_promises([promise for findings in found.values() for promise in findings.promises])
    write_json(arguments.output, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
