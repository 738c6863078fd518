"""Simulates how often intervals hold and verdicts are right, on made-up launches whose truth is known.

python -m tests.statistics [--experiments N] [--output FILE] [FAMILY ...]

All families are simulated if none is named. Prints tables and promises, and writes all figures to FILE (default
build/bench-statistics.json). Takes about a quarter of an hour on one core.
"""

from __future__ import annotations

import sys

from benchmarks.promises import print_promises
from benchmarks.running import Parser, write_json
from tests.statistics import (
    alarms,
    choices,
    claims,
    conditions,
    faults,
    histories,
    intervals,
    powers,
    real,
    sessions,
    states,
    steps,
    strangers,
    typical,
    verdicts,
)

NAME = "bench-statistics"
DEFAULT = 4000  # experiments; the tables of docs/statistics.md are of 10,000
FAMILIES = {
    "alarms": alarms.simulate,
    "choices": choices.simulate,
    "choices_of_kinds": choices.simulate_kinds,
    "choices_in_steps": choices.simulate_steps,
    "claims": claims.simulate,
    "claims_at_border": claims.simulate_border,
    "claims_of_kinds": claims.simulate_strange,
    "conditions": conditions.simulate,
    "extremes": verdicts.simulate_extremes,
    "faults": faults.simulate,
    "faults_among_few": faults.simulate_few,
    "faults_power": faults.simulate_powers,
    "histories": histories.simulate,
    "intervals": intervals.simulate,
    "launch_medians": intervals.simulate_launch_medians,
    "next_step": powers.simulate_next_step,
    "power": powers.simulate,
    "real": real.simulate,
    "sessions": sessions.simulate,
    "sessions_of_kinds": sessions.simulate_kinds,
    "states": states.simulate,
    "steps": steps.simulate,
    "strangers": strangers.simulate,
    "typical": typical.simulate,
    "verdicts": verdicts.simulate,
}


def main() -> int:
    """Simulates, prints, writes; returns 0 even if a promise was missed: a measurement is not a test."""
    parser = Parser(NAME, "Simulates what intervals and verdicts are worth.")
    parser.add_argument("family", nargs="*", help=f"what to simulate, of {', '.join(FAMILIES)} [all]")
    parser.add_number("--experiments", DEFAULT, "simulated for each figure", low=100)
    parser.add_output()
    arguments = parser.parse_args()
    for name in arguments.family:
        if name not in FAMILIES:
            parser.error(f"{name}: valid are {', '.join(FAMILIES)}")
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
