"""Trial launches before an experiment, for `downbeat doctor` and `downbeat run`.

They check that chosen algorithms take effect (`check_choices`), that libraries start and bind ranks (`try_start`), and
that the machine keeps its state (`watch`).
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from downbeat.data.launch_file import context_of, numbers_in, open_samples, texts_in
from downbeat.data.netcdf import NetcdfFile
from downbeat.data.states import LINE, MESSAGE, names_of_classes, path_of
from downbeat.errors import UsageError
from downbeat.run import directory as layout
from downbeat.run.bench_launch import ERRORS, failure_of, launch_command, run_bench, run_in_directory
from downbeat.run.libraries import short_version
from downbeat.run.machine import Finding, Machine, parse_cpus, set_elsewhere, settings_of
from downbeat.run.open_mpi_settings import check_rules
from downbeat.run.plan import LaunchKey, Library, Measurement, Plan, parse_choices
from downbeat.text import NANOSECONDS, counted, split_list

CHECK = "algorithms"  # name of the check in findings
DEFAULT_CHOICE = "default"
COUNTING_SECONDS = 60.0  # time limit
MAX_COUNTED_SIZE = 2**16  # bytes; above it, segmentation does not change the algorithm
BYTE_SUFFIXES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
# Verdicts of `downbeat-bench algorithms`.
IGNORED = "ignored"
CANNOT_TELL = "cannot tell"
MIN_DISTINCT_RANKS = 4  # with fewer ranks, most algorithms send the same messages


def check_choices(plan: Plan) -> list[Finding]:
    """Counts messages under each configuration to check that chosen algorithms take effect.

    Returns:
        Findings on choices whose messages equal the default's, and on failures of counting.

    Raises:
        UsageError: a choice has no effect.
    """
    findings = []
    chosen = choices_of(plan.measurement.options)
    for key in plan.round_order(1) if chosen else ():
        library = plan.library(key.library)
        if key.portion > 1:
            continue
        # Collectives whose algorithm is fixed in MPI_Init; so one launch cannot count several algorithms.
        fixed = {name for name in chosen if {name, "*"} & set(library.fixed_at_start)}
        if fixed:
            choices = choices_text((name, algorithm) for name in chosen if name in fixed for algorithm in chosen[name])
            seen = f"whether choices take effect under {key.configuration} was not counted, for they are read only"
            findings.append(Finding(CHECK, f"{seen} in MPI_Init, and may equal the library's own: {choices}", "notice"))
        if countable := {name: algorithms for name, algorithms in chosen.items() if name not in fixed}:
            findings += check_launch(plan, key, countable)
    return sorted(set(findings), key=lambda finding: finding.seen)


def check_launch(plan: Plan, key: LaunchKey, chosen: dict[str, list[str]]) -> list[Finding]:
    """Counts messages under the configuration of `key`, like `check_choices`; `chosen`: collective -> algorithms."""
    library, variant = plan.library(key.library), plan.variant(key.variant)
    library = replace(library, bench=variant.bench or library.bench, launcher=variant.launcher or library.launcher)
    size = largest_size(plan.measurement.options.get("sizes", ""))
    arguments = [CHECK, *chosen, "-m", str(size), "--format", "json"]
    ended = run_bench(library, key.ranks, arguments, plan.variables_of(key), COUNTING_SECONDS)
    where = f"under {key.configuration}"
    if ended.status != 0:
        return [Finding(CHECK, f"whether choices take effect {where} could not be counted: {ended.reason}", "notice")]
    rows = [json.loads(line) for line in ended.output.splitlines() if line.startswith('{"')]
    verdicts = {(row["operation"], row["algorithm"]): row["verdict"] for row in rows if "verdict" in row}
    choices = [(operation, name) for operation, names in chosen.items() for name in names]
    # If one algorithm of an operation is ignored, all are, including those given by number.
    without_effect = {operation for (operation, _), verdict in verdicts.items() if verdict == IGNORED}
    ignored = [(operation, name) for operation, name in choices if operation in without_effect]
    if ignored:
        raise UsageError(
            f"choosing has no effect {where}: whatever is chosen for {choices_text(ignored)}, the same messages are "
            f"sent at {size} bytes; something else serves this operation: downbeat doctor --mpi {library.name} "
            "names what is set (variables), unset it"
        )
    unknown = [(operation, name) for operation, name in choices if verdicts.get((operation, name)) == CANNOT_TELL]
    if not unknown:
        return []
    advice = "four ranks or more, or other sizes, show more" if key.ranks < MIN_DISTINCT_RANKS else ""
    if not any(row.get("messages", -1) >= 0 for row in rows):
        advice = "this MPI library does not count its messages"
    seen = f"counting at {size} bytes {where} cannot distinguish from the library's own choice: {choices_text(unknown)}"
    return [Finding(CHECK, seen, "notice", advice)]


def choices_of(options: Mapping[str, str]) -> dict[str, list[str]]:
    """Collective -> algorithms chosen by the options of a measurement, including --barrier-algorithm."""
    chosen = parse_choices(options.get("algorithm", ""))
    chosen["barrier"] = [*chosen.get("barrier", []), *split_list(options.get("barrier-algorithm", ""))]
    named = {
        name: [algorithm.replace("-", "_") for algorithm in algorithms if algorithm not in ("", DEFAULT_CHOICE)]
        for name, algorithms in chosen.items()
    }
    return {name: list(dict.fromkeys(algorithms)) for name, algorithms in named.items() if algorithms}


def largest_size(sizes: str) -> int:
    """The largest size in a list such as "8:64K", in bytes; at most `MAX_COUNTED_SIZE`, a multiple of 8."""
    numbers = re.findall(r"(\d+)([KMG]?)", sizes) or [("64", "K")]
    size = max(int(number) * BYTE_SUFFIXES[suffix] for number, suffix in numbers)
    return max(8, min(size, MAX_COUNTED_SIZE) // 8 * 8)


def choices_text(choices: Iterable[tuple[str, str]]) -> str:
    """Choices as text: "bcast chain, pipeline; reduce linear"."""
    return "; ".join(
        f"{operation} {', '.join(name for _, name in group)}"
        for operation, group in groupby(choices, key=lambda choice: choice[0])
    )


TRIAL_RANKS = 2
TRIAL_SECONDS = 60.0  # time limit


@dataclass(frozen=True)
class TrialStart:
    """The result of a trial start of a library."""

    library: str
    started: bool
    findings: list[Finding]


@contextlib.contextmanager
def trial(library: Library, measurement: Measurement) -> Iterator[tuple[Path, str]]:
    """Starts ranks; yields the temporary directory of the launch, and the reason of its failure, "" if it succeeded."""
    plan = Plan(
        name="doctor", measurement=measurement, libraries=(library,), ranks=(TRIAL_RANKS,), timeout=TRIAL_SECONDS
    )
    command = launch_command(plan, LaunchKey(library.name, TRIAL_RANKS, plan.environments[0].name, 1))
    with tempfile.TemporaryDirectory() as temporary:
        where = Path(temporary)
        yield where, failure_of(run_in_directory(command, where, {}), where, plan.timeout, TRIAL_RANKS)


def try_start(library: Library, machine: Machine) -> TrialStart:
    """Starts ranks with an empty operation, and checks their settings and binding."""
    measurement = Measurement(("nothing",), {"repetitions": "10", "sync": "mpi_barrier"})
    with trial(library, measurement) as (where, failure):
        if failure:
            errors = (where / ERRORS).read_text(encoding="utf-8", errors="replace")
            advice = "run it by hand to see its full output: tools/launch -n 2 downbeat-bench nothing"
            if "no launcher" in errors:
                advice = "tools/setup installs libraries, make build MPI=... builds for them"
            seen = f"{library.name} does not start: {failure}"
            return TrialStart(library.name, False, [Finding("libraries", seen, "problem", advice)])
        with open_samples(where / layout.SAMPLES) as file:
            context = context_of(file)
            cpusets = [parse_cpus(text) for text in texts_in(file.variables["cpuset"])]
            hosts = texts_in(file.variables["host"])
    good = Finding("libraries", f"{library.name} starts: {short_version(str(context['mpi_library']))}", "good")
    settings = settings_of(context)
    more = [
        *set_elsewhere(library.name, settings, machine),
        *check_rules(library.name, short_version(str(context["mpi_library"])), settings),
    ]
    return TrialStart(library.name, True, [good, *more, binding(library.name, cpusets, hosts, machine)])


def binding(name: str, cpusets: list[frozenset[int]], hosts: list[str], machine: Machine) -> Finding:
    """The finding on the CPU affinity of the ranks of a launch.

    Args:
        name: name of the library.
        cpusets: processors that each rank may use.
        hosts: host of each rank.
        machine: this machine.
    """
    if any(host.partition(".")[0] != socket.gethostname().partition(".")[0] for host in hosts):
        # In a batch job, started from a login node.
        where = ", ".join(
            f"{host} {','.join(map(str, sorted(cpus)))}" for host, cpus in zip(hosts, cpusets, strict=True)
        )
        seen = f"{name} starts ranks on other machines: processors {where}"
        advice = "their cores are unknown on this machine; run downbeat doctor there (srun -n 1 downbeat doctor)"
        return Finding("binding", seen, "notice", advice)
    cores = [core for core in machine.cores if any(core & cpus for cpus in cpusets)]
    wide = [cpus for cpus in cpusets if sum(bool(core & cpus) for core in machine.cores) > 1]
    if wide and len(machine.cores) > 1:
        seen = f"{name} does not bind: a rank may run on {counted(len(wide[0]), 'processor')}"
        advice = "the kernel may move the rank away from its caches; give the launcher its option for binding to cores"
        return Finding("binding", seen, "problem", advice)
    if len(cores) < len(cpusets) and len(machine.cores) >= len(cpusets):
        seen = f"{name} binds {counted(len(cpusets), 'rank')} to {counted(len(cores), 'core')}"
        return Finding("binding", seen, "problem", "ranks share a core while others are free; bind one rank per core")
    bound = ", ".join(",".join(map(str, sorted(cpus))) for cpus in cpusets)
    return Finding("binding", f"{name} binds each rank to a core: processors {bound}", "good")


# 250 blocks of one call, 5 s in total: 25 cells, which differ by 1 us in duration, of 10 blocks each.
WATCH = Measurement(
    tuple(f"synthetic(duration={20_000 + cell}us,step=0)" for cell in range(25)),
    {"repetitions": "10", "warmup": "0", "sync": "mpi_barrier"},
)
WATCH_WINDOW = 5  # blocks over which the median of round trips is taken


def watch(library: Library | None, machine: Machine, seconds: float) -> Finding:
    """Measures round trips between two ranks for 5 s to detect states of the machine.

    Args:
        library: a library that starts; None: no library starts.
        machine: this machine.
        seconds: value of the option --seconds; 0: skip the measurement.
    """
    if not seconds:
        return not_watched("--seconds is 0", "leave it out to watch for 5 s")
    if library is None:
        return not_watched("no downbeat-bench starts", "see libraries")
    if len(machine.allowed) < TRIAL_RANKS:
        return not_watched("ranks need two processors, and one may be used here", "use a machine that has two")
    with trial(library, WATCH) as (where, failure):
        if failure:
            return not_watched(f"{library.name} was started again: {failure}", "run downbeat doctor again")
        with open_samples(where / layout.SAMPLES) as file:
            if "canary" not in file.variables:
                return not_watched(f"{library.bench} reads no round trips", "it is of an older version; build it again")
            path = path_of(str(context_of(file)["hosts"]), TRIAL_RANKS, library.name)
            return judge_round_trips(trips_of_blocks(file), LINE if path == LINE else MESSAGE)


def trips_of_blocks(file: NetcdfFile) -> NDArray[np.float64]:
    """The round trips measured before each block of a launch, s, without failed readings (0)."""
    first_samples = np.unique(numbers_in(file.variables["block"]), return_index=True)[1]
    trips = numbers_in(file.variables["canary"])[first_samples]
    return trips[trips > 0]


def judge_round_trips(trips: NDArray[np.float64], path: str) -> Finding:
    """The finding on the states of the machine, from round trips in order, s; `path`: `LINE` or `MESSAGE`."""
    if not trips.size:
        return not_watched("no round trip could be read; ranks share a processor", "see binding")
    # A state lasts for seconds; a change for one or two blocks of 20 ms is an interruption.
    trips = np.median(sliding_window_view(np.pad(trips, WATCH_WINDOW // 2, mode="reflect"), WATCH_WINDOW), axis=1)
    names = names_of_classes(trips)  # the state in each block
    classes = sorted((trips[names == name] for name in set(names)), key=np.median)  # the round trips of each state
    medians = [f"{np.median(in_state) * NANOSECONDS:.0f} ns" for in_state in classes]
    if len(classes) == 1:
        return Finding("states", f"one state: {path} {medians[0]} in {counted(trips.size, 'block')}", "good")
    shares = " and ".join(f"{median} in {in_state.size}" for median, in_state in zip(medians, classes, strict=True))
    seen = f"the machine changes its state: {path} {shares} of {trips.size} blocks"
    return Finding("states", seen, "problem", "compare launches within a state, as downbeat run does")


def not_watched(why: str, advice: str) -> Finding:
    """The finding on a machine whose states were not measured, for a reason `why`."""
    return Finding("states", f"not watched: {why}", "notice", advice)
