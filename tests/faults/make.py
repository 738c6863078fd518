"""Makes faults: starts a program, and disturbs it while it runs."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import random
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from downbeat.run.libraries import CHECKOUT

from tests.faults.trial import (
    RUN_SECONDS,
    Command,
    Make,
    Run,
    Site,
    Variables,
    link_of,
    processes,
    send,
    words_of,
)

FOREVER = 1 << 40  # starts
PROCESSORS = sorted(os.sched_getaffinity(0))
BURST_SECONDS = (1e-3, 50e-3)  # of the hog, and between two bursts
CLOCK_PERIOD = 0.1  # s, between faults of a clock
QUOTA_PERIOD_US = 20000
QUOTA_SECONDS = 0.1
CUT_SECONDS = 5.0
SOURCES = Path("/sys/devices/system/clocksource/clocksource0/available_clocksource")

Disturb = Callable[[Run], object]


def run(
    command: Callable[[Site], Command],
    seconds: float = RUN_SECONDS,
    variables: Variables | None = None,
    preload: str = "",
    program: str = "",
    disturb: Disturb | None = None,
) -> Make:
    """Runs a command, which may take `seconds` once its ranks (of `program`) have been disturbed."""

    def make(site: Site) -> Run:
        preloaded = {"LD_PRELOAD": site.library(preload)} if preload else {}
        running = site.start(command(site), {**preloaded, **(variables or {})})
        if program:
            running.wait_for_ranks(program)
        if disturb:
            disturb(running)
        return running.end(seconds)

    return make


def starts(
    mode: str = "starts",
    seconds: float = 2.0,
    per_try: float = 0.0,
    calls: int | None = FOREVER,
    ranks: int = 2,
    preload: str = "",
    variables: Variables | None = None,
    disturb: Disturb | None = None,
) -> Make:
    """Makes harmonized starts: `calls` (None: one per try), or as many as it can in `seconds` and `per_try` per try."""

    def make(site: Site) -> Run:
        length = seconds + site.count * per_try
        made = site.count if calls is None else calls
        command = site.launch("fault-starts", mode, made, length, ranks=ranks, timeout=length + 60, preload=preload)
        running = site.start(command, variables)
        running.wait_for_ranks("fault-starts", ranks)
        if disturb:
            disturb(running)
        return running.end(length + 75)

    return make


def stops(longest: float) -> Disturb:
    """Stops a rank at random moments, for 10 us to `longest` seconds, log-uniformly."""

    def disturb(running: Run) -> None:
        site = running.site
        site.made = 0
        time.sleep(0.2)  # MPI_Init
        while site.made < site.count and running.process.poll() is None and running.ranks:
            rank = site.chance.choice(running.ranks)
            send(signal.SIGSTOP, rank)
            time.sleep(math.exp(site.chance.uniform(math.log(1e-5), math.log(longest))))
            send(signal.SIGCONT, rank)
            site.made += 1
            time.sleep(site.chance.uniform(0, 2e-3))

    return disturb


def kill_rank(running: Run, within: float = 0.6) -> None:
    """Kills a rank at a random moment."""
    time.sleep(running.site.chance.uniform(0, within))
    send(signal.SIGKILL, running.site.chance.choice(running.ranks))


def kill_bench(command: Callable[[Site], Command]) -> Make:
    """Kills a rank of downbeat-bench at a random moment of the whole."""

    def make(site: Site) -> Run:
        normal = site.normal_seconds(command(site))
        killed = run(command, 20, program="downbeat-bench", disturb=lambda running: kill_rank(running, normal))
        return killed(site)

    return make


def burn(processor: int, seed: float | None) -> None:
    """Keeps a processor busy; with a seed in bursts, and at real-time priority."""
    os.sched_setaffinity(0, {processor})
    if seed is not None:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    chance = random.Random(seed)
    while True:
        end = time.monotonic() + chance.uniform(*BURST_SECONDS)
        while time.monotonic() < end:
            pass
        if seed is not None:
            time.sleep(chance.uniform(*BURST_SECONDS))


def busy(each: int = 1, real_time: bool = False) -> Disturb:
    """Keeps processors busy while the program runs: all of them `each` times, or the last one at real-time priority."""

    def disturb(running: Run) -> None:
        site = running.site
        seed = site.chance.random() if real_time else None
        if real_time and subprocess.run(["chrt", "-f", "10", "true"], check=False, capture_output=True).returncode:
            pytest.skip("real-time priority is not permitted here")
        where = PROCESSORS[-1:] if real_time else PROCESSORS * each
        burning = [multiprocessing.Process(target=burn, args=(processor, seed)) for processor in where]
        for process in burning:
            process.start()
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.process.wait(60 + site.count * sum(BURST_SECONDS) if real_time else 120)
        finally:
            for process in burning:
                process.kill()
                process.join()

    return disturb


def move(running: Run) -> None:
    """Leaves all ranks one processor, and gives the others back."""
    site = running.site
    if len(PROCESSORS) < 2:
        pytest.skip("there is only one processor")
    for _ in range(site.count):
        for processors, pause in (({site.chance.choice(PROCESSORS)}, (0.05, 0.1)), (set(PROCESSORS), (0.1, 0.3))):
            for rank in running.ranks:
                with contextlib.suppress(OSError):  # it has ended
                    for thread in Path(f"/proc/{rank}/task").iterdir():
                        os.sched_setaffinity(int(thread.name), processors)
            time.sleep(site.chance.uniform(*pause))


@contextlib.contextmanager
def control_group() -> Iterator[tuple[Path, Callable[[float], object]]]:
    """Makes a control group; gives it, and what sets its quota of processors."""
    name = f"downbeat-faults-{os.getpid()}"
    one, two = Path("/sys/fs/cgroup/cpu") / name, Path("/sys/fs/cgroup") / name
    try:
        group = one if one.parent.exists() else two
        if group is two and "cpu" not in (two.parent / "cgroup.subtree_control").read_text(encoding="ascii").split():
            pytest.skip("the control groups of this machine give nobody a quota")
        group.mkdir()
        if group is one:
            (group / "cpu.cfs_period_us").write_text(str(QUOTA_PERIOD_US), encoding="ascii")
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error.strerror}")

    def set_share(share: float) -> None:
        quota = str(round(share * QUOTA_PERIOD_US))
        path, text = ("cpu.cfs_quota_us", quota) if group is one else ("cpu.max", f"{quota} {QUOTA_PERIOD_US}")
        (group / path).write_text(text, encoding="ascii")

    try:
        yield group, set_share
    finally:
        end = time.monotonic() + 5.0
        while group.exists() and time.monotonic() < end:
            with contextlib.suppress(OSError):  # the kernel still sees a process end
                group.rmdir()
            time.sleep(0.02)


def quota(running: Run) -> None:
    """Lets the ranks have 0.3 to 1.5 processors together, another share each time."""
    site = running.site
    with control_group() as (group, set_share):
        for rank in running.ranks:
            (group / "cgroup.procs").write_text(str(rank), encoding="ascii")
        for _ in range(site.count):
            set_share(site.chance.uniform(0.3, 1.5))
            time.sleep(QUOTA_SECONDS)
        throttled = int(dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())["nr_throttled"])
        set_share(len(PROCESSORS))
        running.process.wait(75)
        if throttled < site.count:
            pytest.skip(f"the quota took processors away {throttled} times only; the machine is busy")


def wrong_clock(clock: str, *kinds: str, alone: bool = False, **variables: str) -> Make:
    """Makes starts while a clock is wrong, each of these in turn; `alone`: on one process, as on its own host."""

    def make(site: Site) -> Run:
        settings = {
            "DOWNBEAT_CLOCK": clock,
            "FAULT_CLOCK": f"{clock}:{kinds[site.number % len(kinds)]}:{CLOCK_PERIOD}",
            "DOWNBEAT_SHARE": "never" if alone else "verified",
            "FAULT_RANK": "1" if alone else None,
            **variables,
        }
        return starts(per_try=CLOCK_PERIOD, preload="fault-clock.so", variables=settings)(site)

    return make


def withdraw_clock(site: Site) -> Run:
    """Takes the TSC out of the kernel's list of clocks, in a mount namespace, while communicators are prepared."""
    if not SOURCES.exists() or "tsc" not in SOURCES.read_text(encoding="ascii").split():
        pytest.skip("the kernel here has no TSC")
    if site.run(["unshare", "-m", "true"]).status:
        pytest.skip("no mount namespace can be made here")
    listed = site.where / "available_clocksource"
    listed.write_text("tsc acpi_pm\n", encoding="ascii")
    length = 2.0 + 2 * site.count * CLOCK_PERIOD
    command = site.launch("fault-starts", "prepared", FOREVER, length, timeout=length + 30)
    mount = f"mount --make-rprivate / && mount --bind {shlex.quote(str(listed))} {SOURCES}"
    running = site.start(["unshare", "-m", "sh", "-c", f"{mount} && exec {shlex.join(map(str, command))}"])
    running.wait_for_ranks("fault-starts")
    for _ in range(site.count):
        for text in ("acpi_pm\n", "tsc acpi_pm\n"):
            listed.write_text(text, encoding="ascii")
            time.sleep(site.chance.uniform(0, 2 * CLOCK_PERIOD))
    return running.end(length + 45)


