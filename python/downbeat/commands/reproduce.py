"""`downbeat reproduce`: the experiment behind a figure of the papers, at the size at hand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from downbeat.commands.options import LAUNCHER
from downbeat.errors import UsageError


def reproduce(
    figures: Annotated[
        list[str] | None, typer.Argument(metavar="FIGURE", help="As schuchart2023-fig2; --list shows all.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Say what each figure needs and what can be seen of it here.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="All figures, in one report.")] = False,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="For data and pages.")] = Path(
        "reproduce"
    ),
    ranks: Annotated[
        str, typer.Option(metavar="LIST", help="Numbers of ranks, as 2,4; else powers of 2 to twice the cores.")
    ] = "",
    mpi: Annotated[str, typer.Option(metavar="LIST", help="MPI libraries to use; else all that are built.")] = "",
    launches: Annotated[int, typer.Option(metavar="N", min=1, help="Of each configuration.")] = 3,
    launcher: Annotated[str, LAUNCHER] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Few repetitions, to see whether all works.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Measure anew what is there already.")] = False,
) -> None:
    """Measure the papers' figures again, beside what they report.

    A page is written for one figure to DIR/<figure>.html, for several to
    DIR/report.html; data lie in DIR/<figure>/ and are used again.
    """
    from downbeat.commands.interruption import resumable
    from downbeat.report.page import write_page
    from downbeat.reproduce.listing import duration, estimated_total, listing
    from downbeat.reproduce.page import figure_section, missing_section, whole_page
    from downbeat.reproduce.perform import perform, seconds_left
    from downbeat.reproduce.registry import FIGURES, find_figures, own_data
    from downbeat.reproduce.site import parse_ranks, site_at_hand

    names = [name for name in mpi.split(",") if name]
    chosen = list(FIGURES.values()) if everything or (listed and not figures) else find_figures(figures or [])
    if everything and figures:
        raise UsageError("either --all or names of figures")
    if not chosen:
        raise UsageError(
            "no figure named; --list shows them, --all takes all, as in 'downbeat reproduce schuchart2023-fig2'"
        )
    site = site_at_hand(parse_ranks(ranks), names, launches, quick, launcher)
    if listed:
        print(listing(chosen, site))
        return

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    # Looks into all directories before the first launch, not minutes later.
    seconds = (
        estimated_total(chosen, site)
        if again
        else sum(seconds_left(one, site, output / one.name) for one in dict.fromkeys(map(own_data, chosen)))
    )
    say(f"{len(chosen)} figure{'s' if len(chosen) > 1 else ''}, about {duration(seconds)}")
    measured = {}
    sections = []
    failed = []
    for figure in chosen:
        source = own_data(figure)
        if not source.runs(site):
            sections.append(missing_section(figure, source.lacks, site))
            continue
        if source.name not in measured:
            with resumable():
                measured[source.name] = perform(source, site, output / source.name, again, say)
        sections.append(figure_section(figure, measured[source.name]))
        if measured[source.name].lacking():
            failed.append(figure.name)
    output.mkdir(parents=True, exist_ok=True)
    path = output / ("report.html" if len(chosen) > 1 else f"{chosen[0].name}.html")
    write_page(path, whole_page(sections, chosen, site))
    print(path)
    if failed:
        say(f"downbeat: launches failed for {', '.join(failed)}; the page says where their output is")
        raise typer.Exit(3)
