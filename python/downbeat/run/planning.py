"""Makes a plan from a request: finds programs, libraries and the number of ranks, and fills in defaults.

A request (request.py) has only the settings that the user gave; a plan (plan.py) has a value for each.
"""

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
from downbeat.run.bench_options import invalid_value
from downbeat.run.job import Job, job_of, places_ranks
from downbeat.run.launch import cpus_per_core
from downbeat.run.libraries import CHECKOUT, LIBRARIES, packaged_bench
from downbeat.run.plan import Environment, Library, Measurement, Plan, Variant
from downbeat.run.request import MAX_LAUNCHES, Program, Request
from downbeat.run.simulation import SIMULATOR, options_of, parse_platform
from downbeat.text import name_of

DEFAULT_LAUNCHES = 10  # per configuration
MAX_LAUNCHES_FOR_WIDTH = 50  # default limit with --width
# Defaults if launches are spread over a time (--over): 20 launches suffice to detect correlation of successive
# launches.
MAX_SPREAD_LAUNCHES, MIN_SPACING_SECONDS = 20, 30.0
MAX_ROUNDS_PER_LAUNCH = 2  # to get all launches in one state of the machine


def planned(request: Request, stored: Callable[[str], Plan | None]) -> Plan:
    """The plan for a request.

    Args:
        request: the requested experiment.
        stored: reads the plan of an earlier run by the name of the experiment, None without one; its seed is kept.

    Raises:
        UsageError: settings contradict each other, or there is no downbeat-bench for a library.
    """
    if request.operations is None:
        raise UsageError("no operations to measure; give their names, or a file EXPERIMENT.toml")
    check_spread(request)
    platform = parse_platform(request.simulate) if request.simulate else None
    libraries = (simulated_library(request),) if platform else libraries_of(request)
    variants = request.variants or (Variant(),)
    check_variants(variants, request.operations, libraries)
    per_node = request.ranks_per_node or 0
    for variant in variants:
        check_placing(variant.launcher, per_node)
    if request.ranks:
        ranks = request.ranks
    elif platform:
        ranks = (platform.ranks,)
    else:
        ranks = (default_ranks(job_of(libraries[0].launcher), per_node),)
    if platform and max(ranks) > platform.ranks:
        raise UsageError(
            f"ranks: {max(ranks)} do not fit on {platform.nodes} simulated nodes of {platform.ranks_per_node}; "
            "raise nodes or ranks_per_node"
        )
    launches = request.launches or DEFAULT_LAUNCHES
    if request.over and not request.launches:  # one launch each 30 s, from 10 to 20
        launches = max(DEFAULT_LAUNCHES, min(MAX_SPREAD_LAUNCHES, int(request.over / MIN_SPACING_SECONDS)))
    max_launches = request.max_launches or max(MAX_LAUNCHES_FOR_WIDTH, launches)
    if max_launches < launches:
        raise invalid_value("max-launches", max_launches, f"a whole number, from {launches} to {MAX_LAUNCHES}")
    name = request.name or name_after(request.operations)
    earlier = stored(name)
    seed = request.seed
    if seed is None:
        seed = earlier.seed if earlier else random.SystemRandom().randrange(1_000_000)
    return Plan(
        name=name,
        measurement=Measurement(request.operations, bench_options(request)),
        libraries=libraries,
        ranks=ranks,
        environments=request.environments or (Environment(),),
        variants=variants,
        launches=launches,
        # A simulated cluster has one state; a single launch is not compared with others.
        most_rounds=launches if platform or launches == 1 else min(MAX_ROUNDS_PER_LAUNCH * launches, MAX_LAUNCHES),
        interval=request.interval or 0.0,
        over=request.over or 0.0,
        timeout=request.timeout or 0.0,
        seed=seed,
        width=request.width or 0.0,
        max_launches=max_launches,
    )


def check_spread(request: Request) -> None:
    """Checks that no setting contradicts `over`, the time that launches are spread over.

    Raises:
        UsageError: another setting contradicts `over`.
    """
    if not request.over:
        return
    if request.interval:
        raise UsageError("over, interval: both set the start of rounds; give one of them")
    if request.launches == 1:
        raise UsageError("over: a single launch cannot be spread; give --launches 2 or more")
    if request.simulate:
        raise UsageError("over: a simulated cluster does not change with time; leave it out")


def name_after(operations: Sequence[str]) -> str:
    """The default name of an experiment, from its operations."""
    names = [re.sub(r"[^A-Za-z0-9_.+-]+", "-", Path(operation).name).strip("-") for operation in operations]
    return "-".join(names[:3]) + ("-and-more" if len(names) > 3 else "")


def bench_options(request: Request) -> dict[str, str]:
    """The options of downbeat-bench: from fields of the request, and those after `--`."""
    fields = {"sizes": request.sizes, "sync": request.sync}
    options = {name: value for name, value in fields.items() if value} | dict(request.options or {})
    if request.repetitions:
        options["repetitions"] = str(request.repetitions)
    return options_of(options) if request.simulate else options


def default_ranks(job: Job, per_node: int) -> int:
    """The default number of ranks: `per_node` on each node, else the job's, else one per core.

    Args:
        job: the nodes that ranks run on.
        per_node: maximum number of ranks on a node; 0: not set.
    """
    if per_node and job.nodes:
        return max(2, job.nodes * per_node)
    if job.ranks > 1:
        return job.ranks
    if job.nodes > 1 and job.cpus:
        return job.nodes * job.cpus
    return max(2, len(cpus_per_core()))


