"""The sections of the page: a figure each, first the paper's results, then the runs here and theirs."""

from __future__ import annotations

import re
import shlex
import traceback
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from downbeat.report.conditions import UNCHECKED, clock_check_text
from downbeat.report.page import Page, PageSection, Table
from downbeat.run.job import RANKS, nodes_for, with_numbers
from downbeat.run.simulation import without_seed
from downbeat.text import counted

from downbeat_papers.evidence import Evidence
from downbeat_papers.figure import PAPERS, Configured, Figure, not_drawn
from downbeat_papers.judgement import RULE, WORDS, Judged, judge
from downbeat_papers.results import NoSamplesError, Results, clocks_seen, nodes_seen
from downbeat_papers.runs import Run
from downbeat_papers.site import Site


def verdict(judged: Sequence[Judged]) -> str:
    """Returns in a few sentences what agrees with the paper."""
    parts = []
    for agrees, words in WORDS.items():
        claims = [one.finding.claim for one in judged if one.finding.is_claim and one.agrees is agrees]
        if claims:
            parts.append(f"{words.capitalize()}: {'; '.join(claims)}.")
    return " ".join(parts) or "The paper makes no claim on it that data could bear out."


def definition(judged: Judged) -> tuple[str, str]:
    """Returns a claim with the paper's numbers and those of the data; the last line is the verdict."""
    finding = judged.finding
    lines = [f"Paper: {finding.paper}", f"Here: {finding.here}"]
    if isinstance(finding.evidence, Evidence):
        part = f"; {finding.evidence.part}" if finding.evidence.part else ""
        lines.append(f"Tested: {finding.evidence.described}{part}")
    if finding.is_claim:
        because = f": {judged.because}" if judged.because else ""
        lines.append(f"{WORDS[judged.agrees].capitalize()}{because}.")
    return finding.claim, "\n".join(lines)


def command(run: Run, site: Site) -> str:
    """Returns the command of a run; a simulated one works in a checkout."""
    words = [*run.operations]
    for name, value in run.options.items():
        words += [f"--{name}", value] if value else [f"--{name}"]
    variables = [f"{name}={shlex.quote(value)}" for name, value in run.variables.items()]
    if site.simulated:
        start = ["tools/launch", "--simulate", site.platform_for(run.per_node(site)), "-n", str(run.ranks)]
        return " ".join([*variables, shlex.join([*start, "build/simgrid/bin/downbeat-bench", *words])])
    launcher = with_numbers(site.launcher_of(run.library) or f"mpirun -n {RANKS}", run.ranks, run.per_node(site))
    return " ".join([*variables, launcher, "downbeat-bench", shlex.join(words)])


def introduced(figure: Figure) -> tuple[str, str, str]:
    """Returns the title of a section, and the paper's setup and results."""
    title = f"{figure.reference}: {figure.title}"
    return title, f"In the paper: {figure.setup}", f"It reports: {figure.reports}"


def figure_section(figure: Figure, results: Results) -> PageSection:
    """Draws a figure and makes its section."""
    site = results.site
    title, *paper = introduced(figure)
    failed = [run.label for run in results.runs if run.label not in results.have()]
    warnings = tuple(lack(results.run(label), count, results) for label, count in results.lacking().items())
    if len(failed) == len(results.runs):
        return PageSection(title, (*paper, f"Here: nothing was measured; {figure.shows(site)}."), warnings)
    try:
        findings, pictures = figure.findings(results), figure.pictures(results)
    except NoSamplesError as error:
        warnings += (f"{error}: starts failed too often to draw the figure; an idle machine, or fewer --ranks, help",)
        return PageSection(title, (*paper, f"Here: nothing to be drawn; {figure.shows(site)}."), warnings)
    warnings += tuple(
        f"{run.label}: {run.ranks} ranks shared {site.all_cores} cores, so its times contain the wait for a core; what "
        "it shows is a direction at best. More cores, or --ranks, help"
        for run in results.runs
        if run.crowded(site) and run.label not in failed
    )
    warnings += simulated_on(results) or elsewhere(results)
    if site.launches == 1:
        warnings += ("a single launch has no known error, so no claim can be decided; use --launches 5 or more",)
    if site.quick:
        warnings += ("--quick took so few repetitions that no number here means anything; run it without",)
    lost = incomplete_cells(results, not_drawn(pictures))
    warnings += (lost,) if lost else ()
    judged = judge(findings, chance(results))
    shared = f" The launches are those of {figure.data}." if figure.data else ""
    ended = clock_check_text(data.attrs for label in results.have() for data in results.datasets(label))
    runs = pd.DataFrame([row_of(run, results) for run in results.runs])
    return PageSection(
        title=title,
        paragraphs=(
            f"Verdict. {verdict(judged)}",
            *paper,
            f"What {here(site)} can show: {figure.shows(site)}.{shared}",
            *((figure.kind.configured(site),) if isinstance(figure.kind, Configured) else ()),
            *((f"Clocks when launches ended: {ended}.",) if ended != UNCHECKED else ()),
        ),
        warnings=warnings,
        definitions=tuple(map(definition, judged)),
        tables=(*figure.tables, Table("What was run", runs)),
        pictures=pictures,
        commands=tuple(command(run, site) for run in results.runs),
    )


