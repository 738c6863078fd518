"""The page: of each figure a picture, the paper's statement beside ours, the claims, and details."""

from __future__ import annotations

import shlex
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from downbeat.output.blocks import Picture
from downbeat.report.conditions import UNCHECKED, clock_check_text
from downbeat.report.page import Fact, Page, PageSection, Table
from downbeat.text import counted, listed

from downbeat_papers.evidence import Evidence
from downbeat_papers.figure import PAPERS, Configured, Figure, not_drawn
from downbeat_papers.judgement import RULE, WORDS, Judged, judge
from downbeat_papers.results import NoSamplesError, Results, clocks_seen, nodes_seen
from downbeat_papers.runs import Run
from downbeat_papers.simulated import model_warnings
from downbeat_papers.site import Site


@dataclass(frozen=True)
class Shown:
    """A figure as the page has it: its section, what was found, the judgments on its claims."""

    figure: Figure
    section: PageSection
    found: str  # in lines
    judged: tuple[Judged, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What readers must know of its numbers."""
        return tuple(text for part in self.section.parts for text in part.warnings)


def verdicts(judged: Iterable[Judged]) -> str:
    """Returns how many claims have which verdict, in words."""
    counts = Counter(one.agrees for one in judged if one.finding.is_claim)
    words = ", ".join(f"{counts[agrees]} {word}" for agrees, word in WORDS.items() if counts[agrees])
    return f"{counted(counts.total(), 'claim')}: {words}" if words else "no claim judged"


MOST_NAMED = 6  # claims with one verdict; all are in the table


def statement(judged: Iterable[Judged]) -> str:
    """Returns the claims that are seen and not seen, and how many cannot be decided for which reason, in lines."""
    found: dict[bool | None, list[Judged]] = {agrees: [] for agrees in WORDS}
    for one in judged:
        if one.finding.is_claim:
            found[one.agrees].append(one)
    open_ = Counter(one.because for one in found.pop(None))
    lines = []
    for agrees, claims in found.items():
        names = [one.finding.claim for one in claims[:MOST_NAMED]]
        names += [f"{len(claims) - MOST_NAMED} more"] if len(claims) > MOST_NAMED else []
        lines += [f"{WORDS[agrees].capitalize()}: {'; '.join(names)}."] if names else []
    lines += [f"{counted(count, 'claim')} cannot be decided here: {reason}." for reason, count in open_.items()]
    return "\n".join(lines) or "The paper makes no claim on it that data could bear out."


def claims_table(judged: Sequence[Judged]) -> Table:
    """Returns the claims with the paper's numbers beside those of the data; what claims nothing has no verdict."""
    rows = [
        (one.finding.claim, one.finding.paper, one.finding.here, WORDS[one.agrees] if one.finding.is_claim else "")
        for one in judged
    ]
    return Table("Claims", pd.DataFrame(rows, columns=["claim", "paper", "here", "verdict"]))


def test_of(judged: Judged) -> tuple[str, str]:
    """Returns a claim, what was tested, and why its verdict is what it is."""
    finding, lines = judged.finding, []
    if isinstance(finding.evidence, Evidence):
        part = f"; {finding.evidence.part}" if finding.evidence.part else ""
        lines.append(f"Tested: {finding.evidence.described}{part}")
    because = f": {judged.because}" if judged.because else ""
    return finding.claim, "\n".join([*lines, f"{WORDS[judged.agrees].capitalize()}{because}."])


def command(run: Run, site: Site) -> str:
    """Returns the command of a run."""
    words = [*run.operations]
    for name, value in run.options.items():
        words += [f"--{name}", value] if value else [f"--{name}"]
    variables = [f"{name}={shlex.quote(value)}" for name, value in run.variables.items()]
    return " ".join([*variables, site.command(run.library, run.ranks, run.per_node(site), words)])


def figure_shown(figure: Figure, results: Results) -> Shown:
    """Draws a figure and judges its claims."""
    site = results.site
    failed = [run.label for run in results.runs if run.label not in results.have()]
    warnings = tuple(lack(results.run(label), count, results) for label, count in results.lacking().items())
    if len(failed) == len(results.runs):
        return laid_out(figure, site, "Nothing was measured.", warnings)
    try:
        findings, pictures = figure.findings(results), figure.pictures(results)
    except NoSamplesError as error:
        warnings += (f"{error}: starts failed too often to draw the figure; an idle machine, or fewer --ranks, help",)
        return laid_out(figure, site, "Nothing to be drawn.", warnings)
    crowded = [run for run in results.runs if run.crowded(site) and run.label not in failed]
    if crowded:
        warnings += (
            f"{', '.join(run.label for run in crowded)}: {listed(sorted({run.ranks for run in crowded}))} ranks shared "
            f"{site.all_cores} cores, so times contain the wait for a core and show a direction at best. More cores, "
            "or --ranks, help",
        )
    contexts = (data.attrs for label in results.have() for data in results.datasets(label))
    warnings += model_warnings(contexts) or elsewhere(results)
    if site.launches == 1:
        warnings += ("a single launch has no known error, so no claim can be decided; use --launches 5 or more",)
    if site.quick:
        warnings += ("--quick took so few repetitions that no number here means anything; run it without",)
    lost = incomplete_cells(results, not_drawn(pictures))
    warnings += (lost,) if lost else ()
    judged = tuple(judge(findings, chance(results)))
    ended = clock_check_text(data.attrs for label in results.have() for data in results.datasets(label))
    details = PageSection(
        "",
        paragraphs=(
            *((f"The launches are those of {figure.data}.",) if figure.data else ()),
            *((f"Clocks when launches ended: {ended}.",) if ended != UNCHECKED else ()),
        ),
        definitions=tuple(test_of(one) for one in judged if one.finding.is_claim),
        tables=(Table("What was run", pd.DataFrame([row_of(run, results) for run in results.runs])),),
        commands=tuple(command(run, site) for run in results.runs),
        folded="Details: tests, runs, commands",
    )
    return laid_out(figure, site, statement(judged), warnings, judged, pictures, (details,))


def laid_out(
    figure: Figure,
    site: Site,
    found: str,
    warnings: tuple[str, ...] = (),
    judged: tuple[Judged, ...] = (),
    pictures: tuple[Picture, ...] = (),
    details: tuple[PageSection, ...] = (),
) -> Shown:
    """Lays out a section: a picture, the paper's statement beside ours, claims, two lines, the rest, details."""
    configured = f" {figure.kind.configured(site)}" if isinstance(figure.kind, Configured) else ""
    prose = (f"The paper measured: {figure.setup}", f"What {site.here} can show: {figure.shows(site)}.{configured}")
    claims = (claims_table(judged),) if judged else ()
    parts = (
        PageSection("", beside=(("The paper", figure.reports), ("Here", found)), tables=claims),
        PageSection("", paragraphs=prose, warnings=warnings, tables=figure.tables, pictures=pictures[1:]),
        *details,
    )
    title = f"{figure.reference}: {figure.title}"
    return Shown(figure, PageSection(title, pictures=pictures[:1], parts=parts, note=verdicts(judged)), found, judged)


def row_of(run: Run, results: Results) -> dict[str, object]:
    """Returns a row about a run: on how many nodes, and with whose clocks, according to its first launch."""
    site, per_node = results.site, run.per_node(results.site)
    where = site.where(run.library, run.ranks, per_node)
    launches = results.launches.get(run.label, ())
    seen: dict[str, object] = {"nodes": "", "clocks": ""}
    if launches:
        data = results.datasets(run.label)[0]
        seen = {"nodes": nodes_seen(data), "clocks": clocks_seen(data)}
    return {"run": run.label, **where, "ranks": run.ranks, **seen, "launches": len(launches)}


def elsewhere(results: Results) -> tuple[str, ...]:
    """Says which runs were meant for one node, and were on several."""
    single = [
        label
        for label in results.have()
        if results.run(label).ranks <= results.run(label).per_node(results.site)
        and nodes_seen(results.datasets(label)[0]) > 1
    ]
    if not single:
        return ()
    return (
        f"{', '.join(single)}: the launcher spread ranks of one node over several; look at {{nodes}} and "
        "{ranks_per_node} in its command",
    )


def chance(results: Results) -> str:
    """Says why no claim can be decided; empty if claims can."""
    if results.site.quick:
        return "--quick takes too few repetitions"
    if all(run.crowded(results.site) for run in results.runs):
        return "all ranks wait for cores"
    return ""


def lack(run: Run, count: int, results: Results) -> str:
    """Describes the launches that a run lacks."""
    there = len(results.launches.get(run.label, ()))
    described = (
        f"{count} of {there + count} launches failed, so that fewer bear it out"
        if there
        else "no complete launch, so it is not drawn"
    )
    return (
        f"{run.label} ({run.library}, {run.ranks} ranks): {described}; the output of failed launches is in "
        f"{results.figure}/{run.label}/failed"
    )


def incomplete_cells(results: Results, lacking: Sequence[str]) -> str:
    """Says which runs measured cells in which no sample counts, or too few, and which series are not drawn for it."""
    lost = results.incomplete()
    if not lost:
        return ""
    described = [f"{label} in {count} of {len(results.launches[label])} launches" for label, count in lost.items()]
    without = f"; not drawn at all: {'; '.join(lacking)}" if lacking else ""
    return (
        f"Cells were left with fewer valid samples than asked for, or none, since starts failed too often: "
        f"{', '.join(described)}. Such cells are drawn from fewer samples{without}; an idle machine helps"
    )


def failed_figure(figure: Figure, site: Site, error: Exception) -> Shown:
    """Shows a figure that failed, so that the others are not lost with it."""
    raised = traceback.extract_tb(error.__traceback__)[-1]
    warning = (
        f"failed with {type(error).__name__}: {' '.join(str(error).split())} ({Path(raised.filename).name}:"
        f"{raised.lineno}); launches that are complete are kept in {figure.data or figure.name}, so the same command "
        "draws them once this is mended"
    )
    return laid_out(figure, site, "Failed; see the warning.", (warning,))


def whole_page(figures: Sequence[Shown], site: Site) -> Page:
    """Puts figures together; each may have a site of its own."""
    one = len(figures) == 1
    title = figures[0].figure.reference if one else f"{len(figures)} figures of the papers"
    of_each = f"up to {site.launches} launches of each configuration"
    how, clocks = site.described(of_each)
    papers = dict.fromkeys(PAPERS[shown.figure.name.partition("-")[0]] for shown in figures)
    every = [judged for shown in figures for judged in shown.judged]
    return Page(
        title=f"{title}, {site.verb}",
        byline=how,
        found=(Fact("", f"{verdicts(every).capitalize()}."),),
        lead=site.lead,
        sections=(
            *(shown.section for shown in figures),
            PageSection("How claims are judged", (RULE, clocks, f"Sources: {'; '.join(papers)}.")),
        ),
    )
