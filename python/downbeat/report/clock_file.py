"""The report of a file that holds no samples of operations: synchronizers, clocks, round trips."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from downbeat.report.conditions import distinct, library_text
from downbeat.report.findings import skew_fact
from downbeat.report.numbers import digits
from downbeat.report.page import Fact, Section
from downbeat.report.pictures import OF_FILES
from downbeat.report.warnings import bench_warnings
from downbeat.sentences import Sentence, listed
from downbeat.text import MICROSECONDS

if TYPE_CHECKING:
    import xarray as xr

# Schemes within this of the smallest error are as good (docs/clock-experiments.md).
AS_GOOD = 1.1
SETTING = "clock_"  # attributes that are settings of the library


def skews(data: xr.Dataset) -> Sentence:
    """Says how far apart ranks leave which synchronizer."""
    medians = data["skew_median"].to_series().dropna()
    return skew_fact(pd.DataFrame({"low": medians, "high": medians}), float(data["error_bound"].max()))


def schemes(data: xr.Dataset) -> Sentence:
    """Says which of the schemes with the smallest errors is the quickest."""
    if "true_max" not in data and str(data.attrs.get("clock_domains")) == "1":
        return Sentence("one_clock", {})
    kind, error = ("true error", "true_max") if "true_max" in data else ("measured offset", "offset_max")
    wait = float(data["wait"].max())
    errors = data[error].sel(wait=wait).to_series().dropna()
    durations = data["duration_median"].to_series()[errors.index]

    def of(scheme: str) -> dict[str, object]:
        return {"scheme": scheme, "error": float(errors[scheme]), "duration": float(durations[scheme])}

    values = {
        "wait": f"{wait:g}",
        "kind": kind,
        "best": of(str(durations[errors <= AS_GOOD * errors.min()].idxmin())),
        "quickest": of(str(durations.idxmin())),
        "outside": float(data["outside"].max()) if "outside" in data else None,
    }
    return Sentence("schemes", values)


def drifts(data: xr.Dataset) -> Sentence:
    """Says how fast the clocks of each pair drift apart, and what a straight line is worth."""
    pairs = [
        {
            "pair": str(data["pair"].to_numpy()[place]),
            "skew": f"{float(data['skew'][place]) * MICROSECONDS:+.3g}",
            "unsure": not beyond_bounds(data, place),
            "residual": float(data["residual_max"][place]),
            "error": abs(float(data["prediction_error"][place])),
        }
        for place in range(data.sizes["pair"])
    ]
    return Sentence("drift", {"seconds": digits(float(data["time"].max() - data["time"].min())), "pairs": pairs})


def beyond_bounds(data: xr.Dataset, place: int) -> bool:
    """Returns whether a pair drifted farther than both offsets of a drift may be wrong by."""
    drift, bound = (data[name][place].to_numpy() for name in ("drift", "offset_bound"))
    return bool((np.abs(drift) > bound + bound[0]).any())


def round_trips(data: xr.Dataset) -> Sentence:
    """Says how long round trips take."""
    numbers = {"least": "rtt_min", "median": "rtt_median", "p99": "rtt_p99"}
    pairs = [
        {"pair": str(data["pair"].to_numpy()[place])}
        | {name: float(data[variable][place]) for name, variable in numbers.items()}
        for place in range(data.sizes["pair"])
    ]
    return Sentence("round_trips", {"samples": data.sizes["sample"], "pairs": pairs})


# The subject of a file, and the sentences on it.
VERDICTS: dict[str, tuple[str, Callable[[xr.Dataset], Sentence]]] = {
    "skew": ("exit skew", skews),
    "clock": ("synchronization schemes", schemes),
    "drift": ("clock drift", drifts),
    "rtt": ("round trips", round_trips),
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
    return (Fact(about, str(verdict(data))),), (
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
