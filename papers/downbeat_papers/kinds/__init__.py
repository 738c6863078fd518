"""The kinds of figures, by the names that `figures/*.toml` use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from downbeat_papers.kinds.barrier_pattern import BarrierPattern
from downbeat_papers.kinds.cells import Cells
from downbeat_papers.kinds.clocks import Hca3Accuracy, Hca3Duration, LineAndTree, Offsets, OffsetsLater, Pareto
from downbeat_papers.kinds.drift import Drift, OffsetTable
from downbeat_papers.kinds.exit_skew import ExitSkew
from downbeat_papers.kinds.late_arrival import Benefit, GlobalTime
from downbeat_papers.kinds.libraries import ExitPattern, MeasurementSchemes, TwoLibraries
from downbeat_papers.kinds.over_time import OverTime
from downbeat_papers.kinds.reduce_matrix import ReduceMatrix
from downbeat_papers.kinds.round_trips import RoundTrips, StopRule
from downbeat_papers.kinds.scaling import MessageScaling, ProcessScaling

KINDS: dict[str, Callable[..., Any]] = {
    "barrier_pattern": BarrierPattern,
    "benefit": Benefit,
    "cells": Cells,
    "drift": Drift,
    "exit_pattern": ExitPattern,
    "exit_skew": ExitSkew,
    "global_time": GlobalTime,
    "hca3_accuracy": Hca3Accuracy,
    "hca3_duration": Hca3Duration,
    "line_and_tree": LineAndTree,
    "measurement_schemes": MeasurementSchemes,
    "message_scaling": MessageScaling,
    "offset_table": OffsetTable,
    "offsets": Offsets,
    "offsets_later": OffsetsLater,
    "over_time": OverTime,
    "pareto": Pareto,
    "process_scaling": ProcessScaling,
    "reduce_matrix": ReduceMatrix,
    "round_trips": RoundTrips,
    "stop_rule": StopRule,
    "two_libraries": TwoLibraries,
}
