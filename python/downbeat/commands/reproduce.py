"""The command `downbeat reproduce`, which measures the figures of papers again, at the size of this machine.

A figure may show the data of another figure (`data_figure`); data are measured once. A site is the machine, or the
simulated cluster, that a figure is measured on.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from downbeat.commands.options import FIGURES, LIBRARY_NAMES, option
from downbeat.errors import UsageError
from downbeat.text import counted, split_list


def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(metavar="FIGURE", help="E.g. schuchart2023-fig2; see --list.", autocompletion=FIGURES),
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
    ranks_per_node: Annotated[int | None, option("ranks_per_node", minimum=1)] = None,
    mpi: Annotated[
        str, typer.Option(metavar="LIST", help="MPI libraries [all that are built].", autocompletion=LIBRARY_NAMES)
    ] = "",
    launches: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Launches of each configuration [5, simulated 3].")
    ] = None,
    launcher: Annotated[str, option("launcher")] = "",
    clocks: Annotated[
        str,
        typer.Option(metavar="made|real", help="Clocks that are compared [made on one node, real on several]."),
    ] = "",
    sample: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Most ranks that are compared one by one [128].")
    ] = None,
    seconds: Annotated[
        float, typer.Option(metavar="S", min=0, help="Watch clocks drift for so long [20; hunold2015-fig9 10].")
    ] = 0.0,
    published: Annotated[
        bool, typer.Option("--published", help="MPIX_Harmonize as its paper has it, beside Downbeat's.")
    ] = False,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Simulate the paper's cluster; --list says which figures.")
    ] = False,
    platform: Annotated[
        str, typer.Option(metavar="PLATFORM", help="Simulate this cluster, e.g. 'fat-tree(nodes=64)'.")
    ] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Few repetitions, to check that everything runs.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Measure again even if data exist.")] = False,
) -> None:
    """Measure figures of the papers again and compare with what they report.

    The page of one figure is DIR/<figure>.html, of several DIR/report.html;
    the same for programs is beside it, as JSON. Data are in DIR/<figure>/ and are used again.
    """
    from downbeat_papers.figure import FIGURES, Configured, Figure, Watching, check_taken, data_figure, find_figures
    from downbeat_papers.listing import duration, estimated_seconds, listing
    from downbeat_papers.perform import perform, seconds_left
    from downbeat_papers.results import Results
    from downbeat_papers.simulated import LAUNCHES, simulated_site, site_finder
    from downbeat_papers.site import SAMPLE, Site, parse_ranks, site_at_hand
    from downbeat_papers.view import assemble_view, failed_view, figure_view, report_view
    from downbeat_papers.words import NotDrawn

    from downbeat.commands.options import resumable
    from downbeat.output.blocks import Depth, View
    from downbeat.output.page import write_page
    from downbeat.output.records import view_record, write_record
    from downbeat.output.terminal import view_lines
    from downbeat.output.words import long

    names = [name for name in split_list(mpi) if name]
    chosen = list(FIGURES.values()) if everything or (listed and not figures) else find_figures(figures or [])
    if everything and figures:
        raise UsageError("give either --all or names of figures")
    if not chosen:
        raise UsageError(
            "name a figure, e.g. 'downbeat reproduce schuchart2023-fig2'; --list shows all, --all measures all"
        )
    if seconds:
        check_taken(f"--seconds {seconds:g}", Watching, chosen)
    if published:
        check_taken("--published", Configured, chosen)
    counts, sample = parse_ranks(ranks), sample or SAMPLE
    # Finds the site of a figure, or the reason why it has none; the two functions make a real and a simulated site.
    find_site = site_finder(
        simulate or bool(platform),
        not (everything or listed),
        bool(names or launcher or clocks or ranks_per_node),
        lambda: site_at_hand(
            counts, names, launches or Site.launches, quick, launcher, ranks_per_node or 0, clocks, sample
        ),
        lambda figure: simulated_site(figure, counts, platform, launches or LAUNCHES, quick, sample),
    )

    def site_of(figure: Figure) -> Site | str:
        site = find_site(figure)
        return site if isinstance(site, str) else replace(site, seconds=seconds, published=published)

    if listed:
        print("\n".join(view_lines(listing(chosen, site_of))))
        return
    sites = {figure.name: site for figure in chosen if isinstance(site := site_of(figure), Site)}
    chosen = [figure for figure in chosen if figure.name in sites]
    site = sites[chosen[0].name]

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    source_sites = {data_figure(figure).name: sites[figure.name] for figure in chosen}
    left = {}  # figure with data -> seconds of its measurement
    for name, source_site in source_sites.items():
        if again:
            left[name] = estimated_seconds(FIGURES[name], source_site)
        else:  # checks the directory, too, so that an error comes before the first launch
            left[name] = seconds_left(FIGURES[name], source_site, output / name)
    where = site.place if len({each.place for each in source_sites.values()}) == 1 else site.verb
    say(f"{counted(len(chosen), 'figure')} {where}, about {duration(sum(left.values()))}")
    if site.remark:
        say(site.remark)
    measured: dict[str, Results] = {}
    views: list[View] = []
    failed = False
    for figure in chosen:
        source, site = data_figure(figure), sites[figure.name]
        try:
            if not source.runs(site):
                views.append(assemble_view(figure, site, [NotDrawn(site.want(source.lacks))]))
                continue
            if source.name not in measured:
                with resumable():
                    measured[source.name] = perform(source, site, output / source.name, again, say)
            views.append(figure_view(figure, measured[source.name]))
            failed |= bool(measured[source.name].missing_launches())
        except typer.Exit:  # interrupted
            raise
        except Exception as error:  # no error of a figure may prevent the other figures
            views.append(failed_view(figure, site, error))
            failed = True
        for line in view_lines(views[-1], Depth.SUMMARY):
            say(line)
        left.pop(source.name, None)
        if sum(left.values()):
            say(f"about {duration(sum(left.values()))} left")
    output.mkdir(parents=True, exist_ok=True)
    path = output / ("report.html" if len(chosen) > 1 else f"{chosen[0].name}.html")
    view = report_view(chosen, views, site)
    write_page(path, view)
    write_record(view_record(view), path.with_suffix(".json"))
    if len(views) > 1:
        say(f"{len(views)} figures, {long(view.facts[0])}")
    print(path)
    if failed:
        raise typer.Exit(3)
