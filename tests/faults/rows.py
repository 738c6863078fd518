"""The rows of the fault table: what goes wrong, what is promised, how it is made and judged, how often."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from downbeat.run.libraries import LIBRARIES

from tests.faults import commands, make
from tests.faults.commands import complete, downbeat, experiment, in_shell, line_then_complete
from tests.faults.growth import without_growth
from tests.faults.judge import (
    DURATION,
    as_promised,
    common_start,
    each_start,
    launch_ends,
    no_false_verdict,
    nothing_lost,
    noticed,
    samples_hold,
    within_bound,
)
from tests.faults.make import busy, cut_network, fail_call, on_hosts, run, starts, stops, wrong_clock
from tests.faults.trial import Command, Row, Site

COMMON = "no hang; if all flags are 1 and all first stamps are in time, the start was common"
GOES_ON = "no hang; no false verdict"
STEADY = "memory and descriptors as after the second tenth, counters right, no drift of slack or of flags of 0"
ENDS = "the launch ends within 20 s, with a non-zero status"
NOTHING_LOST = "the launch ends, non-zero status; nothing complete is lost"
COMPLETE = "complete, with its report"
RESUMED = "a line and a non-zero status; resumed when the cause is gone"
RESUMES = "all ends within 15 s; the same command completes it; no complete launch is lost"
NOTICED = "an error class on that process, no hang, no crash"
ON_A_HOST = "on all processes of a host"
CUT = make.CUT_SECONDS
TRUTH = {"DOWNBEAT_VALIDATION": "offset=1e-3,skew=5e-6,wander=1e-6"}
UTF8_OFF = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def row(name: str, fault: str, promise: str) -> Callable[..., Row]:
    """Returns what makes a row of the rest: what makes and judges the fault, tries, of them quick, in one run."""
    return partial(Row, name, fault, promise)


def program(name: str, *arguments: object, timeout: float = 45.0) -> Callable[[Site], Command]:
    return lambda site: site.launch(name, *arguments, timeout=timeout)


def bench(*arguments: object, timeout: float = 45.0) -> Callable[[Site], Command]:
    return program("downbeat-bench", *arguments, "-o", "out.nc", "-o", "out.json", timeout=timeout)


def with_operation(what: str, site: Site) -> Command:
    """Measures a barrier, then an operation that misbehaves in its 30th call on the last rank."""
    operation = f"{site.library('fault-operation.so')}({what})"
    return bench("barrier", operation, "--sync", "mpi_barrier", "-r", "200", "--warmup", "5", "-q", timeout=5)(site)


def trace(site: Site) -> list[object]:
    launcher = [LIBRARIES[site.mpi].find_launcher(), "-n", 2, site.program("fault-starts")]
    return downbeat("trace", "-o", "trace", "--", *launcher, "starts", make.FOREVER, 1)


def tune(site: Site) -> list[object]:
    options = ["--ranks", "2", "--sizes", "8", "--mpi", site.mpi, "--launches", "2", "-r", "10", "-o", "rules"]
    return downbeat("tune", "barrier", *options)


def reproduce(site: Site) -> list[object]:
    options = ["--mpi", site.mpi, "--ranks", "2", "--launches", "2", "--quick", "-o", "figure"]
    return downbeat("reproduce", "schuchart2023-fig3", *options)


stopped = partial(starts, seconds=5, per_try=0.2, disturb=stops(1.0))
SYNTHETIC = bench(f"synthetic(duration={DURATION:g}s)", "--sync", "harmonize", "--stop", "budget(time=3s)", "-q")
STOP = "a process stopped (SIGSTOP) for 10 us to 1 s at a random moment of"
STOPS = (
    row("stop-start", f"{STOP} its starts", COMMON)(stopped(), common_start, 1000, 20, 1000),
    row("stop-sync", f"{STOP} its clock synchronizations", "no hang; the true error is within the bound")(
        stopped("syncs", variables=TRUTH), within_bound, 1000, 20, 1000
    ),
    row(
        "stop-operation",
        f"{STOP.replace('1 s', '0.25 s')} an operation that downbeat-bench measures",
        "no hang; the file is complete; no valid sample started late or is shorter than the operation",
    )(run(SYNTHETIC, 180, program="downbeat-bench", disturb=stops(0.25)), samples_hold, 1000, 20, 50),
)

LOADS = (
    ("quiet", "no fault", None, 1000),
    ("busy", "a busy process on each processor", busy(1), 200),
    ("busier", "three busy processes on each processor", busy(3), 0),
)
hog = starts(per_try=sum(make.BURST_SECONDS), disturb=busy(real_time=True))
throttled = starts(per_try=make.QUOTA_SECONDS, disturb=make.quota)
PROCESSORS = (
    *(
        row(name, f"{fault}; a start is a try", COMMON)(
            starts(seconds=60, calls=None, disturb=disturb), each_start, 2000000, quick, 2000000
        )
        for name, fault, disturb, quick in LOADS
    ),
    row("soak", "as many starts in one program as a measurement of days makes; a start is a try", STEADY)(
        starts("blocks", seconds=10, per_try=1e-4, calls=None), without_growth, 10_000_000, 200_000, 10_000_000
    ),
    row("real-time-hog", "a real-time process takes a core for 1 to 50 ms", COMMON)(hog, common_start, 1000, 40, 1000),
    row("quota", "a quota of 0.3 to 1.5 processors for both ranks", COMMON)(throttled, common_start, 1000, 0, 1000),
    *(
        row(f"crowd-{factor}", f"{factor} times as many ranks as processors", GOES_ON)(
            starts(seconds=60, calls=100, ranks=factor * len(make.PROCESSORS)), no_false_verdict, 20, factor == 4
        )
        for factor in (4, 16)
    ),
    row("affinity", "all ranks are moved to one processor (as taskset or a cpuset does), and back", GOES_ON)(
        starts(seconds=1, per_try=0.4, disturb=make.move), no_false_verdict, 20, 2, 20
    ),
)

KILLED = bench("bcast", "-m", "8,16,32,64", "--sync", "harmonize", "-r", "200")
endless = program("fault-starts", "starts", make.FOREVER, 30)
ENDINGS = (
    ("aborts", "abort", "calls abort(), as a C++ program that throws"),
    ("mpi-aborts", "mpi_abort", "calls MPI_Abort"),
    ("exits", "exit", "calls exit(5)"),
    ("returns", "return", "ends with status 0, without MPI_Finalize"),
    ("crashes", "segv", "crashes"),
)
OPERATIONS = (
    ("crash", "crashes"),
    ("abort", "aborts"),
    ("exit", "calls exit(0)"),
    ("hang", "hangs, under `--timeout`"),
    ("overrun", "writes beyond its memory"),
)
DEATHS = (
    row("rank-killed", "a rank killed (SIGKILL) at a random moment of its starts", ENDS)(
        run(endless, 20, program="fault-starts", disturb=make.kill_rank), launch_ends, 100, 1
    ),
    *(
        row(f"rank-{name}", f"a rank {fault}", ENDS)(run(program("fault-starts", "dies", how), 20), launch_ends, 100, 1)
        for name, how, fault in ENDINGS
    ),
    row(
        "bench-killed",
        "a rank of downbeat-bench killed at a random moment",
        "the launch ends; every cell that was complete is in the file",
    )(make.kill_bench(KILLED), nothing_lost(may_succeed=True), 100, 2),
    *(
        row(f"operation-{what}", f"an operation of the user's that {fault}", NOTHING_LOST)(
            run(partial(with_operation, what), 30), nothing_lost(), 20, what != "hang"
        )
        for what, fault in OPERATIONS
    ),
    row("operation-fail", "an operation of the user's that returns an error", f"{NOTHING_LOST}; one line names it")(
        run(partial(with_operation, "fail"), 30), nothing_lost("fault-operation"), 20, 1
    ),
)

HOSTS = (
    row("host-gone", "all processes on one of two hosts killed", ENDS)(
        on_hosts(600, 60, make.end_host), launch_ends, 100
    ),
    row("network-cut", f"the network between two hosts cut for {CUT:g} s", "starts go on; no false verdict")(
        on_hosts(2 * CUT, 12 * CUT, cut_network), no_false_verdict, 100
    ),
    row(
        "network-gone",
        "the network between two hosts cut for good",
        "the launch ends after its `--timeout`, with a non-zero status",
    )(on_hosts(600, 15, partial(cut_network, for_good=True)), launch_ends, 100),
)

CLOCKS = (
    row("clock-stepped", f"`realtime` stepped by 1 ms and 8 s, forwards and backwards, {ON_A_HOST}", COMMON)(
        wrong_clock("realtime", "step:1e-3", "step:-1e-3", "step:8", "step:-8"), common_start, 100, 4, 2
    ),
    row("clock-leap-second", f"`realtime` repeats a second, {ON_A_HOST}", COMMON)(
        wrong_clock("realtime", "step:-1"), common_start, 100, 0, 100
    ),
    row("clock-slewed", "`monotonic` slewed by 500 ppm on one host, with `DOWNBEAT_MAX_SKEW=1e-3`", COMMON)(
        wrong_clock("monotonic", "slew:500e-6", alone=True, DOWNBEAT_MAX_SKEW="1e-3"), common_start, 100, 4, 100
    ),
    row("clock-frozen", f"`monotonic` stands still for 1 and 20 ms, {ON_A_HOST}", COMMON)(
        wrong_clock("monotonic", "freeze:1e-3", "freeze:20e-3"), common_start, 100, 0, 10
    ),
    row("clock-backwards", f"`monotonic` goes back by 1 us and 1 ms, {ON_A_HOST}", COMMON)(
        wrong_clock("monotonic", "step:-1e-6", "step:-1e-3"), common_start, 100, 0, 10
    ),
    row(
        "clock-withdrawn",
        "the kernel's list loses the TSC, and has it again, while communicators are prepared",
        COMMON,
    )(make.withdraw_clock, common_start, 100, 0, 100),
)

KILLED_COMMANDS = (
    ("run", partial(experiment, launches=3), "results/launches", downbeat("show", "results")),
    ("tune", tune, "rules/sweep/*/launches", ["ls", "rules/rules.env"]),
    ("reproduce", reproduce, "figure/*/*/launches", ["ls", "figure/schuchart2023-fig3.html"]),
    ("trace", trace, "nothing", downbeat("arrivals", "trace")),
)
slow = run(experiment, preload="fault-system.so", variables={"FAULT_FSYNC": "0.3"})
SURROUNDINGS = (
    row("disk-full", "the disk is full, with 4 to 128 KiB of room", RESUMED)(commands.fill_disk, as_promised, 20),
    row("file-quota", "files may have 4 KiB", RESUMED)(
        run(in_shell('ulimit -f 8 && trap "" XFSZ')), line_then_complete
    ),
    row("read-only", "a read-only file system", "a line with the path")(commands.forbid_writing, launch_ends),
    row("output-removed", "the results are removed during the run", RESUMED)(
        commands.remove_results, line_then_complete
    ),
    row("two-runs", "two runs in one directory", "one experiment; one run is refused")(commands.run_twice, complete),
    row("odd-path", "blanks, quotes and non-ASCII letters in the path", COMPLETE)(commands.odd_path, as_promised),
    row("slow-fsync", "each fsync takes 0.3 s, as on a busy file server", COMPLETE)(slow, complete),
    row("no-home", "no HOME", COMPLETE)(run(experiment, variables={"HOME": None}), complete),
    row("locale-c", "LC_ALL=C, Python without UTF-8", COMPLETE)(run(experiment, variables=UTF8_OFF), complete),
    row("narrow-terminal", "a terminal of 20 columns", COMPLETE)(
        run(commands.in_terminal, variables={"COLUMNS": "20", "LINES": "10", "TERM": "xterm"}), complete
    ),
    row("no-terminal", "no terminal, COLUMNS=20", COMPLETE)(run(experiment, variables={"COLUMNS": "20"}), complete),
    *(
        row(
            f"{name}-killed",
            f"`downbeat {name}` killed at a random moment: {', '.join(commands.KILL_SIGNALS)}",
            RESUMES,
        )(commands.kill_command(command, results, check), commands.resumed, 100)
        for name, command, results, check in KILLED_COMMANDS
    ),
)

class_of = noticed("fault-sequence: process")
CALLS = (
    row("mpi-call-fails", "the nth call of MPI fails on one process, every n", NOTICED)(
        fail_call("MPI"), class_of, 240, 2
    ),
    row("mpi-call-fatal", "the same with the default error handler", "the launch ends with a non-zero status")(
        fail_call("MPI", "fatal"), noticed(""), 240, 1
    ),
    row("malloc-fails", "the nth allocation fails on one process, every n", NOTICED)(
        fail_call("MALLOC"), class_of, 10, 1
    ),
    row("bench-memory", "an allocation of downbeat-bench fails, at random", "one line and a non-zero status, no hang")(
        make.fail_new, noticed("downbeat-bench: ", may_succeed=True), 100, 1
    ),
    row("no-processes", "`downbeat run` cannot fork", RESUMED)(
        run(experiment, preload="fault-system.so", variables={"FAULT_FORK": "1"}), line_then_complete, 5
    ),
    # Open MPI's launcher itself may hang: with 24 descriptors it starts no rank, and says nothing.
    *(
        row(name, fault, RESUMED)(run(in_shell(*limits, timeout=10)), line_then_complete, 2 * len(limits))
        for name, fault, limits in (
            ("descriptors", "8 to 64 file descriptors", [f"ulimit -n {n}" for n in (8, 12, 16, 20, 24, 32, 48, 64)]),
            ("stack", "a stack of 64 KiB to 1 MiB", [f"ulimit -s {n}" for n in (64, 128, 256, 512, 1024)]),
        )
    ),
)

ROWS = (*STOPS, *PROCESSORS, *DEATHS, *HOSTS, *CLOCKS, *SURROUNDINGS, *CALLS)