def on_hosts(seconds: float, timeout: float, disturb: Disturb) -> Make:
    """Makes starts on two hosts of namespaces."""

    def make(site: Site) -> Run:
        hosts = [CHECKOUT / "tests/hosts/hosts", "--hosts", 2, "--mpi", site.mpi, "--timeout", timeout, "--"]
        running = site.start([*hosts, site.program("fault-starts"), "starts", FOREVER, seconds])
        running.wait_for_ranks("fault-starts")
        if len(running.ranks) < 2:
            pytest.skip(f"no launch on hosts begins here within 20 s: {running.end(0).last_line}")
        time.sleep(1.0 + site.chance.uniform(0, 1.0))
        disturb(running)
        return running.end(timeout + 20)

    return make


def end_host(running: Run) -> None:
    """Kills everything on the last host."""
    everybody = processes("environ", running.site.mark)
    last = link_of(max(pid for pid in everybody if words_of(pid) == "sleep infinity"), "ns/net")  # keep_host
    send(signal.SIGKILL, *(pid for pid in everybody if link_of(pid, "ns/net") == last))


def cut_network(running: Run, for_good: bool = False) -> None:
    everybody = processes("environ", running.site.mark)
    switch = next(pid for pid in everybody if "/namespaces.py " in words_of(pid) and "python" in link_of(pid, "exe"))
    link = ["nsenter", "--target", str(switch), "--net", "ip", "link", "set", "host1"]
    subprocess.run([*link, "down"], check=True, capture_output=True)
    if not for_good:
        time.sleep(CUT_SECONDS)
        subprocess.run([*link, "up"], check=True, capture_output=True)


