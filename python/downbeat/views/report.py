"""The view of `downbeat report`: of experiments, tunings and files on clocks, one or several (sources) on a page."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from downbeat.comparison.settings import context_differences
from downbeat.comparison.sides import names_of_history
from downbeat.data.launch_file import open_launch, open_netcdf
from downbeat.errors import UsageError
from downbeat.output.blocks import Block, Command, Depth, Heading, Line, Numbers, Picture, Terms, View, anchor
from downbeat.output.facts.experiment import Caution
from downbeat.output.fields import start_text
from downbeat.report.compared import STARTS, Contrast, contrast_of, starts_of
from downbeat.report.conditions import commands, launches_tables, machine_terms, measured_terms
from downbeat.report.findings import answer_of
from downbeat.report.glossary import GLOSSARY
from downbeat.report.latency import draw_contrast, draw_starts, latency_pictures, ratio_pictures
from downbeat.report.nights import nights_pictures
from downbeat.report.pictures import OF_EXPERIMENTS, OF_FILES
from downbeat.report.warnings import experiment_warnings
from downbeat.run.directory import PLAN
from downbeat.run.experiment import Experiment, open_experiment
from downbeat.run.libraries import short_version
from downbeat.run.simulation import host_lines
from downbeat.run.tool_results import ToolExperiment, is_ours, open_results
from downbeat.text import counted, listed
from downbeat.tune.record import TuningRecord, open_record
from downbeat.tune.tuning import PROBE, RECORD_FILE
from downbeat.views.clocks import clock_view
from downbeat.views.experiment import machine_states
from downbeat.views.tool_results import tool_view
from downbeat.views.tuning import tuning_view

if TYPE_CHECKING:
    import xarray as xr

FIRST = (draw_contrast, draw_starts)  # pictures in sections of their own, so not among "More pictures"


Source: TypeAlias = "Experiment | TuningRecord | xr.Dataset"


def make_report(paths: Sequence[Path]) -> View:
    """Returns the view of a report.

    Args:
        paths: directories of experiments, files `.nc` of downbeat-bench, results of other tools; at least one.

    Raises:
        UsageError: one of them is nothing of the kind, or of an experiment that has no report.
    """
    of_tools = [path for path in paths if not is_ours(path)]
    opened = [source for path in paths if path not in of_tools for source in open_sources(path)]
    if of_tools:  # runs of other tools are launches of one experiment
        results = open_results(of_tools)
        opened.append((results.name, results))
    sources = with_names(opened)
    views = [(name, view_of(source, name)) for name, source in sources]
    end = (Heading("Terms"), Terms(GLOSSARY))
    if len(views) == 1:
        view = views[0][1]
        title = f"{view.title}{where_and_when(sources[0][1])}"
        return dataclasses.replace(view, title=title, blocks=(*unique_pictures(view.blocks), *end))
    experiments = {
        name: source
        for name, source in sources
        if isinstance(source, Experiment) and not isinstance(source, ToolExperiment)
    }
    shared = {f"{view.title}; {view.byline}" for _, view in views}
    lead = [line for name, view in views for line in lead_of(name, view, alone=len(shared) > 1)]
    lead = [*(Line(text, label="each") for text in shared if len(shared) == 1), *lead]
    over_time = nights_pictures(experiments) if len(experiments) == len(sources) else []
    nights = [Heading("Over time"), *over_time] if over_time else []
    differences = tuple(differences_between([*experiments.values()]))
    differ = [Heading("How the experiments differ"), *(Line(text, "warning") for text in differences)]
    sections = [block for name, view in views for block in sections_of(name, view)]
    blocks = (*lead, *nights, *(differ if differences else []), *unique_pictures(sections))
    what = "experiment" if len(experiments) == len(views) else "source"
    return View(f"{counted(len(views), what)}: {listed(name for name, _ in views)}", (*blocks, *end))


def with_names(sources: Iterable[tuple[str, Source]]) -> list[tuple[str, Source]]:
    """Gives sources unique names: experiments of the same name are named by their directories."""
    every = list(sources)
    repeated = {name for name, count in Counter(name for name, _ in every).items() if count > 1}
    experiments = names_of_history([source for _, source in every if isinstance(source, Experiment)])
    names = {id(experiment): name for name, experiment in experiments.items()}
    return [(names.get(id(source), name) if name in repeated else name, source) for name, source in every]


def first_heading(view: View) -> int:
    """Returns the number of blocks before the first heading."""
    return next((i for i, block in enumerate(view.blocks) if isinstance(block, Heading)), len(view.blocks))


def lead_of(name: str, view: View, alone: bool) -> Iterator[Line]:
    """Returns the lines before the first heading of a view, with the name of its source; `alone` adds its title."""
    lines = [block for block in view.blocks[: first_heading(view)] if isinstance(block, Line)]
    if view.byline and alone:
        yield Line(f"{view.title}; {view.byline}", label=name)
    yield from (Line(line.content, label=name) for line in lines if line.role == "answer")
    yield from (Line(line.content, label=f"{name}: {line.label}") for line in lines if line.label)


def sections_of(name: str, view: View) -> Iterator[Block]:
    """Returns the sections of a view, with the name of its source in their headings."""
    end = first_heading(view)
    first = [block for block in view.blocks[:end] if not isinstance(block, Line | Numbers)]
    yield from [Heading(f"{name}: Pictures"), *first] if first else []
    for block in view.blocks[end:]:
        yield dataclasses.replace(block, text=f"{name}: {block.text}") if isinstance(block, Heading) else block


def differences_between(experiments: Sequence[Experiment]) -> Iterator[str]:
    """Yields a line for each part of the context that an experiment does not share with the first one."""
    contexts = [[launch.context for launch in experiment.launches] for experiment in experiments]
    names = list(names_of_history(experiments))
    for name, other in zip(names[1:], contexts[1:], strict=True):
        for line in context_differences(contexts[0], other):
            yield f"{names[0]} and {name} differ in {line}."


def view_of(source: Source, name: str) -> View:
    """Returns the view of a source."""
    if isinstance(source, TuningRecord):
        return tuning_view(source)
    if isinstance(source, ToolExperiment):
        return tool_view(source, page=True)
    if isinstance(source, Experiment):
        return experiment_page(source)
    return dataclasses.replace(clock_view(source), title=name)


def where_and_when(source: Source) -> str:
    """Returns the end of a title: host and day of the first launch."""
    if isinstance(source, ToolExperiment):
        return ""
    if isinstance(source, TuningRecord):
        return f", {source.origin.host}, {source.origin.written[:10]}"
    context = source.launches[0].context if isinstance(source, Experiment) else source.attrs
    hosts = [line.partition(":")[0] for line in host_lines(context)]
    where = f"{hosts[0]}{' and others' if hosts[1:] else ''}" if hosts else ""
    return f", {where}, {str(context.get('date', ''))[:10]}"


def open_sources(path: Path) -> list[tuple[str, Source]]:
    """Opens a path: an experiment, a tuning, or each file on clocks by itself."""
    if path.is_file():
        return [(path.stem, open_source(path))]
    if (path / PROBE).is_dir() or (path / RECORD_FILE).is_file():
        return [(path.resolve().name, open_record(path))]
    if path.is_dir() and not (path / PLAN).is_file():
        # Files of samples are launches of one experiment; each file on clocks or synchronizers is one by itself.
        files = sorted(path.glob("*.nc"))
        separate = [file for file in files if file_kind(file)]
        alone = [(file.stem, open_source(file)) for file in separate]
        if files and len(separate) == len(files):
            return alone
        experiment = open_experiment(path, without=separate)
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


def experiment_page(experiment: Experiment) -> View:
    """Returns the page of an experiment: the answer first, conditions last."""
    contrast = contrast_of(experiment)
    starts = contrast if contrast.factor == STARTS else starts_of(experiment)
    answer = answer_of(experiment, contrast, starts)
    warnings = experiment_warnings(experiment)
    first = (*latency_pictures(contrast), *ratio_pictures(contrast))
    barrier = ratio_pictures(starts) if starts is not contrast else []
    more_pictures = tuple(picture for draw in OF_EXPERIMENTS if draw not in FIRST for picture in draw(experiment))
    blocks: list[Block] = [Line(fact, "answer") for fact in answer.headlines]
    blocks += [Numbers(answer.numbers)] if answer.numbers else []
    blocks += [Line(fact, label="states") for fact in machine_states(experiment.cell_table)]
    blocks += [Line(Caution(len(warnings)), label="before you rely on it")] if warnings else []
    blocks += first
    if answer.findings or barrier:
        blocks.append(Heading("Also found"))
        blocks += [Line(fact, label=about, depth=Depth.PAGE) for about, fact in answer.findings]
        blocks += barrier
    blocks += [Heading("Warnings"), *(Line(text, "warning") for text in warnings)]
    blocks += [Heading("More pictures"), *more_pictures]
    blocks += [Heading("What was measured, and how"), measured_terms(experiment)]
    blocks += [Heading("Machine and software"), machine_terms(experiment), Command(tuple(commands(experiment)))]
    blocks += [Heading("Every launch"), *launches_tables(experiment)]
    title = f"{listed(dict.fromkeys(experiment.cell_table.operation))}: {contrast.summary or 'latency'}"
    return View(title, tuple(blocks), byline(experiment, contrast))


def byline(experiment: Experiment, contrast: Contrast) -> str:
    """Describes the measurement in one line."""
    configurations = {launch.configuration for launch in experiment.launches}
    per_configuration = len(experiment.launches) / len(configurations)
    versions = dict.fromkeys(short_version(str(launch.context["mpi_library"])) for launch in experiment.launches)
    return "; ".join(
        [
            f"{listed(sorted({launch.ranks for launch in experiment.launches}))} ranks, {listed(versions)}",
            f"{per_configuration:.3g} launches{' of each' if len(configurations) > 1 else ''}"
            if per_configuration != 1
            else "1 launch",
            *([start_text(contrast.start)] if contrast.start else []),
        ]
    )


def unique_pictures(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yields blocks with unique names of pictures, and a reference in place of a repeated caption."""
    names: Counter[str] = Counter()
    titles: dict[str, str] = {}
    for block in blocks:
        if not isinstance(block, Picture):
            yield block
            continue
        first = titles.setdefault(block.caption, block.title)
        caption = block.caption if first == block.title else f"Same layout as {first}."
        names[anchor(block.name)] += 1
        number = names[anchor(block.name)]
        name = f"{block.name}-{number}" if number > 1 else block.name
        yield dataclasses.replace(block, name=name, caption=caption)
