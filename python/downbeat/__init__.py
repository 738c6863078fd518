"""Experiments on MPI collectives that are measured from a common start: data, statistics, comparison.

    import downbeat
    launch = downbeat.open_launch("out.nc")            # xarray: every sample, every rank's entry and exit
    experiment = downbeat.open_experiment("results")   # pandas: experiment.cells, one row per launch and cell
    experiment.cells.query("operation == 'bcast'")
    experiment.plot()                                  # a picture of the report, in a notebook
    downbeat.compare(experiment, where_a={"variant": "old"}, where_b={"variant": "new"})
    trace = downbeat.open_trace("trace")               # pandas: trace.records, the collectives of any MPI program

docs/data.md has examples. Times are in seconds. Errors are `downbeat.errors.DownbeatError`; the text says how to
correct the call. The statistics are functions on arrays, in the modules of `downbeat.statistics` (docs/statistics.md).
`downbeat.__version__` is the version.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from downbeat.data.cell_summaries import summarize_cells as summarize_cells
    from downbeat.data.launch_file import open_launch as open_launch
    from downbeat.data.samples import sample_metrics as sample_metrics
    from downbeat.report.pictures import Experiment as Experiment
    from downbeat.report.pictures import open_experiment as open_experiment
    from downbeat.trace.trace import Trace as Trace
    from downbeat.trace.trace import open_trace as open_trace
    from downbeat.views.comparison import compare as compare

# Name -> module that defines it, loaded on first use: downbeat.run.launch must start without numpy and pandas.
_HOMES = {
    "open_launch": "downbeat.data.launch_file",
    "sample_metrics": "downbeat.data.samples",
    "summarize_cells": "downbeat.data.cell_summaries",
    "compare": "downbeat.views.comparison",
    "Experiment": "downbeat.report.pictures",
    "open_experiment": "downbeat.report.pictures",
    "Trace": "downbeat.trace.trace",
    "open_trace": "downbeat.trace.trace",
}
__all__ = [
    "Experiment",
    "Trace",
    "compare",
    "open_experiment",
    "open_launch",
    "open_trace",
    "sample_metrics",
    "summarize_cells",
]


def __dir__() -> list[str]:
    """Returns the names for completion and `help`, including those that are loaded on first use."""
    return sorted({*globals(), *__all__} - {"TYPE_CHECKING", "annotations", "importlib"})


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version  # slow to import

        return version("downbeat")
    if name not in _HOMES:
        raise AttributeError(f"module 'downbeat' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
