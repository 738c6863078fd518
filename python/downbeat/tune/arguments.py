"""Checks what `downbeat tune` is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from downbeat.data.metrics import METRICS
from downbeat.errors import UsageError
from downbeat.run.bench_options import passed_options, refuse_own, with_files, wrong
from downbeat.run.request import read_ranks
from downbeat.text import split_list

TOGETHER = "latency_avg"  # the default metric; with an arrival pattern, the time after the last entry
LATE = "after_last_entry"


def parse_ranks(text: str) -> tuple[int, ...]:
    """Returns numbers of ranks out of "2,4".

    Raises:
        UsageError: a number is below 2 or not a number.
    """
    ranks = read_ranks("--ranks", text, Path())
    if min(ranks) < 2:
        raise wrong("--ranks", min(ranks), "numbers from 2, e.g. 2,4")
    return ranks


def parse_share(name: str, value: float, least: float) -> float:
    """Returns a share.

    Raises:
        UsageError: it is below the least, or not below 1.
    """
    if not least <= value < 1:
        raise UsageError(f"--{name} cannot be {value:g}; give a number from {least:g} to below 1")
    return value


def passed_by_user(words: Sequence[str]) -> dict[str, str]:
    """Returns the options after `--`, which go to every measurement.

    Raises:
        UsageError: one is not valid, or is set by the tuning itself.
    """
    options = passed_options(words)
    refuse_own(options, ("algorithm", "pattern", "delay", "validate", "stop", "with"))
    return options


def valid_metric(name: str, pattern: str) -> str:
    """Returns the name of a metric; if none is given, the one that suits the arrival pattern.

    Raises:
        UsageError: there is none of that name.
    """
    if not name:
        return LATE if pattern else TOGETHER
    if name not in METRICS:
        raise UsageError(f"unknown metric '{name}'; choose one of {', '.join(METRICS)}")
    return name


def one_pattern(pattern: str, delay: str) -> tuple[str, str]:
    """Returns an arrival pattern and its largest delay, as downbeat-bench takes them; files by absolute paths.

    Raises:
        UsageError: there are several, or a delay without a pattern.
    """
    for name, text in (("pattern", pattern), ("delay", delay)):
        if len(split_list(text)) > 1:
            raise UsageError(f"--{name} cannot be '{text}': rules are for one arrival pattern with one delay; give one")
    if pattern == "none":
        raise UsageError("--pattern cannot be 'none': rules need late ranks; leave it out, or give e.g. one_late")
    if delay and not pattern:
        raise UsageError("--delay needs an arrival pattern, e.g. --pattern one_late --delay 50us")
    return with_files(pattern, Path()), delay
