"""The ratio of latencies, barrier to common start, and what the paper claims of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from downbeat.reproduce.agreement import above, below, unanimous
from downbeat.reproduce.figure import Finding
from downbeat.reproduce.schuchart2023.comparison import BARRIER, HARMONIZE, LATENCY
from downbeat.reproduce.schuchart2023.lines import DEFAULT, MVAPICH

SMALL = 1024  # bytes; the text calls messages small without saying where that ends
HARDLY = 1.25  # delta or its inverse; the text calls distortions less significant without a number


def deltas(cells: pd.DataFrame, position: str) -> pd.DataFrame:
    """Returns latency under the barrier / latency under harmonize, launch by launch (Schuchart 2023, section 6.1).

    The columns are `line`, the position, `launch` and `delta`.
    """
    wide = cells.pivot_table(index=["line", position, "launch"], columns="synchronizer", values=LATENCY)
    if not {BARRIER, HARMONIZE} <= set(wide.columns):
        return pd.DataFrame(columns=["line", position, "launch", "delta"])
    wide["delta"] = wide[BARRIER] / wide[HARMONIZE]
    return wide.dropna().reset_index()[["line", position, "launch", "delta"]]


def delta_summary(frame: pd.DataFrame, line: str) -> tuple[float, float, float] | None:
    """Returns the geometric mean of a line's ratios over what is there, in the median, smallest and largest launch."""
    part = frame[frame["line"] == line]
    if part.empty:
        return None
    means = part.groupby("launch")["delta"].agg(lambda values: float(np.exp(np.log(values).mean())))
    return float(means.median()), float(means.min()), float(means.max())


def distance_summary(frame: pd.DataFrame, line: str) -> tuple[float, float, float] | None:
    """Returns the same of the ratios or, where these are below 1, their inverses: how far from 1, whichever way."""
    away = frame.assign(delta=np.exp(np.abs(np.log(frame["delta"].astype(float)))))
    return delta_summary(away, line)


@dataclass(frozen=True)
class Claim:
    """What the paper says of one line: that the barrier makes it look slower (+1), faster (-1), hardly either (0)."""

    line: str
    direction: int
    paper: str
    small: bool = True  # of small messages alone


def claim_findings(frame: pd.DataFrame, claims: Sequence[Claim], ranks: int) -> list[Finding]:
    """Holds claims on the ratio against the data on so many ranks; two send the same one message by most algorithms."""
    words = {1: "looks slower behind the barrier", -1: "looks faster behind the barrier", 0: "is hardly affected"}
    findings = []
    for claim in claims:
        part = frame[frame["size"] <= SMALL] if claim.small and "size" in frame else frame
        summary = distance_summary(part, claim.line) if claim.direction == 0 else delta_summary(part, claim.line)
        if summary is None:
            findings.append(Finding(f"{claim.line} {words[claim.direction]}", claim.paper, "not measured here", None))
            continue
        middle, low, high = summary
        if claim.direction == 0:
            agrees = below(low, high, HARDLY)
        else:
            agrees = above(low, high, 1.0) if claim.direction > 0 else below(low, high, 1.0)
        if ranks == 2 and claim.line not in (MVAPICH.label, DEFAULT.label):
            agrees = None
        where = f", sizes up to {SMALL} bytes" if claim.small and "size" in frame else ""
        findings.append(
            Finding(
                f"{claim.line} {words[claim.direction]}",
                claim.paper,
                f"{'delta or its inverse' if claim.direction == 0 else 'delta'} {middle:.2f} (launches {low:.2f} to "
                f"{high:.2f}{where})",
                agrees,
            )
        )
    return findings


def most_affected_finding(frame: pd.DataFrame, line: str, ranks: int) -> Finding:
    """Holds against the data that of all lines one is affected most (Schuchart 2023, section 6.3)."""
    claim, paper = f"{line} is affected most by the synchronizer", "the most impacted implementation shown"
    away = frame.assign(delta=np.abs(np.log(frame["delta"].astype(float))))
    means = away.pivot_table(index="launch", columns="line", values="delta").dropna()
    if line not in means.columns or len(means.columns) < 2 or means.empty:
        return Finding(claim, paper, "not measured here", None)
    told = ", ".join(f"{name} {value:.2f}" for name, value in np.exp(means.median()).items())
    answer = unanimous(means.idxmax(axis="columns") == line)
    return Finding(claim, paper, f"delta or its inverse, mean over sizes: {told}", None if ranks == 2 else answer)
