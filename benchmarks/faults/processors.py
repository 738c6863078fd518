"""Processors that are taken away: by a real-time process, a quota, an affinity, by more ranks than there are cores."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.faults.row import NotPossibleError, Outcome, Row
from benchmarks.faults.site import Ended, Site
from benchmarks.faults.stops import failure_of, figures_of, judge_starts, with_timeout

BURST = (1e-3, 50e-3)  # s, for which the hog has a processor, and leaves it
PERIOD = sum(BURST)  # of both, in the mean
PRIORITY = 10
CONTROL_GROUPS = Path("/sys/fs/cgroup")
QUOTAS = (0.3, 1.5)  # of a processor, for two ranks that would take two
QUOTA_PERIOD_US = 20000
QUOTA_SECONDS = 0.1  # of starts under each
GONE_SECONDS = 5.0
LOADED_SECONDS = 60.0  # of starts beside other programs


def hog(processor: int, seed: int) -> None:
    """Takes a processor in bursts, at a priority above all ordinary processes, until it is killed."""
    import random

    chance = random.Random(seed)
    os.sched_setaffinity(0, {processor})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    while True:
        end = time.monotonic() + chance.uniform(*BURST)
        while time.monotonic() < end:
            pass
        time.sleep(chance.uniform(*BURST))


@contextlib.contextmanager
def hogged(site: Site) -> Iterator[None]:
    """Has a hog on the last processor."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except PermissionError as error:
        raise NotPossibleError("real-time priority is not permitted here") from error
    process = multiprocessing.Process(target=hog, args=(max(os.sched_getaffinity(0)), site.chance.random()))
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


def starts(site: Site, count: int, seconds: float, ranks: int = 2) -> Ended:
    """Makes so many harmonized starts."""
    command = with_timeout(site.launch("fault-starts", "starts", count, seconds, ranks=ranks), seconds + 60)
    return site.run(command, seconds=seconds + 75)


def judge(ended: Ended, tries: int) -> Iterator[Outcome]:
    """Judges starts that must end well."""
    figures = figures_of(ended)
    if figures:
        yield from judge_starts(figures, tries)
    else:
        yield Outcome("failed", tries, failure_of(ended))


def real_time_hog(site: Site, tries: int) -> Iterator[Outcome]:
    """Makes starts beside a real-time process that takes one of the processors in bursts."""
    with hogged(site):
        ended = starts(site, 1 << 40, tries * PERIOD)
    yield from judge(ended, tries)


def quota_group() -> tuple[Path, Callable[[float], None]]:
    """Makes a control group; returns it, and what sets its share of each period of a processor."""
    one, two = CONTROL_GROUPS / "cpu", CONTROL_GROUPS
    name = f"downbeat-faults-{os.getpid()}"
    try:
        if (one / "cpu.cfs_quota_us").exists() or (one / "cpu.shares").exists():
            group = one / name
            group.mkdir()
            (group / "cpu.cfs_period_us").write_text(str(QUOTA_PERIOD_US), encoding="ascii")
            return group, lambda share: write_quota(group / "cpu.cfs_quota_us", "{quota}", share)
        if "cpu" not in (two / "cgroup.subtree_control").read_text(encoding="ascii").split():
            raise NotPossibleError("the control groups of this machine leave nobody a quota")
        group = two / name
        group.mkdir()
        return group, lambda share: write_quota(group / "cpu.max", "{quota} {period}", share)
    except OSError as error:
        raise NotPossibleError(f"no control group can be made here: {error.strerror}") from error


def write_quota(path: Path, form: str, share: float) -> None:
    """Writes a quota in the form of a version of control groups."""
    text = form.format(quota=round(share * QUOTA_PERIOD_US), period=QUOTA_PERIOD_US)
    path.write_text(text, encoding="ascii")


def quota(site: Site, tries: int) -> Iterator[Outcome]:
    """Makes starts while the launch may use a part of a processor only, another part for each try."""
    group, set_share = quota_group()
    try:
        set_share(QUOTAS[1])
        seconds = 2.0 + tries * QUOTA_SECONDS
        running = site.start(with_timeout(site.launch("fault-starts", "starts", 1 << 40, seconds), seconds + 60))
        for rank in site.wait_for_ranks("fault-starts", 2):
            (group / "cgroup.procs").write_text(str(rank), encoding="ascii")
        for _ in range(tries):
            set_share(site.chance.uniform(*QUOTAS))
            time.sleep(QUOTA_SECONDS)
        set_share(len(os.sched_getaffinity(0)))
        ended = running.end(seconds + 75)
        throttled = int(dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())["nr_throttled"])
    finally:
        remove_group(group)
    if throttled < tries:
        yield Outcome("failed", tries, f"the quota took the processors away {throttled} times only")
    else:
        yield from judge(ended, tries)


