"""The report of a file that holds no samples of operations: synchronizers, clocks, round trips."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from downbeat.base.text import MICROSECONDS, counted
from downbeat.pictures.registry import OF_FILES
from downbeat.report.conditions import distinct, library_text
from downbeat.report.findings import skew_text
from downbeat.report.numbers import digits, listed, microseconds
from downbeat.report.page import Fact, Section
from downbeat.report.warnings import bench_warnings

if TYPE_CHECKING:
    import xarray as xr

# Schemes within this of the smallest error are as good (docs/clock-experiments.md).
AS_GOOD = 1.1
SETTING = "clock_"  # attributes that are settings of the library


def skew_verdict(data: xr.Dataset) -> str:
    """Says how far apart ranks leave which synchronizer."""
    medians = data["skew_median"].to_series().dropna()
    ranges = pd.DataFrame({"low": medians, "high": medians})
    return f"Median exit skew: {skew_text(ranges, float(data['error_bound'].max()))}"


def clock_verdict(data: xr.Dataset) -> str:
    """Says which of the schemes with the smallest errors is the quickest."""
    if "true_max" not in data and str(data.attrs.get("clock_domains")) == "1":
        return (
            "The schemes cannot be compared: all ranks share one clock, so their offsets are 0 by construction, "
            "and the measured ones are noise. Set DOWNBEAT_SHARE=never, or give every rank a "
            "clock of its own with known truth, as in DOWNBEAT_VALIDATION=offset=1,skew=1e-5,wander=1e-6."
        )
    kind, error = ("true error", "true_max") if "true_max" in data else ("measured offset", "offset_max")
    wait = float(data["wait"].max())
    errors = data[error].sel(wait=wait).to_series().dropna()
    durations = data["duration_median"].to_series()
    good = errors[errors <= AS_GOOD * errors.min()].index
    best = str(durations[good].idxmin())
    quickest = str(durations[errors.index].idxmin())
    text = (
        f"{wait:g} s after a synchronization, {best} is the quickest of the schemes within 10 % of the smallest "
        f"{kind}: {microseconds(float(errors[best]))}, after {microseconds(float(durations[best]))} of "
        "synchronizing. "
    )
    if quickest != best:
        text += (
            f"The quickest of all is {quickest}: {microseconds(float(durations[quickest]))}, {kind} "
            f"{microseconds(float(errors[quickest]))}. "
        )
    if "outside" in data:
        share = float(data["outside"].max())
        text += (
            "No clock was farther off than its error bound."
            if share == 0
            else f"Up to {share:.1%} of the errors are beyond the bound: it does not hold."
        )
    return text


def drift_verdict(data: xr.Dataset) -> str:
    """Says how fast the clocks of each pair drift apart, and what a straight line is worth."""
    texts = [
        f"ranks {data['pair'].to_numpy()[place]!s} by {float(data['skew'][place]) * MICROSECONDS:+.3g} us per s "
        + ("" if beyond_bounds(data, place) else "within the error of the measurement, so perhaps not at all ")
        + f"(off the line by {microseconds(float(data['residual_max'][place]))} at most; predicted from the first "
        f"half, wrong by {microseconds(abs(float(data['prediction_error'][place])))} at the end)"
        for place in range(data.sizes["pair"])
    ]
    seconds = float(data["time"].max() - data["time"].min())
    return f"Over {digits(seconds)} s the local clocks drifted apart: {listed(texts)}."


def beyond_bounds(data: xr.Dataset, place: int) -> bool:
    """Returns whether a pair drifted farther than both offsets of a drift may be wrong by."""
    drift, bound = (data[name][place].to_numpy() for name in ("drift", "offset_bound"))
    return bool((np.abs(drift) > bound + bound[0]).any())


def rtt_verdict(data: xr.Dataset) -> str:
    """Says how long round trips take."""
    texts = [
        f"ranks {data['pair'].to_numpy()[place]!s}: shortest {microseconds(float(data['rtt_min'][place]))}, "
        f"median {microseconds(float(data['rtt_median'][place]))}, 99 % below "
        f"{microseconds(float(data['rtt_p99'][place]))}"
        for place in range(data.sizes["pair"])
    ]
    return f"Round trips, {counted(data.sizes['sample'], 'sample')} of each pair. {'; '.join(texts)}."


# The subject of a file, and the sentences on it.
VERDICTS: dict[str, tuple[str, Callable[[xr.Dataset], str]]] = {
    "skew": ("exit skew", skew_verdict),
    "clock": ("synchronization schemes", clock_verdict),
    "drift": ("clock drift", drift_verdict),
    "rtt": ("round trips", rtt_verdict),
}


def file_sections(data: xr.Dataset, prefix: str) -> tuple[tuple[Fact, ...], tuple[Section, ...]]:
    """Returns what was found, and the sections, of a file of an experiment in `OF_FILES`."""
    kind = str(data.attrs["experiment"])
    text = {str(name): str(value) for name, value in data.attrs.items()}
    settings = [f"{name.removeprefix(SETTING)}={value}" for name, value in text.items() if name.startswith(SETTING)]
    ranks = [str(host) for host in np.atleast_1d(data["host"].to_numpy())] if "host" in data else []
    pictures = tuple(picture for draw in OF_FILES[kind] for picture in draw(data))
    warnings = tuple(bench_warnings([text]))
    about, verdict = VERDICTS[kind]
    return (Fact(about, verdict(data)),), (
        Section(f"{prefix}Pictures", pictures=pictures),
        *([Section(f"{prefix}Warnings", warnings=warnings)] if warnings else []),
        Section(
            f"{prefix}How it was measured",
            paragraphs=(f"{text['title']}.",),
            definitions=(
                ("MPI", library_text(text)),
                ("ranks", f"{len(ranks)} on {listed(distinct(ranks))}"),
                ("machine", text["hosts"]),
                ("settings", ", ".join(settings)),
                ("downbeat-bench", f"{text['downbeat_version']} ({text['git_revision']}), {text['compiler']}"),
                ("measured", text["date"]),
                ("seed", text["seed"]),
            ),
            commands=(text["command_line"],),
        ),
    )