def row_of(run: Run, results: Results) -> dict[str, object]:
    """Returns a row about a run: on how many nodes, and with whose clocks, according to its first launch."""
    site, per_node = results.site, run.per_node(results.site)
    where: dict[str, object] = {"MPI library": run.library}
    if site.simulated:
        each = f"up to {per_node} ranks each" if per_node > 1 else "one rank each"
        nodes = f"{nodes_for(run.ranks, per_node)} of {site.nodes} nodes"
        where = {"simulated on": f"{site.platform.partition('(')[0]}, {nodes}, {each}"}
    launches = results.launches.get(run.label, ())
    seen: dict[str, object] = {"nodes": "", "clocks": ""}
    if launches:
        data = results.datasets(run.label)[0]
        seen = {"nodes": nodes_seen(data), "clocks": clocks_seen(data)}
    return {"run": run.label, **where, "ranks": run.ranks, **seen, "launches": len(launches)}


def here(site: Site) -> str:
    """Describes the machine of the launches."""
    if site.simulated:
        return "this simulation"
    return "this machine" if site.one_machine else "this job"


def simulated_on(results: Results) -> tuple[str, ...]:
    """Says that nothing was measured, and on which clusters it was simulated."""
    if not results.site.simulated:
        return ()
    # The table of runs has the number of ranks of a node.
    platforms = dict.fromkeys(
        re.sub(r"ranks_per_node=\d+,", "", without_seed(str(data.attrs["simulated"])))
        for label in results.have()
        for data in results.datasets(label)
    )
    return tuple(
        f"simulated, not measured, on {platform.replace(',', ', ')}: numbers are those of this model of a cluster, and "
        "of no machine; docs/simulation.md says what the model has"
        for platform in platforms
    )


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


def missing_section(figure: Figure, lacks: str, site: Site) -> PageSection:
    """Makes the section of a figure that cannot be shown."""
    title, *paper = introduced(figure)
    return PageSection(title, (*paper, f"Here: not shown, {site.want(lacks)}."))


def failed_section(figure: Figure, error: Exception) -> PageSection:
    """Makes the section of a figure that failed, so that the others' sections are not lost with it."""
    raised = traceback.extract_tb(error.__traceback__)[-1]
    warning = (
        f"failed with {type(error).__name__}: {' '.join(str(error).split())} ({Path(raised.filename).name}:"
        f"{raised.lineno}); launches that are complete are kept in {figure.data or figure.name}, so the same command "
        "draws them once this is mended"
    )
    title, *paper = introduced(figure)
    return PageSection(title, (*paper, "Here: failed; see the warning."), (warning,))


def tally(sections: Sequence[PageSection]) -> tuple[str, ...]:
    """Counts the verdicts, and names the figures with claims that are not seen."""
    said = [text.rpartition("\n")[2] for section in sections for _, text in section.definitions]
    counts = {words: sum(line.startswith(words.capitalize()) for line in said) for words in WORDS.values()}
    parts = [f"{count} {'is' if count == 1 else 'are'} {words}" for words, count in counts.items()][:2]
    if not (total := sum(counts.values())):
        return ()
    claims, seen = counted(total, "claim"), " and ".join(parts)
    lines = [f"Of {claims} of the papers {seen}; {counts[WORDS[None]]} cannot be decided here."]
    denied = [
        section.title.partition(":")[0]
        for section in sections
        if any(f"\n{WORDS[False].capitalize()}" in text for _, text in section.definitions)
    ]
    if denied and len(sections) > 1:
        lines.append(f"Not seen here, in the whole or in part: {'; '.join(denied)}.")
    return tuple(lines)


SIMULATED = (
    "Simulated, not measured: numbers are those of a model of a cluster, and of no machine. Every section has its "
    "platform."
)


def whole_page(sections: Sequence[PageSection], figures: Sequence[Figure], site: Site) -> Page:
    """Puts sections together; of simulated figures each has a cluster of its own."""
    title = figures[0].reference if len(figures) == 1 else f"{len(figures)} figures of the papers"
    if site.simulated:
        what = "simulated"
        how = (
            f"Up to {site.launches} launches of each configuration, with delays and clocks of their own. True time is "
            "known: figures about clocks have the true error beside the measured one, and figures of exit skew the "
            "true skew. Claims are judged by the truth."
        )
    else:
        what = "measured here"
        how = (
            f"{counted(len(figures), 'figure')}, measured again {site.place} with {site.listed} ranks, up to "
            f"{site.launches} launches of each configuration, under {', '.join(site.benches)}. Every section says what "
            "the paper shows, what was run here, and which of its claims the data here bear out."
        )
    clocks = f"Figures about clocks: {site.clocks}. Where ranks are compared one by one, at most {site.sample} are."
    papers = dict.fromkeys(PAPERS[figure.name.partition("-")[0]] for figure in figures)
    return Page(
        title=f"{title}, {what}",
        lead=(
            *([SIMULATED] if site.simulated else []),
            *tally(sections),
            RULE,
            *(("--quick took too few repetitions to decide any claim; run without it.",) if site.quick else ()),
            how,
            *([] if site.simulated else [clocks]),
            f"Sources: {'; '.join(papers)}.",
        ),
        sections=tuple(sections),
    )
