"""Builds the view of a figure: verdicts first, then picture, claims, the paper's machine and ours, and details.

Also the view of several figures on one page (`report_view`).
"""

from __future__ import annotations

import shlex
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
from downbeat.output.blocks import Block, Command, Depth, Folded, Heading, Line, Picture, Table, Terms, View
from downbeat.output.facts import Fact
from downbeat.output.words import long
from downbeat.report.conditions import UNCHECKED, clock_check_text

from downbeat_papers import words
from downbeat_papers.evidence import Evidence
from downbeat_papers.figure import PAPERS, Configured, Figure, not_drawn
from downbeat_papers.judgement import CONFIRMED, NOT_CONFIRMED, RULE, UNDECIDED, Judged, judge
from downbeat_papers.results import NoSamplesError, Results, clocks_compared, node_count
from downbeat_papers.runs import Run
from downbeat_papers.simulated import platforms
from downbeat_papers.site import Site

PAGE = Depth.PAGE


def figure_view(figure: Figure, results: Results) -> View:
    """Draws a figure and judges its claims."""
    warnings = conditions(results)
    if not results.labels():
        return assemble_view(figure, results.site, [words.NotDrawn("no launch is complete"), *warnings])
    try:
        findings, pictures = figure.findings(results), figure.pictures(results)
    except NoSamplesError as error:
        reason = f"{error}; starts failed too often, and an idle machine or fewer --ranks help"
        return assemble_view(figure, results.site, [words.NotDrawn(reason), *warnings])
    if few := results.incomplete():
        runs = tuple((label, count, len(results.launches[label])) for label, count in few.items())
        warnings.append(words.SamplesMissing(runs, tuple(not_drawn(pictures))))
    return assemble_view(figure, results.site, warnings, judge(findings, undecidable(results)), pictures, results)


def failed_view(figure: Figure, site: Site, error: Exception) -> View:
    """Returns the view of a figure that raised an error, so that the page still shows the other figures."""
    raised = traceback.extract_tb(error.__traceback__)[-1]
    message = " ".join(str(error).split())
    reason = f"{type(error).__name__}: {message} ({Path(raised.filename).name}:{raised.lineno})"
    return assemble_view(figure, site, [words.NotDrawn(reason, figure.data or figure.name)])


def conditions(results: Results) -> list[Fact]:
    """Returns warnings on the launches: conditions that limit the value of their numbers."""
    site, measured = results.site, [results.run(label) for label in results.labels()]
    facts: list[Fact] = []
    for label, failed in results.missing_launches().items():
        launches = failed + len(results.launches.get(label, ()))
        facts.append(words.LaunchesFailed(label, failed, launches, f"{results.figure}/{label}/failed"))
    files = {run.label: results.datasets(run.label) for run in measured}
    facts += map(words.Simulated, platforms(data.attrs for launches in files.values() for data in launches))
    if crowded := [run for run in measured if run.crowded(site)]:
        ranks = tuple(sorted({run.ranks for run in crowded}))
        facts.append(words.RanksShareCores(tuple(run.label for run in crowded), ranks, site.all_cores))
    fit_on_a_node = (run.label for run in measured if run.ranks <= run.per_node(site))
    if spread := tuple(label for label in fit_on_a_node if node_count(files[label][0]) > 1):
        facts.append(words.RanksSpread(spread))
    if site.quick or site.launches == 1:
        facts.append(words.FewMeasurements(site.quick))
    return facts


def undecidable(results: Results) -> str:
    """Returns the reason why no claim can be decided; empty if claims can."""
    if results.site.quick:
        return "--quick takes too few repetitions"
    return "all ranks wait for cores" if all(run.crowded(results.site) for run in results.runs) else ""


def assemble_view(
    figure: Figure,
    site: Site,
    warnings: Iterable[Fact],
    judged: Sequence[Judged] = (),
    pictures: Sequence[Picture] = (),
    results: Results | None = None,
) -> View:
    """Returns the view of a figure.

    Args:
        figure: the figure.
        site: where it was measured.
        warnings: on its launches.
        judged: its claims with verdicts; empty if it could not be drawn.
        pictures: its pictures; empty if it could not be drawn.
        results: its launches, for details; None if it could not be drawn.
    """
    counts, rows = counts_of(judged), [row_of(claim) for claim in judged]
    configured = figure.kind.configured(site) if isinstance(figure.kind, Configured) else ""
    setup = f"The paper measured: {figure.setup}"
    here = " ".join([f"{site.here.capitalize()} can show: {figure.shows(site)}.", *filter(None, (configured,))])
    table = pd.DataFrame(rows).reindex(columns=["claim", "paper", "here", "verdict"])
    planned = results.runs if results else ()
    runs = [run_row(run, results) for run in planned] if results else []
    commands = tuple(command(run, site) for run in planned)
    attributes = [data.attrs for label in results.labels() for data in results.datasets(label)] if results else []
    shared = f"The launches are those of {figure.data}." if figure.data else ""
    clock_check = clock_check_text(attributes)
    clocks = f"Clocks when launches ended: {clock_check}." if clock_check != UNCHECKED else ""
    title = f"{figure.reference}: {figure.title}"
    blocks: list[Block] = [
        Heading(title, long(counts)),
        *([Line(counts)] if judged else []),
        Line(figure.reports, label="the paper", depth=PAGE),
        *verdict_lines(judged),
        *(Line(fact, "warning") for fact in warnings),
        *pictures[:1],
        *([Table("Claims", table, depth=PAGE)] if judged else []),
        *(Line(text, depth=PAGE) for text in (setup, here)),
        *figure.tables,
        *pictures[1:],
    ]
    if results:
        tested = tuple((claim.finding.claim, tested_text(claim)) for claim in judged if claim.verdict)
        remarks = [Line(text) for text in (shared, clocks) if text]
        details = (*remarks, Terms(tested), Command(commands), Table("Runs", pd.DataFrame(runs), depth=PAGE))
        blocks.append(Folded("Details: tests, runs, commands", details))
    record = {"figure": figure.name, "title": title, "reports": figure.reports, "setup": setup, "here": here}
    return View(
        title,
        tuple(blocks),
        record=record | {"claims": rows, "runs": runs, "commands": commands, "data": shared, "clocks": clocks},
    )


