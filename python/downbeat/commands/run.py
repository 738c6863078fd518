"""`downbeat run`: runs an experiment, given by a file or by options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from downbeat.base.text import counted
from downbeat.commands.completion import LIBRARIES, components
from downbeat.commands.options import BENCH, LAUNCHER, PASSED, RANKS_PER_NODE
from downbeat.errors import UsageError

if TYPE_CHECKING:
    from downbeat.experiment.execute import Outcome
    from downbeat.experiment.plan import Plan

EXIT_LACKING = 3
FEW = 5  # launches; with fewer no verdict can rest on them


def run(
    context: typer.Context,
    what: Annotated[
        list[str], typer.Argument(metavar="EXPERIMENT.toml|OPERATION", autocompletion=components("operation"))
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Directory for the results [the name of the experiment]."),
    ] = None,
    sizes: Annotated[str | None, typer.Option("-m", "--sizes", metavar="SIZES", help="Message sizes [8:64K].")] = None,
    sync: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="Synchronizers [mpi_barrier,harmonize].", autocompletion=components("synchronizer")
        ),
    ] = None,
    ranks: Annotated[
        str | None,
        typer.Option("-n", "--ranks", metavar="P,P..", help="Numbers of ranks [the job's, else one per core]."),
    ] = None,
    ranks_per_node: Annotated[int | None, RANKS_PER_NODE] = None,
    mpi: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="MPI libraries [the first that is built].", autocompletion=LIBRARIES),
    ] = None,
    launches: Annotated[int | None, typer.Option(metavar="N", help="Launches of each configuration [10].")] = None,
    width: Annotated[
        float | None,
        typer.Option(
            metavar="W",
            help="Launch until each 95 % interval is at most W x estimate wide, e.g. 0.02 (it then covers 93 %).",
        ),
    ] = None,
    max_launches: Annotated[int | None, typer.Option(metavar="N", help="Most launches with --width [50].")] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME:]VAR=VALUE", help="Set a variable in the environment NAME; 'NAME:' alone sets none."
        ),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:KEY=VALUE",
            help="Launch variants in turn, with another bench, launcher, operation or variable; 'NAME:' has none.",
        ),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds after which a launch is ended [by its size].")
    ] = None,
    bench: Annotated[list[str] | None, BENCH] = None,
    launcher: Annotated[str | None, LAUNCHER] = None,
    simulate: Annotated[
        str | None,
        typer.Option(
            metavar="PLATFORM",
            help="Simulate a cluster, e.g. 'fat-tree(nodes=64)'; -n is then as many as fit, -r 20.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Seed of the order of launches [random].")] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the experiment [from file or operations].")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the launches in order; start none.")] = False,
    repetitions: Annotated[
        int | None, typer.Option("-r", "--repetitions", metavar="N", help="Valid samples per cell and launch [1000].")
    ] = None,
) -> None:
    """Run an experiment, or continue one.

    Launches run in random order until all are complete. The same command continues an interrupted run. Keys of the file
    are the long names of the options (docs/experiments.md); options override them. Options after -- go to
    downbeat-bench unchanged (downbeat-bench --help).

    Exit status: 0 all complete, 1 failure, 2 bad arguments, 3 launches are missing or intervals too wide, 130
    interrupted.
    """
    from downbeat.base.files import is_standard_output
    from downbeat.experiment import directory as places
    from downbeat.experiment.bench_options import operations_of, passed_options
    from downbeat.experiment.request import environment_variables, libraries_by_options, numbers, plan_of, read_request
    from downbeat.experiment.variants import first_bench, variants_by_options
    from downbeat.launchers.bench import check_arguments
    from downbeat.launchers.simulation import NAME as SIMULATOR

    files = [word for word in what if word.endswith(".toml")]
    if files and len(what) > 1:
        raise UsageError(f"'{files[0]}' defines an experiment and its operations; give no others")
    request = read_request(Path(files[0])) if files else {}
    base = Path(files[0]).parent if files else Path()
    variants = variants_by_options(variant) if variant else request.get("variants")
    if simulate and (mpi or launcher):
        raise UsageError("--simulate: what is simulated runs under no MPI library and no launcher; leave these out")
    simulated = bool(simulate or "simulate" in request)
    if simulated and bench:
        bench = [f"{SIMULATOR}={path.removeprefix(f'{SIMULATOR}=')}" for path in bench]
    if not (mpi or bench or simulated or "libraries" in request):
        bench = first_bench(variants, Path() if variant else base)
    options: dict[str, object] = {
        "name": name,
        "operations": None if files else list(operations_of(what, Path())),
        "sizes": sizes,
        "sync": sync,
        "repetitions": repetitions,
        "ranks": numbers("--ranks", ranks) if ranks is not None else None,
        "ranks-per-node": ranks_per_node,
        "libraries": libraries_by_options(request.get("libraries"), mpi, bench or [], launcher),
        "environments": environment_variables(env) if env else None,
        "variants": variants,
        "launches": launches,
        "width": width,
        "max-launches": max_launches,
        "timeout": timeout,
        "seed": seed,
        "simulate": simulate,
    }
    passed = passed_options(context.meta[PASSED])
    of_file = dict(request.get("options", {}))
    # Each replaces the other: a rule, and what is short for one.
    if "stop" in passed:
        request.pop("repetitions", None)
    elif repetitions is not None:
        of_file.pop("stop", None)
    options["options"] = of_file | passed
    request |= {key: value for key, value in options.items() if value is not None}

    if is_standard_output(output):
        raise UsageError("--output: an experiment is a directory, and cannot go to standard output")

    def place(name: str) -> Path:
        return output or Path(name)

    def stored(name: str) -> Plan | None:
        return places.read_plan(place(name)) if (place(name) / places.PLAN).is_file() else None

    plan = plan_of(request, base, stored)
    if not any(one.simulate for one in plan.libraries):  # such a program runs under its simulator alone
        for program, *arguments in dict.fromkeys(map(plan.program_of, plan.round_order(1))):
            check_arguments(program, arguments)
    if dry_run:
        print_launches(plan)
        return
    run_plan(plan, place(plan.name), "seed" not in request)


def print_launches(plan: Plan) -> None:
    """Prints the launches of a plan in their order, each with its command."""
    import shlex

    from downbeat.experiment.execute import launch_command

    order = plan.launch_order()
    for position, key in enumerate(order, 1):
        words = [f"{name}={shlex.quote(value)}" for name, value in plan.variables_of(key).items()]
        print(f"{position}/{len(order)} {key}: {' '.join([*words, shlex.join(launch_command(plan, key))])}")
    if plan.width:
        print(f"then up to {plan.max_launches} of each, until each interval is at most {plan.width:g} x estimate wide")


def run_plan(plan: Plan, directory: Path, any_seed: bool) -> None:
    """Executes a plan, and ends the command with the exit status of the outcome."""
    import sys

    from downbeat.commands.interruption import resumable
    from downbeat.experiment.execute import execute
    from downbeat.experiment.progress import watcher

    for warning in crowding(plan):
        print(f"warning: {warning}", file=sys.stderr)
    if plan.launches < FEW:
        print(
            f"warning: {counted(plan.launches, 'launch')}; a verdict needs at least {FEW} (--launches)", file=sys.stderr
        )
    with resumable():
        outcome = execute(plan, directory, watcher(), any_seed)
    if outcome.estimates.medians:
        from downbeat.comparison.closing import closing

        print("", *closing(plan, directory, outcome.estimates), sep="\n")
    tell(plan, directory, outcome)


def crowding(plan: Plan) -> list[str]:
    """Returns a line if ranks share processors; how many a launcher of the user's own has is not always known."""
    from downbeat.launchers.job import job_of, ranks_on_a_node

    ranks = max(plan.ranks)
    for one in plan.libraries:
        if one.simulate:
            continue
        launchers = {variant.launcher or one.launcher for variant in plan.variants}
        for job in map(job_of, sorted(launchers)):
            if job.crowded(ranks, one.ranks_per_node):
                share = ranks_on_a_node(ranks, one.ranks_per_node, job.nodes)
                per_node = f" on a node, of {ranks}," if job.nodes > 1 else ""
                most = f"-n {job.cpus}" if job.nodes == 1 else f"{job.cpus} on each of {job.nodes} nodes"
                return [
                    f"{share} ranks{per_node} share {counted(job.cpus, 'processor')}: a rank that "
                    f"waits for a processor starts late or looks slow; use at most {most}"
                ]
    return []


def tell(plan: Plan, directory: Path, outcome: Outcome) -> None:
    """Reports failed and missing launches; ends with the exit status for them."""
    import sys

    if outcome.refused:
        raise UsageError(outcome.refused)
    for ended in outcome.failures:
        print(f"failed: {ended.key}: {ended.failure}; see {ended.directory}", file=sys.stderr)
    if outcome.too_wide:
        resemblance = outcome.estimates.resemblance()
        why = (
            f"wider than --width {plan.width:g}; continue with a larger --max-launches"
            if outcome.too_wide > plan.width
            else f"but launches resemble the one before (correlation {resemblance:.1f}), and it may not hold; measure "
            "over a longer time"
        )
        found = f"the widest interval is {outcome.too_wide:.3g} x estimate"
        print(f"downbeat: after {plan.max_launches} launches {found}, {why}", file=sys.stderr)
    print(f"written: {directory}")
    if outcome.lacking:
        lacking = "; ".join(f"{name}: {count}" for name, count in outcome.lacking.items())
        print(f"downbeat: launches are missing ({lacking}); run the same command again to retry them", file=sys.stderr)
    if outcome.lacking or outcome.too_wide:
        raise typer.Exit(EXIT_LACKING)
