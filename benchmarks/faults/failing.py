"""Calls that fail: of MPI, of memory, of processes; too few file descriptors, too small a stack."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from benchmarks.faults.row import Outcome, Row, log_uniform
from benchmarks.faults.site import Ended, Site, clear
from benchmarks.faults.surroundings import LIMIT_SECONDS, accepted, experiment, refused

RANKS = 2
HANGS_SECONDS = 10
END_SECONDS = 20.0
# Few exchanges, so that every call can fail in its turn; each process has a clock of its own.
BRIEF = {"DOWNBEAT_SHARE": "never", "DOWNBEAT_SYNC": "hca3_offset(offset=skampi(min=2,max=3))"}


def with_failing(site: Site, command: list[object], program: str, library: str = "fault-calls.so") -> list[object]:
    """Returns a command of tools/launch whose program, and not its launcher, has a library preloaded."""
    position = command.index(site.program(program))
    return [*command[:position], "env", f"LD_PRELOAD={site.library(library)}", *command[position:]]


def failed_call(site: Site) -> str:
    """Returns the call that has failed; empty: there were not so many."""
    log = site.where / "log"
    return log.read_text(encoding="ascii").split("\n")[0] if log.exists() else ""


def each_call(kind: str, handler: str, site: Site, tries: int) -> Iterator[Outcome]:
    """Fails the first, second, ... call that libdownbeat makes on one process, until there are no more.

    Args:
        kind: MPI or MALLOC.
        handler: returns or fatal.
        site: where.
        tries: on each process, at most.
    """
    for rank in range(RANKS):
        for number in range(1, tries + 1):
            clear(site.where)
            log = site.where / "log"
            variables = {**BRIEF, f"FAULT_{kind}": str(number), "FAULT_RANK": str(rank), "FAULT_LOG": str(log)}
            command = with_failing(site, site.launch("fault-sequence", handler), "fault-sequence")
            ended = site.run(command, variables, seconds=END_SECONDS)
            call = failed_call(site)
            if not call:
                break
            yield judge_failure(ended, call, number, rank, handler)


def judge_failure(ended: Ended, call: str, number: int, rank: int, handler: str) -> Outcome:
    """Judges how a program ended one call of which had failed."""
    where = f"{call} as call {number} of process {rank}"
    classes = [line for line in ended.said if f"fault-sequence: process {rank}:" in line]
    if ended.hung:
        return Outcome("hung", 1, f"{where}: went on for {END_SECONDS:g} s")
    if ended.status >= 128 and handler == "returns":
        return Outcome("crashed", 1, f"{where}: status {ended.status}")
    if handler == "returns" and ended.status != 0:
        return Outcome("error class", 1, "" if classes else f"{where}: status {ended.status} without an error class")
    if ended.status != 0:
        return Outcome("ended by the error handler")
    # A communicator that cannot be freed is no reason to fail.
    return Outcome("went on", 1, "" if call in ("Comm_free", "Group_free") else f"{where}: nobody noticed")


def no_memory_in_bench(site: Site, tries: int) -> Iterator[Outcome]:
    """Fails allocations in C++ at random, on one rank of downbeat-bench, or on both."""
    for _ in range(tries):
        clear(site.where)
        number = int(log_uniform(site, 1, 20000))
        variables = {"FAULT_NEW": str(number), "FAULT_LOG": str(site.where / "log")}
        if site.chance.random() < 0.7:
            variables["FAULT_RANK"] = str(site.chance.randrange(RANKS))
        options = ["-m", "8", "-r", "20", "--sync", "mpi_barrier,harmonize", "-q", "-o", "out.nc"]
        command = with_failing(site, site.launch("downbeat-bench", "bcast", *options), "downbeat-bench")
        ended = site.run(command, variables, seconds=LIMIT_SECONDS)
        call = failed_call(site)
        where = f"allocation {number}"
        if not call:
            yield Outcome("there were not so many allocations", 1, "" if ended.status == 0 else ended.last_line)
        elif ended.hung:
            yield Outcome("hung", 1, f"{where}: went on for {LIMIT_SECONDS:g} s")
        elif ended.status == 0:
            yield Outcome("done without it")  # e.g. by MPI's own code, which has an answer
        else:
            said = [line for line in ended.said if line.startswith("downbeat-bench: ")]
            broken = "" if said and not ended.traceback else f"{where}: status {ended.status}: {ended.last_line}"
            yield Outcome("one line, non-zero status", 1, broken)


def no_process(site: Site, tries: int) -> Iterator[Outcome]:
    """Runs an experiment where no process can be made, then where it can."""
    variables = {"LD_PRELOAD": site.library("fault-system.so"), "FAULT_FORK": "1"}
    for _ in range(tries):
        clear(site.where)
        ended = site.run(experiment(site), variables, seconds=LIMIT_SECONDS)
        again = site.run(experiment(site), seconds=LIMIT_SECONDS)
        yield Outcome("a line, non-zero status; resumed", 1, refused(ended) or accepted(site, again))


def limited(option: str, values: tuple[str, ...], site: Site, tries: int) -> Iterator[Outcome]:
    """Runs an experiment under a limit of the shell, then without it."""
    for number in range(tries):
        clear(site.where)
        value = values[number % len(values)]
        # Open MPI's launcher itself may hang: with 24 descriptors it starts no rank, and says nothing.
        words = experiment(site, "--timeout", HANGS_SECONDS, launches=1)
        command = ["sh", "-c", f'ulimit {option} {value} || exit 99; exec "$@"', "sh", *words]
        ended = site.run(command, seconds=LIMIT_SECONDS)
        broken = "" if ended.status == 0 else refused(ended)
        again = site.run(experiment(site), seconds=LIMIT_SECONDS)
        what = f"ulimit {option} {value}: {'complete' if ended.status == 0 else 'a line'}; resumed without it"
        yield Outcome(what, 1, (broken and f"ulimit {option} {value}: {broken}") or accepted(site, again))


ROWS = (
    Row(
        "mpi-call-fails",
        "the nth call that libdownbeat makes of MPI fails on one process, MPI_ERRORS_RETURN, every n",
        "an error class on that process, no hang, no crash",
        functools.partial(each_call, "MPI", "returns"),
        200,
        2,
    ),
    Row(
        "mpi-call-fatal",
        "the same with the default error handler",
        "the launch ends with a non-zero status",
        functools.partial(each_call, "MPI", "fatal"),
        200,
        1,
    ),
    Row(
        "malloc-fails",
        "the nth allocation of libdownbeat fails on one process, every n",
        "an error class, no hang, no crash",
        functools.partial(each_call, "MALLOC", "returns"),
        200,
        1,
    ),
    Row(
        "bench-memory",
        "an allocation of downbeat-bench fails, at random",
        "one line and a non-zero status, no hang, no banner",
        no_memory_in_bench,
        100,
        1,
    ),
    Row(
        "no-processes",
        "no process can be made (fork fails) by `downbeat run`",
        "a line and a non-zero status; resumed",
        no_process,
        5,
        0,
    ),
    Row(
        "descriptors",
        "8 to 64 file descriptors",
        "complete, or a line, after `--timeout` at the latest; resumed without the limit",
        functools.partial(limited, "-n", ("8", "12", "16", "20", "24", "32", "48", "64")),
        16,
        0,
    ),
    Row(
        "stack",
        "a stack of 64 KiB to 1 MiB",
        "complete, or a line, after `--timeout` at the latest; resumed without the limit",
        functools.partial(limited, "-s", ("64", "128", "256", "512", "1024")),
        10,
        0,
    ),
)
