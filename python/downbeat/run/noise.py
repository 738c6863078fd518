"""Measures the noise floor of a machine: interruptions of a busy loop, on all cores at once.

`measure` starts this module as a program, once per processor. A loop reads the clock without pause; a gap between two
readings that is longer than a step of the loop is an interruption.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

from downbeat.errors import DownbeatError
from downbeat.run.machine import Finding

MIN_GAP_NS = 1000  # shortest interruption that counts; a step takes tens of ns, with the hpet clock 1000 ns
CALIBRATION_STEPS = 10_001  # steps whose median is the duration of a step; odd, so the median is a value


def interruptions(start_ns: int, seconds: float) -> tuple[list[int], int, int]:
    """Runs the busy loop on the clock of `time.perf_counter_ns`.

    Args:
        start_ns: start time, common to all loops.
        seconds: duration.

    Returns:
        The durations of interruptions, minus a median step of the loop; the run time; the median step. All in ns.
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
        if now - before - step > MIN_GAP_NS:
            gaps.append(now - before - step)
        before = now
    return gaps, before - first, step


def main() -> None:
    """Runs the loop on one processor and prints its interruptions. Arguments: processor, start in ns, seconds."""
    cpu, start_ns, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    os.sched_setaffinity(0, {cpu})
    gc.disable()
    gaps, elapsed, step = interruptions(start_ns, seconds)
    print(json.dumps({"cpu": cpu, "gaps_ns": gaps, "elapsed_ns": elapsed, "step_ns": step}))


THRESHOLDS_US = (1, 5, 50)  # durations of interruptions; rates of longer ones are reported
LOOP_START_SECONDS = 0.5  # until all loops are ready
LOOP_PATIENCE_SECONDS = 60  # for a loop to report after its end
# Lost shares of time. Up to the first, samples of some microseconds are rarely interrupted (good). Up to the second, a
# notice.
MAX_LOST_GOOD = 0.001
MAX_LOST_NOTICE = 0.02


@dataclass(frozen=True)
class Noise:
    """The interruptions of a busy loop on one processor.

    Attributes:
        cpu: the processor.
        longest: longest interruption, s.
        per_second: threshold in us -> rate of longer interruptions, 1/s.
        lost: share of the run time lost in interruptions.
        resolution: step of the loop, s; shorter interruptions are not detected.
    """

    cpu: int
    longest: float
    per_second: Mapping[int, float]
    lost: float
    resolution: float


def noise_of(cpu: int, gaps_ns: list[int], elapsed_ns: int, step_ns: int) -> Noise:
    """Summarizes the results of `interruptions` on a processor."""
    seconds = elapsed_ns * 1e-9
    return Noise(
        cpu=cpu,
        longest=max(gaps_ns, default=0) * 1e-9,
        per_second={limit: sum(gap > limit * 1000 for gap in gaps_ns) / seconds for limit in THRESHOLDS_US},
        lost=sum(gaps_ns) / elapsed_ns,
        resolution=step_ns * 1e-9,
    )


def measure(cpus: list[int], seconds: float) -> list[Noise]:
    """Runs a busy loop on each of some processors, all at the same time.

    Raises:
        DownbeatError: a loop ended without a report.
    """
    # All processes of a machine share the clock of perf_counter (CLOCK_MONOTONIC).
    start = time.perf_counter_ns() + int(LOOP_START_SECONDS * 1e9)
    loops = [
        subprocess.Popen(
            [sys.executable, "-m", "downbeat.run.noise", str(cpu), str(start), str(seconds)],
            stdout=subprocess.PIPE,
        )
        for cpu in cpus
    ]
    try:
        answers = [loop.communicate(timeout=seconds + LOOP_PATIENCE_SECONDS)[0] for loop in loops]
        return [noise_of(**json.loads(answer)) for answer in answers]
    except (subprocess.TimeoutExpired, json.JSONDecodeError) as error:
        raise DownbeatError("a busy loop reported no interruptions; measure again, or use --seconds 0") from error
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def judge_noise(noises: list[Noise]) -> Finding:
    """The finding on the noise of all cores, judged by the core that lost most time."""
    worst = max(noises, key=lambda noise: noise.lost)
    longest = max(noise.longest for noise in noises)
    seen = (
        f"processor {worst.cpu} lost {worst.lost:.2%} of its time, interrupted {worst.per_second[5]:.0f} times per "
        f"second for more than 5 us; the longest of all took {longest * 1e6:.0f} us"
    )
    if worst.lost <= MAX_LOST_GOOD:
        return Finding("noise", seen, "good")
    advice = "interrupted samples are slow: trust medians; percentiles above the 90th show the machine"
    if worst.lost <= MAX_LOST_NOTICE:
        return Finding("noise", seen, "notice", advice)
    return Finding("noise", seen, "problem", f"look for the cause (top, /proc/interrupts); {advice}")


if __name__ == "__main__":
    main()
