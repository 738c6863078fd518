"""`downbeat run`: an experiment, from its file or from options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from downbeat.commands.options import BENCH, LAUNCHER
from downbeat.errors import UsageError

if TYPE_CHECKING:
    from downbeat.experiment.execute import Outcome
    from downbeat.experiment.plan import Plan

EXIT_LACKING = 3
FEW = 5  # launches; with fewer no verdict can rest on them


def run(
    what: Annotated[list[str], typer.Argument(metavar="EXPERIMENT.toml|OPERATION", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Directory of the experiment [its name].")
    ] = None,
    sizes: Annotated[str | None, typer.Option("-m", "--sizes", metavar="SIZES", help="Message sizes [8:64K].")] = None,
    sync: Annotated[str | None, typer.Option(metavar="NAMES", help="Synchronizers [mpi_barrier,harmonize].")] = None,
    ranks: Annotated[
        str | None, typer.Option("-n", "--ranks", metavar="P,P..", help="Numbers of ranks [one per core].")
    ] = None,
    mpi: Annotated[str | None, typer.Option(metavar="NAMES", help="MPI libraries [the first that is built].")] = None,
    launches: Annotated[int | None, typer.Option(metavar="N", help="Of each configuration [10].")] = None,
    width: Annotated[
        float | None, typer.Option(metavar="W", help="More launches until intervals are W x estimate wide, as 0.02.")
    ] = None,
    max_launches: Annotated[int | None, typer.Option(metavar="N", help="With --width, at most [50].")] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME:]VAR=VALUE", help="Set a variable in the environment NAME; 'NAME:' alone has none."
        ),
    ] = None,
    timeout: Annotated[float | None, typer.Option(metavar="S", help="Of a launch, in seconds [600].")] = None,
    bench: Annotated[list[str] | None, BENCH] = None,
    launcher: Annotated[str | None, LAUNCHER] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Of the order of launches [drawn].")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Of the experiment [as the file].")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the launches in their order, and start none.")
    ] = False,
    algorithm: Annotated[
        str | None, typer.Option(metavar="CHOICES", help="Of the MPI library, as reduce=linear,binary,bcast=chain.")
    ] = None,
    barrier_algorithm: Annotated[
        str | None, typer.Option(metavar="NAMES", help="The same for the synchronizers' MPI_Barrier.")
    ] = None,
    timing: Annotated[str | None, typer.Option(metavar="NAMES", help="Timing schemes [per_call].")] = None,
    pattern: Annotated[str | None, typer.Option(metavar="NAMES", help="Arrival patterns [none].")] = None,
    delay: Annotated[str | None, typer.Option(metavar="DELAYS", help="Largest delays of the patterns.")] = None,
    permute: Annotated[bool, typer.Option("--permute", help="Permute the patterns over the ranks.")] = False,
    repetitions: Annotated[
        int | None, typer.Option("-r", "--repetitions", metavar="N", help="Valid samples per cell and launch [1000].")
    ] = None,
    stop: Annotated[str | None, typer.Option(metavar="RULE", help="Stopping rule, instead of -r.")] = None,
    warmup: Annotated[str | None, typer.Option(metavar="RULE", help="Warm-up rule, or calls [10].")] = None,
    max_attempts: Annotated[int | None, typer.Option(metavar="N", help="Attempts per valid sample [20].")] = None,
    observe: Annotated[int | None, typer.Option(metavar="RANK", help="Rank of latency_observed [0].")] = None,
    tolerance: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds within which ranks must start [0.5e-6].")
    ] = None,
    with_: Annotated[
        str | None, typer.Option("--with", metavar="PARAMS", help="Parameters of operations, as root=1,type=int32.")
    ] = None,
    validate: Annotated[bool, typer.Option("--validate", help="Look at the results of calls.")] = False,
) -> None:
    """Run an experiment, or continue it.

    Launches are started in random order until all are complete; the same command again continues. The keys of the file
    are the long names of the options (docs/experiments.md), and options override them; for what they mean to a launch
    see downbeat-bench --help.

    Exit status: 0 all complete, 1 failure, 2 bad arguments, 3 launches are lacking or intervals too wide, 130
    interrupted.
    """
    from downbeat.experiment import directory as places
    from downbeat.experiment.bench_options import operations_of
    from downbeat.experiment.request import libraries_by_options, numbers, plan_of, read_request, variables

    files = [word for word in what if word.endswith(".toml")]
    if files and len(what) > 1:
        raise UsageError(f"'{files[0]}' is a file of an experiment; its operations are in there, none can be beside it")
    request: dict[str, object] = read_request(Path(files[0])) if files else {}
    options: dict[str, object] = {
        "name": name,
        "operations": None if files else list(operations_of(what, Path())),
        "sizes": sizes,
        "with": with_,
        "validate": validate or None,
        "sync": sync,
        "algorithm": algorithm,
        "barrier-algorithm": barrier_algorithm,
        "timing": timing,
        "pattern": pattern,
        "delay": delay,
        "permute": permute or None,
        "repetitions": repetitions,
        "stop": stop,
        "warmup": number_if_it_is(warmup),
        "max-attempts": max_attempts,
        "observe": observe,
        "tolerance": tolerance,
        "ranks": numbers("--ranks", ranks) if ranks is not None else None,
        "libraries": libraries_by_options(request.get("libraries"), mpi, bench or [], launcher),
        "environments": variables(env) if env else None,
        "launches": launches,
        "width": width,
        "max-launches": max_launches,
        "timeout": timeout,
        "seed": seed,
    }
    # Each replaces the other: a rule, and what is short for one.
    for key, other in (("repetitions", "stop"), ("stop", "repetitions")):
        if options[key] is not None:
            request.pop(other, None)
    request |= {key: value for key, value in options.items() if value is not None}

    def place(name: str) -> Path:
        return output or Path(name)

    def stored(name: str) -> Plan | None:
        return places.read_plan(place(name)) if (place(name) / places.PLAN).is_file() else None

    plan = plan_of(request, Path(files[0]).parent if files else Path(), stored)
    if dry_run:
        print_launches(plan)
        return
    run_plan(plan, place(plan.name))


def number_if_it_is(text: str | None) -> str | int | None:
    """Returns a number where the text is one."""
    return int(text) if text is not None and text.isdigit() else text


def print_launches(plan: Plan) -> None:
    """Prints the launches of a plan in their order, each with its command."""
    import shlex

    from downbeat.experiment.execute import launch_command

    order = plan.launch_order()
    for position, key in enumerate(order, 1):
        variables = next(one for one in plan.environments if one.name == key.environment).variables
        words = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
        print(f"{position}/{len(order)} {key}: {' '.join([*words, shlex.join(launch_command(plan, key))])}")
    if plan.width:
        print(f"then more, up to {plan.max_launches} of each, until all intervals are {plan.width:g} x estimate wide")


def run_plan(plan: Plan, directory: Path) -> None:
    """Executes a plan, and ends the command with the exit status that tells how it went."""
    import sys

    from downbeat.commands.interruption import resumable
    from downbeat.experiment.execute import execute
    from downbeat.experiment.progress import print_table, watcher

    if plan.launches < FEW:
        print(f"warning: {plan.launches} launches, where no verdict can rest on fewer than {FEW}", file=sys.stderr)
    with resumable():
        outcome = execute(plan, directory, watcher())
    print_table(outcome.estimates)
    tell(plan, directory, outcome)


def tell(plan: Plan, directory: Path, outcome: Outcome) -> None:
    """Says what failed and what is lacking; ends with the exit status for it."""
    import sys

    if outcome.refused:
        raise UsageError(outcome.refused)
    for ended in outcome.failures:
        print(f"failed: {ended.key}: {ended.failure}; see {ended.directory}", file=sys.stderr)
    if outcome.too_wide:
        print(
            f"downbeat: after {plan.max_launches} launches the widest interval is {outcome.too_wide:.3g} x estimate "
            f"wide, not {plan.width:g}; more launches (--max-launches) continue",
            file=sys.stderr,
        )
    print(f"written: {directory}")
    if outcome.lacking:
        lacking = "; ".join(f"{name}: {count}" for name, count in outcome.lacking.items())
        print(f"downbeat: launches are lacking ({lacking}); the same command again tries them", file=sys.stderr)
    if outcome.lacking or outcome.too_wide:
        raise typer.Exit(EXIT_LACKING)
