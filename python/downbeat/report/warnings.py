"""Warnings that a report prints before its results: each states the observation, why it matters, and the remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from downbeat.comparison.settings import values_among
from downbeat.comparison.summaries import sizes_after
from downbeat.data.cells import CHANGED
from downbeat.data.launch_file import CUT_SHORT
from downbeat.output.fields import start_text
from downbeat.run.experiment import Experiment, launch_lines
from downbeat.run.plan import LAUNCH_FACTORS
from downbeat.run.simulation import model_lines, platforms_of
from downbeat.statistics.verdicts import MIN_LAUNCHES
from downbeat.text import counted, listed

MAX_WARNINGS = 5


def experiment_warnings(experiment: Experiment) -> tuple[str, ...]:
    """Returns the warnings, the gravest first. Beyond `MAX_WARNINGS`, the last text joins the remaining warnings."""
    warnings = (
        *(f"{line}." for line in model_lines(platforms_of(launch.context for launch in experiment.launches))),
        *few_launches(experiment),
        *failed_launches(experiment),
        *bad_cells(experiment),
        *disagreeing_clocks(experiment),
        *different_conditions(experiment),
        *machine_problems(experiment),
        *(f"{line}." for line in launch_lines(experiment.cells, "latency_avg_median")),
        *bench_warnings([launch.context for launch in experiment.launches]),
    )
    kept, remaining = warnings[: MAX_WARNINGS - 1], warnings[MAX_WARNINGS - 1 :]
    return (*kept, *(["\n".join(remaining)] if remaining else []))


def few_launches(experiment: Experiment) -> list[str]:
    """Warns if launches are too few for a verdict."""
    counts = experiment.cells.groupby(list(LAUNCH_FACTORS))["launch"].nunique()
    fewest = int(counts.min())
    if fewest >= MIN_LAUNCHES:
        return []
    return [
        f"{counted(fewest, 'launch')} of a configuration: launches differ more than samples within one (Hunold "
        f"2014), so that no verdict can rest on fewer than {MIN_LAUNCHES}; start downbeat run with --launches 10."
    ]


def failed_launches(experiment: Experiment) -> list[str]:
    """Warns of failed launches."""
    if not experiment.failures:
        return []
    directories = [failure["directory"] for failure in experiment.failures]
    return [
        f"{counted(len(directories), 'launch')} failed and left no samples: the cause may also have disturbed the "
        f"others; their output is in {listed(directories)}."
    ]


def bad_cells(experiment: Experiment) -> list[str]:
    """Warns of cells with missing samples or wrong results, one warning per status."""
    cells = experiment.cell_table
    reasons = {
        "wrong": "had wrong results, and are left out: the MPI library or the operation is in error",
        "failed": "have no valid sample, and are left out: synchronization failed in every attempt; "
        "a quieter machine, or a larger --tolerance, --late or --late-ranks (after --) would help",
        "incomplete": "have fewer valid samples than asked for: pictures show them, verdicts leave them out; raise "
        "--max-attempts",
        CHANGED: "were measured while the machine changed its state (a gap of more than a factor of 1.5 parts "
        "the round trips around their blocks), and are left out; see downbeat doctor",
        CUT_SHORT: "were cut short when their launch ended: pictures show the samples that were complete, verdicts "
        "leave them out",
    }
    warnings = []
    for status, reason in reasons.items():
        bad = cells[cells.status == status]
        if len(bad):
            cells_after = zip(bad.operation + sizes_after(bad), map(start_text, bad.started_by), strict=True)
            named = listed(dict.fromkeys(map(" ".join, cells_after)))
            warnings.append(f"{counted(len(bad), 'cell')} of launches {reason}: {named}.")
    return warnings


def disagreeing_clocks(experiment: Experiment) -> list[str]:
    """Warns of launches that end with clock errors beyond the error bounds."""
    outside = [
        launch for launch in experiment.launches if int(str(launch.context.get("clock_check_ranks_outside", 0))) > 0
    ]
    if not outside:
        return []
    names = [f"{launch.library} with {launch.ranks} ranks, number {launch.number}" for launch in outside]
    return [
        f"at the end of {counted(len(outside), 'launch')} clocks were farther off than their error bounds allow: "
        f"makespan and exit skew of these are wrong, latencies are not; the launches are {listed(names)}; see "
        "downbeat-bench drift."
    ]


def different_conditions(experiment: Experiment) -> list[str]:
    """Warns if the launches of one experiment had different conditions."""
    contexts = [launch.context for launch in experiment.launches]
    warnings = [
        f"launches have different {among}, {listed(values)}: differences between them may come from that; compare "
        "launches of one kind."
        for among, values in values_among(contexts).items()
    ]
    for library in dict.fromkeys(launch.library for launch in experiment.launches):
        launches = [launch for launch in experiment.launches if launch.library == library]
        versions = list(dict.fromkeys(first_line(str(launch.context["mpi_library"])) for launch in launches))
        if len(versions) > 1:
            warnings.append(
                f"launches of {library} ran under different versions, {listed(versions)}: repeat them under one."
            )
    return warnings


def machine_problems(experiment: Experiment) -> list[str]:
    """Warns of problems that `downbeat doctor` reported when the experiment began."""
    problems = [finding for finding in experiment.machine if finding.verdict == "problem"]
    texts = "; ".join(f"{finding.seen} ({finding.advice})" for finding in problems)
    return [f"when the experiment began: {texts}."] if problems else []


def bench_warnings(contexts: Sequence[Mapping[str, object]]) -> list[str]:
    """Returns the warnings of downbeat-bench; warnings that differ only in their numbers count as one."""
    by_pattern: dict[str, list[str]] = {}
    for context in contexts:
        for line in dict.fromkeys(str(context.get("warnings", "")).splitlines()):
            if line:
                by_pattern.setdefault(re.sub(r"[0-9.]+", "#", line), []).append(line)
    return [
        lines[0] + (f" (in {len(lines)} of {len(contexts)} launches)" if len(contexts) > 1 else "")
        for lines in by_pattern.values()
    ]


def first_line(text: str) -> str:
    """Returns the name and version of an MPI library, without its build options."""
    return re.sub(r"\s+", " ", text.split("\n")[0].split(",")[0]).strip()
