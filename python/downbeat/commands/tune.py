"""`downbeat tune`: selection rules for an MPI library, measured and proven."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from downbeat.commands.options import LIBRARIES, METRICS, PASSED, components, option

OBJECTIONS = 3  # a check of the rules failed


def tune(
    context: typer.Context,
    collectives: Annotated[
        list[str],
        typer.Argument(help="E.g. bcast reduce.", metavar="COLLECTIVE", autocompletion=components("operation")),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory for rules and data.", metavar="DIR")],
    mpi: Annotated[str, typer.Option(help="MPI library.", metavar="NAME", autocompletion=LIBRARIES)] = "openmpi",
    sizes: Annotated[str, typer.Option("--sizes", "-m", help="Message sizes.", metavar="SIZES")] = "8:64K",
    ranks: Annotated[
        str, typer.Option("--ranks", "-n", help="Numbers of ranks [the job's, else one per core].", metavar="P,P..")
    ] = "",
    ranks_per_node: Annotated[int | None, option("ranks_per_node", least=1)] = None,
    launches: Annotated[int, typer.Option(min=1, help="Launches of each configuration.", metavar="N")] = 10,
    repetitions: Annotated[
        int, typer.Option("--repetitions", "-r", min=1, help="Valid samples per cell and launch.", metavar="N")
    ] = 100,
    margin: Annotated[float, typer.Option(help="Smallest gain that is worth a rule.", metavar="SHARE")] = 0.05,
    confidence: Annotated[float, typer.Option(help="Confidence of intervals and tests.", metavar="SHARE")] = 0.95,
    metric: Annotated[
        str,
        typer.Option(
            help="Metric that is compared [latency_avg; with a pattern after_last_entry].",
            metavar="NAME",
            autocompletion=METRICS,
        ),
    ] = "",
    pattern: Annotated[
        str,
        typer.Option(
            help="Arrival pattern that the rules are for [none].", metavar="NAME", autocompletion=components("pattern")
        ),
    ] = "",
    delay: Annotated[str, typer.Option(help="Largest delay of the arrival pattern.", metavar="DELAY")] = "",
    bench: Annotated[str, typer.Option(help="Path of downbeat-bench [the build].", metavar="PATH")] = "",
    launcher: Annotated[str, option("launcher")] = "",
    timeout: Annotated[
        float | None, typer.Option(min=1, help="Seconds after which a launch is ended [by its size].", metavar="S")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the order of launches.", metavar="N")] = 0,
) -> None:
    """Choose algorithms of an MPI library, write rules, prove that they work.

    Options after -- go to downbeat-bench unchanged, in every measurement (downbeat-bench --help).

    Exit status: 0 rules are written and no check failed, 1 failure, 2 bad arguments, 3 the library does not obey some
    rules, or they are slower than the defaults, cannot be measured, or were removed because of wrong results.
    """
    import sys

    from downbeat.commands.options import resumable
    from downbeat.run.bench import find_bench
    from downbeat.run.bench_options import launcher_at
    from downbeat.run.job import job_of
    from downbeat.run.planning import default_ranks, library_for
    from downbeat.tune.sweep import Effort
    from downbeat.tune.table import find_warnings, render, write_rules_record
    from downbeat.tune.target import one_pattern, parse_ranks, parse_share, passed_by_user, valid_metric
    from downbeat.tune.tuning import ENVIRONMENT_FILE, RECORD_FILE, Question, tune

    per_node = ranks_per_node or 0
    pattern, delay = one_pattern(pattern, delay)
    tuned = library_for(mpi, bench or find_bench(mpi), launcher_at(launcher, Path()) if launcher else "", per_node)
    question = Question(
        library=tuned,
        collectives=tuple(dict.fromkeys(collectives)),
        sizes=sizes,
        ranks=parse_ranks(ranks) if ranks else (default_ranks(job_of(tuned.launcher), per_node),),
        effort=Effort(
            launches,
            repetitions,
            timeout or 0.0,
            seed,
            valid_metric(metric, pattern),
            pattern,
            delay,
            passed_by_user(context.meta[PASSED]),
        ),
        margin=parse_share("margin", margin, 0.0),
        confidence=parse_share("confidence", confidence, 0.5),
    )
    with resumable():
        tuning = tune(question, output, lambda line: print(f"downbeat: {line}", file=sys.stderr, flush=True))
    warnings = find_warnings(tuning)
    write_rules_record(tuning, output, warnings)
    print(render(tuning, warnings))
    print("written:", ", ".join(str(output / name) for name in (*tuning.written.files, ENVIRONMENT_FILE, RECORD_FILE)))
    if tuning.objections():
        raise typer.Exit(OBJECTIONS)
