"""Marks a night that is slower than its history: it stays on record, and later nights are not compared with it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from downbeat.errors import UsageError
from downbeat.run import directory as places
from downbeat.run.experiment import FACTORS, Experiment

NUMBERS = ("a", "b", "ratio", "ratio_low", "ratio_high", "adjusted_p_value")
SLOWER = "slower"  # the verdict


def check_markable(experiment: Experiment, history: list[Experiment] | None) -> None:
    """Checks before anything is compared that there can be a mark.

    Raises:
        UsageError: there is no history, or the experiment is one file.
    """
    if history is None:
        raise UsageError("--mark marks what is slower than a history; add --history DIR")
    if not experiment.path.is_dir():
        raise UsageError(f"--mark: '{experiment.path}' is one file; a mark is a file in the directory of an experiment")


def mark_lines(directory: Path, cells: pd.DataFrame) -> Iterator[str]:
    """Marks an experiment if a cell is slower, and yields what a reader needs to know of its mark.

    Args:
        directory: of the experiment.
        cells: of the result of `compare`, with its attributes.

    Raises:
        DownbeatError: the mark cannot be written.
    """
    accept = f"to accept it: rm {shlex.quote(str(directory / places.SLOWER))}"
    slower = cells[cells["verdict"] == SLOWER]
    if len(slower):
        shown = slower[[name for name in (*FACTORS, *NUMBERS) if name in slower]]
        places.mark_slower(
            directory,
            {
                **{name: cells.attrs[name] for name in ("metric", "statistic", "margin", "confidence", "history")},
                "cells": json.loads(shown.to_json(orient="records")),
            },
        )
        yield f"marked slower, so later histories leave it out; {accept}"
    elif places.is_marked(directory):
        yield f"no cell is slower now, but an earlier comparison marked it; {accept}"
