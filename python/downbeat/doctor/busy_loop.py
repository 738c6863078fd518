"""Runs a busy loop on one processor and reports how it was interrupted.

python -m downbeat.doctor.busy_loop CPU START_NS SECONDS

Reads the clock again and again; where two readings are far apart, something else ran in between.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import sys
import time

SHORTEST_NS = 1000  # what is taken for an interruption, beyond a step of the loop: tens of nanoseconds, by hpet 1000
CALIBRATION_STEPS = 10_001


def interruptions(start_ns: int, seconds: float) -> tuple[list[int], int, int]:
    """Runs the loop on the clock of `time.perf_counter_ns`.

    Args:
        start_ns: when it begins, so that many begin together.
        seconds: how long.

    Returns:
        The durations of interruptions in ns, a usual step of the loop taken out; how long it ran, and that step, in ns.
    """
    clock = time.perf_counter_ns
    stamps = [clock() for _ in range(CALIBRATION_STEPS)]
    step = sorted(after - before for before, after in itertools.pairwise(stamps))[CALIBRATION_STEPS // 2]
    gaps = []
    while clock() < start_ns:
        pass
    first = before = clock()
    end = first + int(seconds * 1e9)
    while before < end:
        now = clock()
        if now - before - step > SHORTEST_NS:
            gaps.append(now - before - step)
        before = now
    return gaps, before - first, step


def main() -> None:
    cpu, start_ns, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    os.sched_setaffinity(0, {cpu})
    gc.disable()
    gaps, elapsed, step = interruptions(start_ns, seconds)
    print(json.dumps({"cpu": cpu, "gaps_ns": gaps, "elapsed_ns": elapsed, "step_ns": step}))


if __name__ == "__main__":
    main()
