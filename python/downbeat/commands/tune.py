"""`downbeat tune`: selection rules for an MPI library, chosen with care and proven."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PROOF_FAILED = 3


def tune(
    collectives: Annotated[list[str], typer.Argument(help="collectives, as bcast reduce")],
    output: Annotated[Path, typer.Option("--output", "-o", help="directory for rules and measurements")],
    mpi: Annotated[str, typer.Option(help="MPI library")] = "openmpi",
    sizes: Annotated[str, typer.Option("--sizes", "-m", help="sizes, as 8:64K")] = "8:64K",
    ranks: Annotated[str, typer.Option("--ranks", "-n", help="numbers of ranks, as 2,4")] = "2",
    launches: Annotated[int, typer.Option(min=1, help="launches of each configuration")] = 10,
    repetitions: Annotated[int, typer.Option("--repetitions", "-r", min=1, help="samples per cell and launch")] = 100,
    margin: Annotated[float, typer.Option(help="gain below which a rule is not worth it")] = 0.05,
    confidence: Annotated[float, typer.Option(help="of intervals and tests")] = 0.95,
    metric: Annotated[str, typer.Option(help="what is compared")] = "latency_avg",
    bench: Annotated[str, typer.Option(help="downbeat-bench, if not that of the checkout")] = "",
    launcher: Annotated[str, typer.Option(help="as 'srun --mpi=pmix -n {ranks}'")] = "",
    tolerance: Annotated[str, typer.Option(help="seconds that a start may be late, as 1e-4")] = "",
    timeout: Annotated[float, typer.Option(min=1, help="seconds for a launch")] = 600,
    seed: Annotated[int, typer.Option(help="of the order of launches")] = 0,
) -> None:
    """Choose an MPI library's algorithms, write rules, prove them.

    Exit status: 0 rules are written and nothing speaks against them, 1 failure, 2 bad arguments, 3 rules are not
    obeyed, or slower than none.
    """
    import sys

    from downbeat.experiment.plan import Library
    from downbeat.mpi.bench import find_bench
    from downbeat.tune.arguments import parse_ranks, parse_share, valid_metric
    from downbeat.tune.record import RECORD_FILE, write_record
    from downbeat.tune.sweep import Effort
    from downbeat.tune.table import find_warnings, render
    from downbeat.tune.tuning import Question, tune
    from downbeat.tune.writing import ENVIRONMENT_FILE

    question = Question(
        library=Library(mpi, bench or find_bench(mpi), launcher),
        collectives=tuple(dict.fromkeys(collectives)),
        sizes=sizes,
        ranks=parse_ranks(ranks),
        effort=Effort(launches, repetitions, timeout, seed, valid_metric(metric), tolerance),
        margin=parse_share("margin", margin, 0.0),
        confidence=parse_share("confidence", confidence, 0.5),
    )
    tuning = tune(question, output, lambda line: print(f"downbeat: {line}", file=sys.stderr, flush=True))
    warnings = find_warnings(tuning)
    write_record(tuning, output, warnings)
    print(render(tuning, warnings))
    print("written:", ", ".join(str(output / name) for name in (*tuning.written.files, ENVIRONMENT_FILE, RECORD_FILE)))
    if tuning.disobeyed() or tuning.slower():
        raise typer.Exit(PROOF_FAILED)
