"""Makes a plan of a request: finds programs, libraries and the ranks that there is room for."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from downbeat.errors import UsageError
from downbeat.run.bench import (
    built,
    find_any_bench,
    find_bench,
    how_to_build,
    installed,
    library_of,
    srun_launcher,
)
from downbeat.run.bench_options import wrong
from downbeat.run.job import Job, job_of, places_ranks
from downbeat.run.launch import cpus_per_core
from downbeat.run.libraries import CHECKOUT, LIBRARIES, packaged_bench
from downbeat.run.plan import Environment, Library, Measurement, Plan, Variant
from downbeat.run.request import MOST_LAUNCHES, Program, Request
from downbeat.run.simulation import SIMULATOR, Platform, options_of, parse_platform
from downbeat.text import name_of

DEFAULT_LAUNCHES, MOST_FOR_WIDTH = 10, 50
# Spread over a time: from 20 launches on it shows if they resemble the one before.
MOST_SPREAD, LEAST_SPACING = 20, 30.0  # s
ROUNDS_PER_LAUNCH = 2  # at most, for launches in one state of the machine


def planned(request: Request, stored: Callable[[str], Plan | None]) -> Plan:
    """Returns the plan that a request means.

    Args:
        request: the experiment asked for.
        stored: gives the plan that the experiment of a name has already, if it has; of that, the seed is kept.

    Raises:
        UsageError: settings contradict each other, or there is no downbeat-bench for a library; one line says which.
    """
    if request.operations is None:
        raise UsageError("no operations to measure; give their names, or a file EXPERIMENT.toml")
    check_spread(request)
    platform = parse_platform(request.simulate) if request.simulate else None
    libraries = (simulated_library(request),) if platform else libraries_of(request)
    variants = request.variants or (Variant(),)
    check_variants(variants, request.operations, libraries)
    per_node = request.ranks_per_node or 0
    for one in variants:
        check_placing(one.launcher, per_node)
    ranks = request.ranks or (platform.ranks if platform else default_ranks(job_of(libraries[0].launcher), per_node),)
    if platform:
        check_room(platform, max(ranks))
    launches = request.launches or (spread_launches(request.over) if request.over else DEFAULT_LAUNCHES)
    most = request.max_launches or max(MOST_FOR_WIDTH, launches)
    if most < launches:
        raise wrong("max-launches", most, f"a whole number, from {launches} to {MOST_LAUNCHES}")
    name = request.name or name_after(request.operations)
    earlier = stored(name)
    drawn = earlier.seed if earlier else random.SystemRandom().randrange(1_000_000)
    return Plan(
        name=name,
        measurement=Measurement(request.operations, bench_options(request)),
        libraries=libraries,
        ranks=ranks,
        environments=request.environments or (Environment(),),
        variants=variants,
        launches=launches,
        # What is simulated has one state; a single launch is compared with none.
        most_rounds=launches if platform or launches == 1 else min(ROUNDS_PER_LAUNCH * launches, MOST_LAUNCHES),
        interval=request.interval or 0.0,
        over=request.over or 0.0,
        timeout=request.timeout or 0.0,
        seed=drawn if request.seed is None else request.seed,
        width=request.width or 0.0,
        max_launches=most,
    )


def spread_launches(over: float) -> int:
    """Returns how many launches are spread over so many seconds where nobody says: from 10 to 20, or one each 30 s."""
    return max(DEFAULT_LAUNCHES, min(MOST_SPREAD, int(over / LEAST_SPACING)))


def check_spread(request: Request) -> None:
    """Checks that launches can be spread over a time as it is asked for.

    Raises:
        UsageError: they cannot; one line says why.
    """
    if not request.over:
        return
    if request.interval:
        raise UsageError("over, interval: both say when rounds of launches begin; give one of them")
    if request.launches == 1:
        raise UsageError("over: a single launch cannot be spread; give --launches 2 or more")
    if request.simulate:
        raise UsageError("over: what is simulated is the same at any time; leave it out")


def name_after(operations: Sequence[str]) -> str:
    """Returns the name of an experiment after its operations."""
    names = [re.sub(r"[^A-Za-z0-9_.+-]+", "-", Path(one).name).strip("-") for one in operations]
    return "-".join(names[:3]) + ("-and-more" if len(names) > 3 else "")


def bench_options(request: Request) -> dict[str, str]:
    """Returns the options of downbeat-bench: those that a request has itself, and those that it hands on."""
    own = {"sizes": request.sizes, "sync": request.sync}
    options = {name: value for name, value in own.items() if value} | dict(request.options or {})
    if request.repetitions:
        options["repetitions"] = str(request.repetitions)
    return options_of(options) if request.simulate else options


def default_ranks(job: Job, per_node: int) -> int:
    """Returns the number of ranks that a job is for, at so many per node, else one per core.

    Args:
        job: the nodes that they go to.
        per_node: the most that a node gets; 0: not said.
    """
    if per_node and job.nodes:
        return max(2, job.nodes * per_node)
    if job.ranks > 1:
        return job.ranks
    if job.nodes > 1 and job.cpus:
        return job.nodes * job.cpus
    return max(2, len(cpus_per_core()))


def libraries_of(request: Request) -> tuple[Library, ...]:
    """Returns the MPI libraries, each with its downbeat-bench and its launcher; by default the first that is built."""
    benches = dict(request.bench or {})
    if not (benches or request.libraries) and request.variants and request.variants[0].bench:
        benches = {"": request.variants[0].bench}  # by which the library of all variants is known
    if request.libraries:
        asked = list(request.libraries)
    elif any(benches):
        asked = [Program(name) for name in benches if name]
    elif benches:
        owner = library_of(benches[""])
        asked = [Program(owner[0] if owner else "mpi")]
    else:
        asked = [Program(*find_any_bench())]
    names = [one.name for one in asked]
    if "" in benches and len(names) > 1:
        raise UsageError(f"--bench: '{benches['']}' is for one library; write NAME=PATH for each of {', '.join(names)}")
    for name in benches:
        if name and name not in names:
            raise UsageError(f"--bench: '{name}' is not among the libraries {', '.join(names)}")
    return tuple(
        planned_library(
            one.name,
            benches.get(one.name) or benches.get("") or one.bench or find_bench(one.name),
            request.launcher or one.launcher,
            request.ranks_per_node or 0,
        )
        for one in asked
    )


def planned_library(name: str, bench: str, launcher: str, per_node: int = 0) -> Library:
    """Returns a library as a plan has it, with so many ranks at most on each node; 0: as the launcher does it."""
    of_wheel = name in LIBRARIES and bench == packaged_bench()
    owner = (name, LIBRARIES[name]) if of_wheel else library_of(bench)
    if owner and name in LIBRARIES and not set(owner[1].abis) & set(LIBRARIES[name].abis):
        raise UsageError(f"libraries: '{bench}' is built for {owner[0]}, not for {name}; give it as {owner[0]}={bench}")
    check_placing(launcher, per_node)
    if owner and not launcher:
        launcher = srun_launcher(owner[1], placed=per_node > 0)
    return Library(name, bench, launcher, owner[1].fixed_at_start if owner else (), per_node)


def check_placing(launcher: str, per_node: int) -> None:
    """Checks that a launcher of the user's own, if any, takes the number of ranks per node.

    Raises:
        UsageError: it is given, and the launcher does not say where it goes; or the other way round.
    """
    if launcher and per_node and not places_ranks(launcher):
        raise UsageError(
            f"ranks-per-node: the launcher '{launcher}' does not say where the number goes; give it {{nodes}} or "
            "{ranks_per_node}, as in 'srun -N {nodes} --ntasks-per-node={ranks_per_node} -n {ranks}'"
        )
    if places_ranks(launcher) and not per_node:
        raise UsageError(
            f"launcher: '{launcher}' has {{nodes}} or {{ranks_per_node}}; give the number with --ranks-per-node"
        )


def check_variants(variants: Sequence[Variant], operations: Sequence[str], libraries: Sequence[Library]) -> None:
    """Checks that programs of variants go with the MPI library, and their shared objects with the operations.

    Raises:
        UsageError: there are several libraries, a program is linked with another one, or a file replaces none.
    """
    files = [Path(one).name for one in map(name_of, operations) if "/" in one]
    for one in variants:
        for path in one.operations:
            if Path(path).name not in files:
                there = (
                    f"the files of operations are {', '.join(dict.fromkeys(files))}"
                    if files
                    else "no operation is a file"
                )
                raise UsageError(f"variants.{one.name}.operation: '{path}' replaces no operation; {there}")
        if (one.bench or one.launcher) and len(libraries) > 1:
            key = "bench" if one.bench else "launcher"
            names = ", ".join(each.name for each in libraries)
            raise UsageError(f"variants.{one.name}: a {key} belongs to one MPI library, not to {names}")
        kinds = [owner[0] for path in (libraries[0].bench, one.bench) if path and (owner := library_of(path))]
        if len(set(kinds)) > 1:
            raise UsageError(
                f"variants.{one.name}: '{one.bench}' is linked with {kinds[1]}, not {kinds[0]}; compare kinds of MPI"
                f" library by libraries (--mpi {kinds[0]},{kinds[1]})"
            )


def find_simulator() -> str:
    """Returns downbeat-bench of the build for SimGrid.

    Raises:
        UsageError: there is none.
    """
    if found := built(SIMULATOR) or installed(SIMULATOR):
        return found
    raise UsageError(
        f"the simulator is not built; run {how_to_build(SIMULATOR)}"
        if (CHECKOUT / "CMakeLists.txt").is_file()
        else "the simulator is in a checkout of Downbeat alone; run 'make build MPI=simgrid' there"
    )


def simulated_library(request: Request) -> Library:
    """Returns the simulator as a plan has it, in place of a library."""
    launchers = (request.launcher, *(one.launcher for one in request.variants or ()))
    if request.libraries or any(launchers) or request.ranks_per_node:
        raise UsageError(
            "simulate: what is simulated runs under no MPI library and no launcher, and a platform has ranks_per_node;"
            " leave these out"
        )
    bench = next(iter((request.bench or {}).values()), "") or find_simulator()
    return Library(SIMULATOR, bench, simulate=request.simulate or "")


def check_room(platform: Platform, ranks: int) -> None:
    """Checks that so many ranks fit on a simulated cluster."""
    if ranks > platform.ranks:
        raise UsageError(
            f"ranks: {ranks} do not fit on {platform.nodes} simulated nodes of {platform.ranks_per_node}; "
            "raise nodes or ranks_per_node"
        )
