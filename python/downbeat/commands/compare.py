"""`downbeat compare`: whether something is faster than something else, with an exit status for scripts."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from downbeat.errors import UsageError

EXIT_DIFFERENT = 3
EXIT_UNDECIDED = 4


class FailOn(StrEnum):
    """What makes the exit status differ from 0."""

    NOTHING = "nothing"
    SLOWER = "slower"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


def compare(
    what: Annotated[list[str], typer.Argument(metavar="WHAT", help="Experiments, and conditions.", show_default=False)],
    metric: Annotated[str, typer.Option(help="What is compared of each sample.", metavar="NAME")] = "latency_avg",
    statistic: Annotated[str, typer.Option(help="Of the samples of a launch.", metavar="NAME")] = "median",
    margin: Annotated[float, typer.Option(help="A ratio so close to 1 is equivalent.", metavar="SHARE")] = 0.02,
    confidence: Annotated[float, typer.Option(help="Of the intervals.", metavar="SHARE")] = 0.95,
    fail_on: Annotated[
        FailOn, typer.Option(help="Decides on the exit status: nothing, slower, different, undecided.", metavar="WHEN")
    ] = FailOn.SLOWER,
    json: Annotated[
        Path | None, typer.Option(help="Write all numbers to a file.", metavar="FILE", show_default=False)
    ] = None,
) -> None:
    """Say which cells of B are faster or slower than in A.

    compare A B: two experiments, directories of files .nc, or files.

    compare A synchronizer=mpi_barrier synchronizer=harmonize: two values of a
    factor in one experiment. With commas further factors: library=mpich,size=8.

    Exit status: 0 nothing is slower; 3 something is (with --fail-on different:
    or faster); 4 with --fail-on undecided: something is undecided or unmatched.
    """
    from downbeat.comparison.compare import compare as compare_experiments
    from downbeat.comparison.conditions import parse_conditions
    from downbeat.comparison.record import write_record
    from downbeat.comparison.table import describe
    from downbeat.experiment.experiment import open_experiment

    conditions = [word for word in what if "=" in word and not Path(word).exists()]
    paths = [word for word in what if word not in conditions]
    if len(conditions) not in (0, 2) or not 1 <= len(paths) <= 2 or len(paths) + len(conditions) < 2:
        raise UsageError(
            f"{plural(len(paths), 'experiment')} and {plural(len(conditions), 'condition')};"
            " valid are A B, or A factor=value factor=value"
        )
    where = [parse_conditions(one) for one in conditions] or [{}, {}]
    experiments = [open_experiment(path) for path in paths]
    frame = compare_experiments(
        experiments[0],
        experiments[1] if len(experiments) > 1 else None,
        where_a=where[0],
        where_b=where[1],
        metric=metric,
        statistic=statistic,
        margin=margin,
        confidence=confidence,
    )
    print("\n".join(describe(frame)))
    if json:
        write_record(frame, json)
        print(f"written: {json}")
    raise typer.Exit(exit_status(set(frame["verdict"]), fail_on))


def exit_status(verdicts: set[str], fail_on: FailOn) -> int:
    """Returns the exit status that verdicts amount to."""
    failing = {
        FailOn.NOTHING: set[str](),
        FailOn.SLOWER: {"slower"},
        FailOn.DIFFERENT: {"slower", "faster"},
        FailOn.UNDECIDED: {"slower"},
    }[fail_on]
    if verdicts & failing:
        return EXIT_DIFFERENT
    return EXIT_UNDECIDED if fail_on is FailOn.UNDECIDED and verdicts & {"undecided", "unmatched"} else 0


def plural(count: int, thing: str) -> str:
    """Returns how many there are of a thing."""
    return f"{count} {thing}{'' if count == 1 else 's'}"