def libraries_of(request: Request) -> tuple[Library, ...]:
    """The MPI libraries, each with its downbeat-bench and its launcher; by default the first that is built."""
    benches = dict(request.bench or {})  # name of a library, or "" for any -> path
    if not (benches or request.libraries) and request.variants and request.variants[0].bench:
        benches = {"": request.variants[0].bench}  # determines the library of all variants
    if request.libraries:
        programs = list(request.libraries)
    elif any(benches):
        programs = [Program(name) for name in benches if name]
    elif benches:
        owner = library_of(benches[""])
        programs = [Program(owner[0] if owner else "mpi")]
    else:
        programs = [Program(*find_any_bench())]
    names = [program.name for program in programs]
    if "" in benches and len(names) > 1:
        raise UsageError(f"--bench: '{benches['']}' is for one library; write NAME=PATH for each of {', '.join(names)}")
    for name in benches:
        if name and name not in names:
            raise UsageError(f"--bench: '{name}' is not among the libraries {', '.join(names)}")
    return tuple(
        planned_library(
            program.name,
            benches.get(program.name) or benches.get("") or program.bench or find_bench(program.name),
            request.launcher or program.launcher,
            request.ranks_per_node or 0,
        )
        for program in programs
    )


def planned_library(name: str, bench: str, launcher: str, per_node: int = 0) -> Library:
    """A library for a plan.

    Args:
        name: name of the library.
        bench: path of downbeat-bench.
        launcher: command of the launcher; "": srun in a Slurm job if it has the plugin, else the library's launcher.
        per_node: maximum number of ranks on a node; 0: the launcher decides.

    Raises:
        UsageError: downbeat-bench is built for another library, or `check_placing` refuses the launcher.
    """
    of_wheel = name in LIBRARIES and bench == packaged_bench()
    owner = (name, LIBRARIES[name]) if of_wheel else library_of(bench)
    if owner and name in LIBRARIES and not set(owner[1].abis) & set(LIBRARIES[name].abis):
        raise UsageError(f"libraries: '{bench}' is built for {owner[0]}, not for {name}; give it as {owner[0]}={bench}")
    check_placing(launcher, per_node)
    if owner and not launcher:
        launcher = srun_launcher(owner[1], placed=per_node > 0)
    return Library(name, bench, launcher, owner[1].fixed_at_start if owner else (), per_node)


def check_placing(launcher: str, per_node: int) -> None:
    """Checks that a user's launcher, if any, and the number of ranks per node fit together.

    Raises:
        UsageError: the launcher lacks a placeholder for the number, or the number is missing.
    """
    if launcher and per_node and not places_ranks(launcher):
        raise UsageError(
            f"ranks-per-node: the launcher '{launcher}' has no place for the number; add {{nodes}} or "
            "{ranks_per_node}, as in 'srun -N {nodes} --ntasks-per-node={ranks_per_node} -n {ranks}'"
        )
    if places_ranks(launcher) and not per_node:
        raise UsageError(
            f"launcher: '{launcher}' has {{nodes}} or {{ranks_per_node}}; give the number with --ranks-per-node"
        )


def check_variants(variants: Sequence[Variant], operations: Sequence[str], libraries: Sequence[Library]) -> None:
    """Checks that variants' programs fit the MPI library, and their shared objects the operations.

    Raises:
        UsageError: there are several libraries, a program belongs to another one, or a file replaces no operation.
    """
    files = [Path(word).name for word in map(name_of, operations) if "/" in word]
    for variant in variants:
        for path in variant.operations:
            if Path(path).name not in files:
                existing = "no operation is a file"
                if files:
                    existing = f"the files of operations are {', '.join(dict.fromkeys(files))}"
                raise UsageError(f"variants.{variant.name}.operation: '{path}' replaces no operation; {existing}")
        if (variant.bench or variant.launcher) and len(libraries) > 1:
            key = "bench" if variant.bench else "launcher"
            names = ", ".join(each.name for each in libraries)
            raise UsageError(f"variants.{variant.name}: a {key} belongs to one MPI library, not to {names}")
        expected = library_of(libraries[0].bench) if libraries[0].bench else None
        actual = library_of(variant.bench) if variant.bench else None
        if expected and actual and expected[0] != actual[0]:
            raise UsageError(
                f"variants.{variant.name}: '{variant.bench}' is linked with {actual[0]}, not {expected[0]}; compare "
                f"kinds of MPI library by libraries (--mpi {expected[0]},{actual[0]})"
            )


def find_simulator() -> str:
    """Path of the downbeat-bench built for SimGrid.

    Raises:
        UsageError: it is not built.
    """
    if bench := built(SIMULATOR) or installed(SIMULATOR):
        return bench
    if (CHECKOUT / "CMakeLists.txt").is_file():
        raise UsageError(f"the simulator is not built; run {how_to_build(SIMULATOR)}")
    raise UsageError("only a checkout of Downbeat has the simulator; run 'make build MPI=simgrid' there")


def simulated_library(request: Request) -> Library:
    """The simulator, as the library of a plan.

    Raises:
        UsageError: the request has settings of MPI libraries, or the simulator is not built.
    """
    launchers = (request.launcher, *(variant.launcher for variant in request.variants or ()))
    if request.libraries or any(launchers) or request.ranks_per_node:
        raise UsageError(
            "simulate: a simulation uses no MPI library and no launcher, and the platform sets ranks_per_node; leave "
            "out --mpi, --launcher and --ranks-per-node"
        )
    bench = next(iter((request.bench or {}).values()), "") or find_simulator()
    return Library(SIMULATOR, bench, simulate=request.simulate or "")
