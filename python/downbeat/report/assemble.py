"""Makes a report of experiments, launches, and files of experiments on clocks and synchronizers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from downbeat.comparison.settings import LIBRARY_SETTING, context_differences
from downbeat.comparison.sides import names_of_history
from downbeat.comparison.tables import place_of
from downbeat.data.clock_files import DriftingPairs, Schemes, SynchronizerSkews, TripPairs
from downbeat.data.launch_file import open_launch, open_netcdf
from downbeat.errors import UsageError
from downbeat.output.blocks import Number
from downbeat.output.fields import digits
from downbeat.output.page import anchor
from downbeat.report.compared import STARTS, Contrast, contrast_of, starts_of, state_lines
from downbeat.report.conditions import distinct, launches_section, library_text, machine_section, measured_section
from downbeat.report.findings import answer_of, skew_fact, start_text
from downbeat.report.glossary import GLOSSARY
from downbeat.report.latency import draw_contrast, draw_starts, latency_pictures, ratio_pictures
from downbeat.report.page import Fact, Page, PageSection
from downbeat.report.pictures import OF_EXPERIMENTS, OF_FILES
from downbeat.report.tuned import Tuned, open_tuned, tuned_page
from downbeat.report.warnings import bench_warnings, experiment_warnings
from downbeat.run.directory import PLAN
from downbeat.run.experiment import Experiment, open_experiment
from downbeat.run.libraries import short_version
from downbeat.sentences import Sentence, listed
from downbeat.text import MICROSECONDS, counted
from downbeat.tune.tuning import PROBE, RECORD_FILE

if TYPE_CHECKING:
    import xarray as xr

# Schemes within this of the smallest error are as good (docs/clock-experiments.md).
AS_GOOD = 1.1
FIRST = (draw_contrast, draw_starts)  # are in sections of their own


def skews(data: xr.Dataset) -> Sentence:
    """Says how far apart ranks leave which synchronizer."""
    skews_of = SynchronizerSkews.of(data)
    pairs = zip(skews_of.synchronizer, skews_of.skew_median, strict=True)
    return skew_fact(
        {line: (skew, skew) for line, skew in pairs if not np.isnan(skew)}, np.nanmax(skews_of.error_bound)
    )


def schemes(data: xr.Dataset) -> Sentence:
    """Says which of the schemes with the smallest errors is the quickest."""
    if "true_max" not in data and str(data.attrs.get("clock_domains")) == "1":
        return Sentence("one_clock", {})
    table = Schemes.of(data)
    kind, by_wait = table.errors
    waits = data.wait.to_numpy()
    error = by_wait[:, int(waits.argmax())]
    table, error = table[~np.isnan(error)], error[~np.isnan(error)]

    def of(row: int) -> dict[str, object]:
        return {"scheme": table.scheme[row], "error": float(error[row]), "duration": float(table.duration_median[row])}

    good = np.flatnonzero(error <= AS_GOOD * error.min())
    outside = table.outside.max() if len(table) and table.outside.ndim > 1 else np.nan
    values = {
        "wait": f"{float(waits.max()):g}",
        "kind": kind,
        "best": of(int(good[np.nanargmin(table.duration_median[good])])),
        "quickest": of(int(np.nanargmin(table.duration_median))),
        "outside": None if np.isnan(outside) else float(outside),
    }
    return Sentence("schemes", values)


def drifts(data: xr.Dataset) -> Sentence:
    """Says how fast the clocks of each pair drift apart, and what a straight line is worth."""
    table, times = DriftingPairs.of(data), data.time.to_numpy()
    columns = (table.pair, table.skew, table.beyond_bounds, table.residual_max, table.prediction_error)
    pairs = [
        {
            "pair": str(pair),
            "skew": f"{float(skew) * MICROSECONDS:+.3g}",
            "unsure": not beyond,
            "residual": float(residual),
            "error": abs(float(error)),
        }
        for pair, skew, beyond, residual, error in zip(*columns, strict=True)
    ]
    return Sentence("drift", {"seconds": digits(float(times.max() - times.min())), "pairs": pairs})


def round_trips(data: xr.Dataset) -> Sentence:
    """Says how long round trips take."""
    table = TripPairs.of(data)
    pairs = [
        {"pair": str(pair), "least": float(least), "median": float(median), "p99": float(p99)}
        for pair, least, median, p99 in zip(table.pair, table.rtt_min, table.rtt_median, table.rtt_p99, strict=True)
    ]
    return Sentence("round_trips", {"samples": data.sizes["sample"], "pairs": pairs})


# The subject of a file, and the sentences on it.
FILE_VERDICTS: dict[str, tuple[str, Callable[[xr.Dataset], Sentence]]] = {
    "skew": ("exit skew", skews),
    "clock": ("synchronization schemes", schemes),
    "drift": ("clock drift", drifts),
    "rtt": ("round trips", round_trips),
}


def file_sections(data: xr.Dataset, prefix: str) -> Contribution:
    """Returns the findings and the sections of a file of an experiment in `OF_FILES`."""
    kind = str(data.attrs["experiment"])
    text = {str(name): str(value) for name, value in data.attrs.items()}
    settings = [
        f"{name.removeprefix(LIBRARY_SETTING)}={value}"
        for name, value in text.items()
        if name.startswith(LIBRARY_SETTING)
    ]
    ranks = [str(host) for host in np.atleast_1d(data["host"].to_numpy())] if "host" in data else []
    pictures = tuple(picture for draw in OF_FILES[kind] for picture in draw(data))
    warnings = tuple(bench_warnings([text]))
    about, verdict = FILE_VERDICTS[kind]
    sections = (
        PageSection(f"{prefix}Pictures", pictures=pictures),
        *([PageSection(f"{prefix}Warnings", warnings=warnings)] if warnings else []),
        PageSection(
            f"{prefix}How it was measured",
            paragraphs=(f"{text['title']}.",),
            definitions=(
                ("MPI", library_text(text)),
                ("ranks", f"{len(ranks)} on {listed(distinct(ranks))}"),
                ("machine", text["hosts"]),
                ("settings", ", ".join(settings)),
                ("downbeat-bench", f"{text['downbeat_version']} ({text['git_revision']}), {text['compiler']}"),
                ("measured", text["date"]),
                ("seed", text["seed"]),
            ),
            commands=(text["command_line"],),
        ),
    )
    return Contribution("", "", (), (Fact(about, str(verdict(data))),), sections)


Source: TypeAlias = "Experiment | Tuned | xr.Dataset"


@dataclass(frozen=True)
class Contribution:
    """What a page has of one source."""

    title: str  # what was measured; empty: the name of the source
    byline: str
    numbers: tuple[Number, ...]
    found: tuple[Fact, ...]
    sections: tuple[PageSection, ...]


def make_report(paths: Sequence[Path]) -> Page:
    """Makes the page of a report.

    Args:
        paths: directories of experiments, files `.nc` of downbeat-bench; at least one.

    Raises:
        UsageError: one of them is nothing of the kind, or of an experiment that has no report.
    """
    sources = [source for path in paths for source in open_sources(path)]
    several = len(sources) > 1
    parts = [part_of(source, f"{name}: " if several else "") for name, source in sources]
    sections = [section for part in parts for section in part.sections]
    end = PageSection("Terms", definitions=GLOSSARY)
    if not several:
        ((name, source),), (part,) = sources, parts
        title = f"{part.title or name}{where_and_when(source)}"
        return Page(title, (), (*unique_pictures(sections), end), part.found, part.byline, part.numbers)
    found = tuple(
        fact
        for (name, _), part in zip(sources, parts, strict=True)
        for fact in (
            *(Fact("", f"{name}: {one.text}") for one in part.found if not one.about),
            *([Fact(name, f"{part.title}; {part.byline}")] if part.title else []),
            *(Fact(f"{name}: {one.about}", one.text) for one in part.found if one.about),
        )
    )
    differences = tuple(differences_between([one for _, one in sources if isinstance(one, Experiment)]))
    differ = [PageSection("How the experiments differ", warnings=differences)] if differences else []
    return Page(listed(name for name, _ in sources), (), (*differ, *unique_pictures(sections), end), found)


def differences_between(experiments: Sequence[Experiment]) -> Iterator[str]:
    """Yields a line for each part of the context that an experiment does not share with the first one."""
    contexts = [[launch.context for launch in one.launches] for one in experiments]
    names = list(names_of_history(experiments))
    for name, others in zip(names[1:], contexts[1:], strict=True):
        for line in context_differences(contexts[0], others):
            yield f"{names[0]} and {name} differ in {line}."


def part_of(source: Source, prefix: str) -> Contribution:
    """Returns what a page has of a source; `prefix` begins the titles of its sections."""
    if isinstance(source, Tuned):
        return Contribution(*tuned_page(source, prefix))
    return contribution_of(source, prefix) if isinstance(source, Experiment) else file_sections(source, prefix)


def where_and_when(source: Source) -> str:
    """Returns the end of a title: host and day of the first launch."""
    if isinstance(source, Tuned):
        return f", {source.record.host}, {source.record.written[:10]}"
    context = source.launches[0].context if isinstance(source, Experiment) else source.attrs
    hosts = [line.partition(":")[0] for line in str(context.get("hosts", "")).splitlines()]
    place = place_of(context)[0] if hosts else ""
    if place == "hosts":
        place = f"{hosts[0]}{' and others' if hosts[1:] else ''}"
    return f", {place}, {str(context.get('date', ''))[:10]}"


def open_sources(path: Path) -> list[tuple[str, Source]]:
    """Opens a path: an experiment, a tuning, or each file of another kind by itself."""
    if path.is_file():
        return [(path.stem, open_source(path))]
    if (path / PROBE).is_dir() or (path / RECORD_FILE).is_file():
        return [(path.resolve().name, open_tuned(path))]
    if path.is_dir() and not (path / PLAN).is_file():
        # Files of samples are launches of one experiment; each file on clocks or synchronizers is one by itself.
        files = sorted(path.glob("*.nc"))
        others = [file for file in files if file_kind(file)]
        alone = [(file.stem, open_source(file)) for file in others]
        if files and len(others) == len(files):
            return alone
        experiment = open_experiment(path, without=others)
        return [(experiment.name, experiment), *alone]
    experiment = open_experiment(path)
    kinds = [file_kind(launch.path) for launch in experiment.launches]
    if not any(kinds):
        return [(experiment.name, experiment)]
    return [
        (f"{experiment.name}, {launch.library}, {launch.ranks} ranks, launch {launch.number}", open_source(launch.path))
        for launch in experiment.launches
    ]


def file_kind(path: Path) -> str:
    """Returns the experiment that wrote a file, "" for samples of operations."""
    with open_netcdf(path) as file:
        return "" if "cell_index" in file.variables else str(getattr(file, "experiment", "an unknown experiment"))


def open_source(path: Path) -> Source:
    """Opens a file.

    Raises:
        UsageError: those of `open_netcdf`, or there are no pictures of its content.
    """
    kind = file_kind(path)
    if not kind:
        return open_experiment(path)
    if kind not in OF_FILES:
        raise UsageError(f"'{path}' is of {kind}; reports are of samples of operations, {', '.join(OF_FILES)}")
    return open_launch(path)


def contribution_of(experiment: Experiment, prefix: str) -> Contribution:
    """Returns the findings in an experiment, and its sections: the news first, conditions last."""
    contrast = contrast_of(experiment)
    starts = contrast if contrast.factor == STARTS else starts_of(experiment)
    answer = answer_of(experiment, contrast, starts)
    warnings = experiment_warnings(experiment)
    first = (*latency_pictures(contrast), *ratio_pictures(contrast))
    barrier = ratio_pictures(starts) if starts is not contrast else []
    rest = tuple(picture for draw in OF_EXPERIMENTS if draw not in FIRST for picture in draw(experiment))
    number, states = counted(len(warnings), "warning"), state_lines(experiment.cell_table)
    before = [*states[1:], *([f"{number}, below the pictures."] if warnings else [])]
    lines = (Fact("before you rely on it", "; ".join(before)),) if before else ()
    definitions = tuple((fact.about, fact.text) for fact in answer.found)
    sections = (
        PageSection(prefix and f"{prefix}Pictures", pictures=first),
        PageSection(f"{prefix}Also found", definitions=definitions, pictures=tuple(barrier)),
        PageSection(f"{prefix}Warnings", warnings=warnings),
        PageSection(f"{prefix}More pictures", pictures=rest),
        measured_section(experiment, prefix),
        machine_section(experiment, prefix),
        launches_section(experiment, prefix),
    )
    kept = tuple(one for one in sections if one != PageSection(one.title))
    title = f"{listed(dict.fromkeys(experiment.cells['operation']))}: {contrast.said or 'latency'}"
    return Contribution(title, byline(experiment, contrast, states[:1]), answer.numbers, (*answer.news, *lines), kept)


def byline(experiment: Experiment, contrast: Contrast, state: Sequence[str]) -> str:
    """Describes the measurement in one line."""
    configurations = {launch.configuration for launch in experiment.launches}
    each = len(experiment.launches) / len(configurations)
    versions = dict.fromkeys(short_version(str(launch.context["mpi_library"])) for launch in experiment.launches)
    return "; ".join(
        [
            f"{listed(sorted({launch.ranks for launch in experiment.launches}))} ranks, {listed(versions)}",
            f"{each:.3g} launches{' of each' if len(configurations) > 1 else ''}" if each != 1 else "1 launch",
            *([start_text(contrast.start)] if contrast.start else []),
            *state,
        ]
    )


def unique_pictures(sections: Sequence[PageSection]) -> tuple[PageSection, ...]:
    """Returns sections in which no two pictures have the same name, an anchor of the page, or the same caption."""
    taken: dict[str, int] = {}
    said: dict[str, str] = {}
    result = []
    for section in sections:
        pictures = []
        for one in section.pictures:
            first = said.setdefault(one.caption, one.title)
            picture = one if first == one.title else dataclasses.replace(one, caption=f"As {first}.")
            name = anchor(picture.name)
            number = taken[name] = taken.get(name, 0) + 1
            pictures.append(dataclasses.replace(picture, name=f"{picture.name}-{number}") if number > 1 else picture)
        result.append(dataclasses.replace(section, pictures=tuple(pictures)))
    return tuple(result)
