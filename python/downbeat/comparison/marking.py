"""Marks an experiment that is slower than its history, so that later comparisons leave it out of the history."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

from downbeat.comparison.compared import Compared
from downbeat.errors import UsageError
from downbeat.run import directory as places
from downbeat.run.experiment import Experiment

NUMBERS = ("a", "b", "ratio", "ratio_low", "ratio_high", "adjusted_p_value")
SLOWER = "slower"  # the verdict


def check_markable(experiment: Experiment, history: list[Experiment] | None) -> None:
    """Checks before the comparison that the experiment can be marked.

    Raises:
        UsageError: there is no history, or the experiment is one file.
    """
    if history is None:
        raise UsageError("--mark marks what is slower than a history; add --history DIR")
    if not experiment.path.is_dir():
        raise UsageError(f"--mark: '{experiment.path}' is one file; a mark is a file in the directory of an experiment")


def mark_lines(directory: Path, compared: Compared) -> Iterator[str]:
    """Marks an experiment if a cell is slower; yields lines on its mark.

    Args:
        directory: the directory of the experiment.
        compared: the rows that are printed.

    Raises:
        DownbeatError: the mark cannot be written.
    """
    accept = f"to accept it: rm {shlex.quote(str(directory / places.SLOWER))}"
    slower = compared[compared.verdicts.verdict == SLOWER]
    if len(slower):
        cells = slower.frame()[[*slower.factors, *NUMBERS]].to_json(orient="records")
        about = {name: getattr(slower, name) for name in ("metric", "statistic", "margin", "confidence", "history")}
        places.mark_slower(directory, {**about, "cells": json.loads(cells)})
        yield f"marked slower, so later histories leave it out; {accept}"
    elif places.is_marked(directory):
        yield f"no cell is slower now, but an earlier comparison marked it; {accept}"