def remove_group(group: Path) -> None:
    """Removes a control group, once the kernel has seen its last process end."""
    end = time.monotonic() + GONE_SECONDS
    while group.exists():
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def busy_loop(processor: int) -> None:
    """Keeps a processor busy, at the priority of the ranks, until it is killed."""
    os.sched_setaffinity(0, {processor})
    while True:
        pass


def loaded(each: int, site: Site, tries: int) -> Iterator[Outcome]:
    """Makes so many starts beside busy processes, so many on each processor; a minute at most."""
    processors = [processor for processor in os.sched_getaffinity(0) for _ in range(each)]
    busy = [multiprocessing.Process(target=busy_loop, args=(processor,)) for processor in processors]
    for process in busy:
        process.start()
    try:
        ended = starts(site, tries, LOADED_SECONDS)
    finally:
        for process in busy:
            process.kill()
            process.join()
    yield from judge(ended, figures_of(ended).get("calls", tries))


def crowd(factor: int, site: Site, tries: int) -> Iterator[Outcome]:
    """Launches more ranks than there are processors."""
    ranks = factor * len(os.sched_getaffinity(0))
    for _ in range(tries):
        ended = starts(site, 100, 60, ranks)
        figures = figures_of(ended)
        if not figures:
            yield Outcome("failed", 1, failure_of(ended))
            continue
        broken = next((one.broken for one in judge_starts(figures, 1) if one.broken), "")
        yield Outcome("launches of 100 starts or more ended in order; no false verdict", 1, broken)


def taken_away(site: Site, tries: int) -> Iterator[Outcome]:
    """Leaves all ranks one processor, and gives the others back, while they start."""
    processors = os.sched_getaffinity(0)
    if len(processors) < 2:
        raise NotPossibleError("there is only one processor")
    seconds = 1.0 + 0.4 * tries
    running = site.start(site.launch("fault-starts", "starts", 1 << 40, seconds))
    ranks = site.wait_for_ranks("fault-starts", 2)
    for _ in range(tries):
        time.sleep(site.chance.uniform(0.1, 0.3))
        left = {site.chance.choice(sorted(processors))}
        set_affinity(ranks, left)
        time.sleep(site.chance.uniform(0.05, 0.1))
        set_affinity(ranks, processors)
    ended = running.end(seconds + 60)
    figures = figures_of(ended)
    if not figures:
        yield Outcome("failed", tries, failure_of(ended))
        return
    broken = next((one.broken for one in judge_starts(figures, tries) if one.broken), "")
    yield Outcome("went on; no false verdict", tries, broken)


def set_affinity(ranks: list[int], processors: set[int]) -> None:
    """Sets where processes may run, with all their threads."""
    for rank in ranks:
        with contextlib.suppress(OSError):  # it has ended
            for thread in Path(f"/proc/{rank}/task").iterdir():
                os.sched_setaffinity(int(thread.name), processors)


def not_made(reason: str, site: Site, tries: int) -> Iterator[Outcome]:  # noqa: ARG001
    """Says why the table does not make a fault."""
    raise NotPossibleError(reason)
    yield


ROWS = (
    *(
        Row(
            name,
            f"{words}; a start is a try",
            "if all flags are 1 and all first stamps are in time, the start was common",
            functools.partial(loaded, each),
            2000000,
            quick,
        )
        for name, words, each, quick in (
            ("quiet", "no fault", 0, 1000),
            ("busy", "a busy process on each processor, at the priority of the ranks", 1, 200),
            ("busier", "three busy processes on each processor", 3, 0),
        )
    ),
    Row(
        "real-time-hog",
        "a real-time process takes one core, in bursts of 1 to 50 ms; a burst is a try",
        "no hang; if all flags are 1 and all first stamps are in time, the start was common",
        real_time_hog,
        1000,
        40,
    ),
    Row(
        "quota",
        "a control group's quota of processor time, 0.3 to 1.5 processors for both ranks; a quota is a try",
        "no hang; if all flags are 1 and all first stamps are in time, the start was common",
        quota,
        1000,
        0,
    ),
    Row(
        "frequency",
        "the processor's frequency changes; the host steals time",
        "as real-time-hog",
        functools.partial(not_made, "a virtual machine has no say in either, and other programs would feel it"),
        1000,
        0,
    ),
    Row(
        "crowd-4",
        "4 times as many ranks as processors",
        "no hang; no false verdict; a line says that there are too many",
        lambda site, tries: crowd(4, site, tries),
        20,
        1,
    ),
    Row(
        "crowd-16",
        "16 times as many ranks as processors",
        "the same",
        lambda site, tries: crowd(16, site, tries),
        20,
        0,
    ),
    Row(
        "affinity",
        "all ranks are moved to one processor during the run (as taskset or a cpuset does), and back",
        "no hang; no false verdict",
        taken_away,
        20,
        2,
    ),
)
