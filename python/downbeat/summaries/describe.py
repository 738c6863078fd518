"""Names for what a frame of cells holds: of lines in a picture, of its panels, of pictures."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from downbeat.units import bytes_text

# How an operation was started; `synchronization` names all three.
SYNCHRONIZATION = ("synchronizer", "barrier_algorithm", "timing")
# The other factors of one operation's cells, without size and delay.
CONFIGURATION = ("library", "ranks", "environment", "variant", "datatype", "algorithm", "state")
# Factors of the cases in which algorithms are compared.
PANELS = ("library", "ranks", "environment", "variant", "datatype", "size", "state")
USUAL = "default"
PER_CALL = "per_call"


def synchronization(frame: pd.DataFrame) -> pd.Series[str]:
    """Returns for each row how its start was made, as downbeat-bench writes it: `mpi_barrier[tree], window`."""
    return pd.Series(
        [
            synchronizer
            + (f"[{algorithm}]" if algorithm not in (USUAL, "") else "")
            + (f", {timing}" if timing != PER_CALL else "")
            for synchronizer, algorithm, timing in zip(*(frame[name] for name in SYNCHRONIZATION), strict=True)
        ],
        index=frame.index,
        dtype=object,
    )


def describe(frame: pd.DataFrame, factors: Sequence[str]) -> pd.Series[str]:
    """Returns for each row the values of the factors that vary in the frame: `mpich, 4 ranks, 64K bytes`."""
    varying = [name for name in factors if frame[name].nunique() > 1]
    texts = [[value_text(name, value) for value in frame[name]] for name in varying]
    return pd.Series(
        [", ".join(row) for row in zip(*texts, strict=True)] if varying else "", index=frame.index, dtype=object
    )


def describe_each(frame: pd.DataFrame, first: str, factors: Sequence[str]) -> pd.Series[str]:
    """Returns for each row the value of one factor, and of those others that vary among the rows which share it."""
    texts = pd.Series("", index=frame.index, dtype=object)
    for value, group in frame.groupby(first, sort=False):
        rest = describe(group, factors)
        texts[group.index] = f"{value}" + rest.where(rest == "", ", " + rest)
    return texts


def value_text(factor: str, value: object) -> str:
    """Returns a factor's value in words that need no heading."""
    if factor == "size":
        return f"{bytes_text(float(str(value)))} bytes" if value else "no message"
    if factor == "ranks":
        return f"{value} rank" if value == 1 else f"{value} ranks"
    if factor in ("algorithm", "environment", "variant") and value == USUAL:
        return f"{factor} {USUAL}"
    if factor == "state":
        return f"state {value}" if value else "state unknown"
    if factor == "largest_delay":
        return f"{float(str(value)) * 1e6:g} us late"
    return str(value)
