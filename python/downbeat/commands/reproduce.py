"""`downbeat reproduce`: the experiments of the papers' figures, at the size of this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from downbeat.commands.options import LAUNCHER, RANKS_PER_NODE
from downbeat.errors import UsageError
from downbeat.lists import split_list


def reproduce(
    figures: Annotated[
        list[str] | None, typer.Argument(metavar="FIGURE", help="E.g. schuchart2023-fig2; see --list.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the figures: needs, and what this machine can show.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="All figures, in one report.")] = False,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Directory for data and pages.")] = Path(
        "reproduce"
    ),
    ranks: Annotated[
        str,
        typer.Option(
            metavar="LIST", help="Numbers of ranks, e.g. 2,4 [powers of 2: the job's, else to twice the cores]."
        ),
    ] = "",
    ranks_per_node: Annotated[int | None, RANKS_PER_NODE] = None,
    mpi: Annotated[str, typer.Option(metavar="LIST", help="MPI libraries [all that are built].")] = "",
    launches: Annotated[int, typer.Option(metavar="N", min=1, help="Launches of each configuration.")] = 5,
    launcher: Annotated[str, LAUNCHER] = "",
    clocks: Annotated[
        str,
        typer.Option(metavar="made|real", help="Clocks that are compared [made on one node, real on several]."),
    ] = "",
    sample: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Most ranks that are compared one by one [128].")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few repetitions, to check that everything runs.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Measure again even if data exist.")] = False,
) -> None:
    """Measure figures of the papers again and compare with what they report.

    The page of one figure is DIR/<figure>.html, of several DIR/report.html.
    Data are in DIR/<figure>/ and are used again.
    """
    from downbeat.commands.interruption import resumable
    from downbeat.report.page import write_page
    from downbeat.reproduce.listing import duration, estimated_total, listing
    from downbeat.reproduce.page import failed_section, figure_section, missing_section, whole_page
    from downbeat.reproduce.perform import perform, seconds_left
    from downbeat.reproduce.registry import FIGURES, find_figures, own_data
    from downbeat.reproduce.site import SAMPLE, parse_ranks, site_at_hand

    names = [name for name in split_list(mpi) if name]
    chosen = list(FIGURES.values()) if everything or (listed and not figures) else find_figures(figures or [])
    if everything and figures:
        raise UsageError("give either --all or names of figures")
    if not chosen:
        raise UsageError(
            "name a figure, e.g. 'downbeat reproduce schuchart2023-fig2'; --list shows all, --all measures all"
        )
    site = site_at_hand(
        parse_ranks(ranks), names, launches, quick, launcher, ranks_per_node or 0, clocks, sample or SAMPLE
    )
    if listed:
        print(listing(chosen, site))
        return

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    # All directories are checked before the first launch, not minutes later.
    seconds = (
        estimated_total(chosen, site)
        if again
        else sum(seconds_left(one, site, output / one.name) for one in dict.fromkeys(map(own_data, chosen)))
    )
    say(f"{len(chosen)} figure{'s' if len(chosen) > 1 else ''} {site.place}, about {duration(seconds)}")
    if site.nodes != 1:
        say(f"clocks: {site.clocks}; ranks compared one by one: at most {site.sample}")
    measured = {}
    sections = []
    failed, broken = [], []
    for figure in chosen:
        source = own_data(figure)
        if not source.runs(site):
            sections.append(missing_section(figure, source.lacks, site))
            continue
        try:
            if source.name not in measured:
                with resumable():
                    measured[source.name] = perform(source, site, output / source.name, again, say)
            sections.append(figure_section(figure, measured[source.name]))
        except typer.Exit:  # interrupted
            raise
        except Exception as error:  # whatever it is, it must not take the other figures with it
            sections.append(failed_section(figure, error))
            say(f"downbeat: {figure.name}: {sections[-1].warnings[0]}")
            broken.append(figure.name)
            continue
        if measured[source.name].lacking():
            failed.append(figure.name)
    output.mkdir(parents=True, exist_ok=True)
    path = output / ("report.html" if len(chosen) > 1 else f"{chosen[0].name}.html")
    write_page(path, whole_page(sections, chosen, site))
    print(path)
    if failed:
        say(f"downbeat: launches of {', '.join(failed)} failed; the page says where their output is")
    if failed or broken:
        raise typer.Exit(3)