def counts_of(judged: Iterable[Judged]) -> words.ClaimCounts:
    """Returns the number of claims with each verdict."""
    counts = Counter(claim.verdict for claim in judged)
    return words.ClaimCounts(counts[CONFIRMED], counts[NOT_CONFIRMED], counts[UNDECIDED])


def verdict_lines(judged: Iterable[Judged]) -> list[Line]:
    """Returns a line per verdict with its claims: confirmed, not confirmed, undecided (a line per reason)."""
    claims: dict[tuple[str, str], list[str]] = {}
    for claim in judged:
        claims.setdefault((claim.verdict, claim.reason), []).append(claim.finding.claim)
    return [
        Line(words.ClaimsOfVerdict(verdict, tuple(names), reason), label=verdict, brief=True)
        for group in (CONFIRMED, NOT_CONFIRMED, UNDECIDED)
        for (verdict, reason), names in claims.items()
        if verdict == group
    ]


def row_of(judged: Judged) -> dict[str, object]:
    """Returns the row of a claim, or of a number to compare, in the table of claims and in JSON."""
    finding, evidence = judged.finding, judged.finding.evidence
    return {
        **{name: getattr(finding, name) for name in ("claim", "paper", "here")},
        **{name: getattr(judged, name) for name in ("verdict", "because", "tested", "p_for", "p_against")},
        "launches": evidence.launches if isinstance(evidence, Evidence) else 0,
    }


def tested_text(judged: Judged) -> str:
    """Returns the test of a claim, and the reason of its verdict."""
    because = f": {judged.because}" if judged.because else ""
    tested = f"Tested: {judged.tested}\n" if judged.tested else ""
    return f"{tested}{judged.verdict.capitalize()}{because}."


def command(run: Run, site: Site) -> str:
    """Returns the shell command that starts a launch of a run."""
    arguments = [*run.operations]
    for name, value in run.options.items():
        arguments += [f"--{name}", value] if value else [f"--{name}"]
    variables = [f"{name}={shlex.quote(value)}" for name, value in run.variables.items()]
    return " ".join([*variables, site.command(run.library, run.ranks, run.per_node(site), arguments)])


def run_row(run: Run, results: Results) -> dict[str, object]:
    """Returns the row of a run in the table of runs; nodes and clocks are those of its first launch."""
    where = results.site.where(run.library, run.ranks, run.per_node(results.site))
    observed: dict[str, object] = {"nodes": "", "clocks": ""}
    if run.label in results.labels():
        first = results.datasets(run.label)[0]
        observed = {"nodes": node_count(first), "clocks": clocks_compared(first)}
    launches = len(results.launches.get(run.label, ()))
    return {"run": run.label, **where, "ranks": run.ranks, **observed, "launches": launches}


def report_view(figures: Sequence[Figure], views: Sequence[View], site: Site) -> View:
    """Returns the page of one or several figures.

    Args:
        figures: the figures.
        views: their views.
        site: the site whose setup the page describes; in a simulation, each figure has its own.
    """
    single = len(views) == 1
    title = figures[0].reference if single else f"{len(views)} figures of the papers"
    measured, clocks = site.described(f"up to {site.launches} launches of each configuration")
    sources = "; ".join(dict.fromkeys(PAPERS[figure.name.partition("-")[0]] for figure in figures))
    figure_counts = [fact for view in views for fact in view.facts if isinstance(fact, words.ClaimCounts)]
    counts = words.ClaimCounts(
        sum(fact.confirmed for fact in figure_counts),
        sum(fact.not_confirmed for fact in figure_counts),
        sum(fact.undecided for fact in figure_counts),
    )
    blocks = [block for view in views for block in view.blocks]
    if single:  # the page begins with the counts
        blocks = [block for block in blocks if not (isinstance(block, Line) and block.content == counts)]
    judging = (RULE, clocks, f"Sources: {sources}.")
    return View(
        f"{title}, {site.verb}",
        (
            Line(counts, "answer", depth=PAGE if single else Depth.SUMMARY),
            *(Line(text, depth=PAGE) for text in site.lead),
            *blocks,
            Heading("How claims are judged", depth=PAGE),
            *(Line(text, depth=PAGE) for text in judging),
        ),
        measured,
        {"measured": measured, "lead": site.lead, "judging": judging, "figures": [view.record for view in views]},
    )
