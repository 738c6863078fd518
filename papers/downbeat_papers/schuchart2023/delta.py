"""The ratio of latencies, barrier to common start, and what the paper claims of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from downbeat_papers.evidence import Evidence, Undecidable, every, factor_of, half, held_out, mean_of, some
from downbeat_papers.figure import Finding
from downbeat_papers.schuchart2023.comparison import BARRIER, HARMONIZE, LATENCY
from downbeat_papers.schuchart2023.lines import DEFAULT, MVAPICH

SMALL = 1024  # bytes; the text calls messages small without saying where that ends
LOWEST, HIGHEST = 0.6, 1.8  # delta of the rooted MPI_Reduce on one node (Fig. 6)
ONE_MESSAGE = Undecidable("on 2 ranks the algorithms are one and the same message")
NOT_MEASURED = Undecidable("not measured here")
TOO_FEW = Undecidable("too few launches measured all")


def deltas(cells: pd.DataFrame, column: str = LATENCY) -> pd.DataFrame:
    """Returns latency under the barrier / latency under harmonize, launch by launch (Schuchart 2023, section 6.1).

    The columns are `line`, `size`, `launch` and `delta`; `column` is that of the latency.
    """
    wide = cells.pivot_table(index=["line", "size", "launch"], columns="synchronizer", values=column)
    if not {BARRIER, HARMONIZE} <= set(wide.columns):
        return pd.DataFrame(columns=["line", "size", "launch", "delta"])
    wide["delta"] = wide[BARRIER] / wide[HARMONIZE]
    return wide.dropna().reset_index()[["line", "size", "launch", "delta"]]


def delta_table(frame: pd.DataFrame, line: str) -> pd.DataFrame:
    """Returns the logarithm of a line's ratio, a row per launch, a column per size."""
    part = frame[frame["line"] == line]
    return part.pivot(index="launch", columns="size", values="delta").astype(float).apply(np.log)


@dataclass(frozen=True)
class Claim:
    """What the paper says of one line.

    Attributes:
        line: its label.
        direction: whether the barrier makes it look slower (1), faster (-1), or hardly either (0).
        paper: what the paper reports.
        small: of small messages alone.
        factor: so many times as slow, or as fast; 1: the paper gives no number.
        somewhere: whether it is so at some size ("up to"), not in the mean over sizes.
    """

    line: str
    direction: int
    paper: str
    small: bool = True
    factor: float = 1.0
    somewhere: bool = False

    @property
    def words(self) -> str:
        """The claim, in words."""
        if self.direction == 0:
            return f"{self.line} is hardly affected by the barrier, at any size"
        times = f"{self.factor:g} times as " if self.factor > 1 else ""
        look = {1: "slow" if times else "slower", -1: "fast" if times else "faster"}[self.direction]
        return f"{self.line} looks {times}{look} after the barrier{', at some size' if self.somewhere else ''}"

    def evidence(self, table: pd.DataFrame) -> Evidence:
        """Returns what launches say of it.

        Args:
            table: of `delta_table`, with the sizes that are spoken of.
        """
        sizes = [factor_of(np.exp(column.to_numpy())) for _, column in table.items()]
        if self.direction == 0:
            return every(one.within(half(LOWEST), half(HIGHEST)) for one in sizes)
        places = sizes if self.somewhere else [factor_of(np.exp(table.mean(axis="columns").to_numpy()))]
        if self.direction > 0:
            return some(one.above(half(self.factor)) for one in places)
        return some(one.below(1 / half(self.factor)) for one in places)


def claim_findings(frame: pd.DataFrame, claims: Sequence[Claim], ranks: int) -> list[Finding]:
    """Holds claims on the ratio against the data on so many ranks; two send the same one message by most algorithms."""
    findings = []
    for claim in claims:
        table = delta_table(frame[frame["size"] <= SMALL] if claim.small else frame, claim.line)
        if table.empty:
            findings.append(Finding(claim.words, claim.paper, "not measured here", NOT_MEASURED))
            continue
        means = np.exp(table.mean())
        where = f"sizes up to {SMALL} bytes" if claim.small else "all sizes"
        here = f"delta {np.exp(table.to_numpy()[np.isfinite(table)].mean()):.2f} in the mean over {where}"
        if claim.direction == 0 or claim.somewhere:
            here += f", {means.min():.2f} to {means.max():.2f} by size"
        alike = ranks == 2 and claim.line not in (MVAPICH.label, DEFAULT.label)
        findings.append(Finding(claim.words, claim.paper, here, ONE_MESSAGE if alike else claim.evidence(table)))
    return findings


def most_affected_finding(frame: pd.DataFrame, line: str, ranks: int) -> Finding:
    """Holds against the data that of all lines one is affected most (Schuchart 2023, section 6.3).

    How much a line is affected is the mean over sizes of the logarithm of its ratio, counted from 1 in the direction in
    which the other half of the launches lies: of its absolute value noise alone makes something.
    """
    claim, paper = f"{line} is affected most by the synchronizer", "the most impacted implementation shown"
    # pandas takes the mean of what there is, NaN where a launch has no size.
    affected = {
        str(name): pd.DataFrame(held_out(delta_table(frame, str(name)))).mean(axis="columns").to_numpy()
        for name in set(frame["line"])
    }
    if line not in affected or len(affected) < 2:
        return Finding(claim, paper, "not measured here", NOT_MEASURED)
    if not all(np.isfinite(values).any() for values in affected.values()):
        return Finding(claim, paper, "too few launches that measured all", TOO_FEW)
    described = ", ".join(f"{name} {np.exp(np.nanmean(values)):.2f}" for name, values in affected.items())
    fewest = min(map(len, affected.values()))
    evidence = every(
        mean_of(affected[line][:fewest] - values[:fewest]).above(0.0)
        for name, values in affected.items()
        if name != line
    )
    here = f"delta or its inverse, mean over sizes: {described}"
    return Finding(claim, paper, here, ONE_MESSAGE if ranks == 2 else evidence)
