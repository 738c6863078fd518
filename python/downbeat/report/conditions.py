"""The last sections of a report: measurements, method, machine and launches, so that readers can repeat the experiment.

The context of a launch is the mapping of attributes that its file stores (`data/attributes.py`).
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from downbeat.comparison.settings import ENVIRONMENT, LIBRARY_SETTING, value_of
from downbeat.data.attributes import ATTRIBUTES, Origin
from downbeat.output.blocks import Depth, Table, Terms
from downbeat.output.fields import span, synchronizer_name
from downbeat.report.warnings import first_line
from downbeat.run.experiment import Experiment, Launch
from downbeat.run.machine import settings_of
from downbeat.run.plan import DEFAULT_VARIANT
from downbeat.run.simulation import host_lines
from downbeat.tables import Floats, Ints, Texts
from downbeat.text import MICROSECONDS, PERCENT, bytes_text, counted, listed, time_text


def distinct(values: Iterable[object]) -> list[str]:
    """Converts values to text and drops duplicates; keeps the order of the first occurrences."""
    return list(dict.fromkeys(str(value) for value in values))


def measured_terms(experiment: Experiment) -> Terms:
    """Returns the measurements and the method."""
    cells, contexts = experiment.cell_table, [launch.context for launch in experiment.launches]
    valid, rejected = int(cells.valid_count.sum()), int(cells.rejected.sum())
    max_cells = max(len(launch.cells) for launch in experiment.launches)
    of_launch = f"each of {counted(max_cells, 'cell')}, in blocks in random order"
    definitions = (
        ("operations", listed(distinct(cells.operation))),
        ("sizes", sizes_text(cells.size)),
        ("types", listed(distinct(cells.datatype))),
        ("algorithms", listed(distinct(cells.algorithm))),
        ("synchronizers", listed(map(synchronizer_name, distinct(cells.started_by)))),
        ("arrival patterns", patterns_text(cells.pattern, cells.largest_delay)),
        ("processes", listed(distinct(cells.ranks))),
        ("launches", f"{len(experiment.launches)}, {of_launch}; {order_text(experiment)}"),
        (
            "rejected",
            f"{rejected} of {valid + rejected} attempts, because their synchronization failed; each was repeated. "
            "No sample is rejected for being slow.",
        ),
        *settings_of_bench(contexts),
    )
    return Terms(definitions)


def settings_of_bench(contexts: Sequence[Mapping[str, object]]) -> list[tuple[str, str]]:
    """Returns the settings of downbeat-bench in the contexts of the launches: label and values."""
    return [
        (attribute.label, listed(distinct(setting_text(name, context) for context in contexts)))
        for name, attribute in ATTRIBUTES.items()
        if attribute.origin is Origin.SETTING and not name.startswith(LIBRARY_SETTING)
        if name != ENVIRONMENT and any(name in context for context in contexts)
    ]


def setting_text(name: str, context: Mapping[str, object]) -> str:
    """Returns the value of a setting; a time has its unit, unless a damaged file has other text instead."""
    value = value_of(name, context)
    if ATTRIBUTES[name].unit == "s":
        with contextlib.suppress(ValueError):
            return time_text(float(value))
    return value


def sizes_text(measured: Ints) -> str:
    """Lists the sizes in bytes; size 0 is an operation without a message."""
    sizes = [float(size) for size in np.unique(measured) if size > 0]
    no_message = ["no message"] if (measured == 0).any() else []
    return listed([*([f"{', '.join(map(bytes_text, sizes))} bytes"] if sizes else []), *no_message])


def patterns_text(patterns: Texts, largest: Floats) -> str:
    """Lists the arrival patterns with the range of their largest delays."""
    delays = largest[patterns != "none"] * MICROSECONDS
    if not len(delays):
        return "none: all ranks start together"
    return f"{listed(distinct(patterns))}, delays of {span(float(delays.min()), float(delays.max()))} us"


def order_text(experiment: Experiment) -> str:
    """Describes the order in which the launches were started."""
    if experiment.plan is None:
        return "files collected by hand; the table of launches has their dates"
    return f"in rounds of every configuration once, in random order (seed {experiment.plan.seed})"


def machine_terms(experiment: Experiment) -> Terms:
    """Returns the machine and the software of the measurement."""
    launches = experiment.launches
    contexts = [launch.context for launch in launches]
    bounds = experiment.cells["error_bound"].dropna() * MICROSECONDS
    # Not in files of earlier versions.
    expected = experiment.cells.get("expected_error", bounds[:0]).dropna() * MICROSECONDS
    dates = sorted(str(run.get("date", "unknown")) for run in contexts)
    libraries = distinct(f"{launch.library}: {library_text(launch.context)}" for launch in launches)
    clocks = distinct(f"{run.get('clock_clock')}, synchronized by {run.get('clock_sync')}" for run in contexts)
    programs = distinct(f"{run['downbeat_version']} ({run['git_revision']}), {run['compiler']}" for run in contexts)
    definitions = (
        ("MPI", "\n".join(libraries)),
        ("machine", machine_text(contexts)),
        ("clock", listed(clocks)),
        ("clock's error bound", range_text(bounds)),
        ("clock's expected error", range_text(expected)),
        ("clock at the end", clock_check_text(contexts)),
        ("downbeat-bench", listed(programs)),
        ("measured", " to ".join(dict.fromkeys((dates[0], dates[-1])))),
        ("environment", "\n".join(variables(contexts)) or "no variable that concerns MPI or Downbeat"),
        *findings(experiment),
    )
    return Terms(definitions)


def range_text(errors: pd.Series) -> str:
    """Returns the range of errors, converted to us; "unknown" without any."""
    return f"{span(float(errors.min()), float(errors.max()))} us" if len(errors) else "unknown"


def library_text(context: Mapping[str, object]) -> str:
    """Returns the name and version of an MPI library, and the MPI standard that it implements."""
    return f"{first_line(str(context['mpi_library']))}, MPI {context['mpi_standard']}"


def variables(contexts: Iterable[Mapping[str, object]]) -> list[str]:
    """Returns the settings of the MPI library in the environment and in files, one per line, with the file of each."""
    return distinct(
        f"{name}={value}{f' ({file})' if file else ''}"
        for context in contexts
        for name, (value, file) in settings_of(context).items()
    )


def machine_text(contexts: Sequence[Mapping[str, object]]) -> str:
    """Lists the hosts, one per line, each with the range of its load over the launches."""
    hosts: dict[str, list[float]] = {}
    for context in contexts:
        for line in host_lines(context):
            words = line.split(", ")
            load = [float(word.removeprefix("load ")) for word in words if word.startswith("load ")]
            hosts.setdefault(", ".join(word for word in words if not word.startswith("load ")), []).extend(load)
    return "\n".join(f"{host}, load {span(min(loads), max(loads))}" if loads else host for host, loads in hosts.items())


UNCHECKED = "not checked"


def clock_check_text(contexts: Iterable[Mapping[str, object]]) -> str:
    """Describes the last check of the clocks: the largest offset, and the launches with ranks beyond their bounds."""
    checked = [context for context in contexts if "clock_check_offset_s" in context]
    if not checked:
        return UNCHECKED
    farthest = max(abs(float(str(context["clock_check_offset_s"]))) for context in checked)
    outside = sum(int(str(context["clock_check_ranks_outside"])) > 0 for context in checked)
    launches = counted(len(checked), "launch")
    return f"{time_text(farthest)} off rank 0's at most; outside the bounds in {outside} of {launches}"


def findings(experiment: Experiment) -> list[tuple[str, str]]:
    """Returns the checks of `downbeat doctor` at the beginning of the experiment: name and result."""
    return [
        (finding.check.replace("_", " "), finding.seen + ("" if finding.verdict == "good" else f" ({finding.verdict})"))
        for finding in experiment.machine
    ]


def commands(experiment: Experiment) -> list[str]:
    """Lists the command of the first launch of each configuration."""
    first: dict[tuple[object, ...], str] = {}
    for launch in experiment.launches:
        first.setdefault(launch.configuration, command(launch))
    return list(dict.fromkeys(first.values()))


def command(launch: Launch) -> str:
    """Returns the command that started a launch, quoted for a shell, with the variables that the user chose."""
    words = launch.record.get("command")
    if not isinstance(words, list):
        return str(launch.context["command_line"])
    variables = launch.record.get("variables")
    settings = [f"{name}={value}" for name, value in variables.items()] if isinstance(variables, Mapping) else []
    return shlex.join([*(["env", *settings] if settings else []), *map(str, words)])


def launches_tables(experiment: Experiment) -> list[Table]:
    """Returns a table of the complete launches; if launches failed, a table of these."""
    rows = []
    for launch in experiment.launches:
        context, cells = launch.context, launch.cells
        valid, rejected = int(cells.valid_count.sum()), int(cells.rejected.sum())
        offset = context.get("clock_check_offset_s")
        rows.append(
            {
                "library": launch.library,
                "ranks": launch.ranks,
                "environment": launch.environment,
                "variant": launch.variant,
                "launch": launch.number,
                "date": str(context["date"]),
                "cells": len(cells),
                "valid samples": valid,
                "rejected_percent": PERCENT * rejected / max(1, valid + rejected),
                "measuring_s": float(cells["wall_time"].sum()),
                "clock bound_us": float(cells["error_bound"].max()) * MICROSECONDS,
                "clock at the end_us": float("nan") if offset is None else abs(float(str(offset))) * MICROSECONDS,
                "seed": str(context["seed"]),
                "status": listed(distinct(cells["status"])),
            }
        )
    tables = [Table("Launches", pd.DataFrame(rows).sort_values("date", kind="stable"), depth=Depth.PAGE)]
    if experiment.failures:
        failed = [
            {
                "library": failure.get("library"),
                "ranks": failure.get("ranks"),
                "environment": failure.get("environment"),
                "variant": failure.get("variant", DEFAULT_VARIANT),
                "launch": failure.get("number"),
                "started": failure.get("started"),
                "exit status": failure.get("exit_status"),
                "output": failure["directory"],
            }
            for failure in experiment.failures
        ]
        tables.append(Table("Launches that failed", pd.DataFrame(failed), depth=Depth.PAGE))
    return tables