def fail_call(kind: str, handler: str = "returns") -> Make:
    """Fails the first, second, ... call of libdownbeat (to MPI or MALLOC), on each process in turn."""
    # Few exchanges, so that every call can fail; each process has a clock of its own.
    brief = {"DOWNBEAT_SHARE": "never", "DOWNBEAT_SYNC": "hca3_offset(offset=skampi(min=2,max=3))"}

    def make(site: Site) -> Run:
        number, rank = divmod(site.number, 2)
        failing = {f"FAULT_{kind}": str(number + 1), "FAULT_RANK": str(rank), "FAULT_LOG": str(site.where / "log")}
        return site.run(site.launch("fault-sequence", handler, preload="fault-calls.so"), brief | failing, 20)

    return make


def fail_new(site: Site) -> Run:
    """Fails an allocation in C++ at random, on one rank of downbeat-bench or on both."""
    number = int(math.exp(site.chance.uniform(0, math.log(20000))))
    rank = str(site.chance.randrange(2)) if site.chance.random() < 0.7 else None
    failing = {"FAULT_NEW": str(number), "FAULT_LOG": str(site.where / "log"), "FAULT_RANK": rank}
    options = ["-m", "8", "-r", "20", "--sync", "mpi_barrier,harmonize", "-q", "-o", "out.nc"]
    return site.run(site.launch("downbeat-bench", "bcast", *options, preload="fault-calls.so"), failing)
