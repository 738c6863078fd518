"""Measures the clock synchronization schemes against true time, and says what was promised.

python -m benchmarks.clocks [--mpi LIBRARY] [--repetitions N] [--output FILE]

Runs downbeat-bench clock under the validation clock: every scheme on 2 ranks and on 8, directly after a synchronization
and 10 s later; and the published parameters, for their durations. Repetitions are split over launches whose clocks
differ. Takes about half an hour. Prints one table and what was promised, and writes all figures to FILE (default
build/bench-clocks.json).
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Sequence

import xarray as xr
from downbeat.errors import DownbeatError
from downbeat.run.plan import Environment, Measurement

from benchmarks.promises import Promise, at_least, at_most, print_promises
from benchmarks.running import Parser, experiment, fail, unset_settings, write_json

NAME = "bench-clocks"
# Offsets to 1 s, skew of +-10 ppm, some wander, drawn anew for each launch. Two clocks may differ by twice their sum.
VALIDATION = "offset=1,skew=10e-6,wander=20e-9,seed="
MAX_SKEW = "21e-6"
LAUNCHES = 5
LATER = 10.0  # s

OWN = "disciplined"
OFFSET_ONLY = ["hca3_offset", "skampi", "netgauge", "cristian", "hierarchical"]
PRECISE = [OWN, "hca3_offset", "skampi", "netgauge"]
POINTS = "fit=100,over=1"
DRIFT = [
    f"jk({POINTS},offset=mean_rtt(exchanges=30))",
    f"hca({POINTS},offset=mean_rtt(exchanges=30))",
    f"hca2({POINTS},offset=mean_rtt(exchanges=30))",
    f"hca3({POINTS})",
]
# As published, and how long the reference implementations take on 2 ranks of one machine (s).
PUBLISHED = {
    "skampi": 76e-6,
    "hca3_offset(offset=skampi(min=5,max=20))": 16e-6,
    "hca3(over=0)": 38e-3,
    "jk(over=0)": 245e-3,
    "hca(over=0)": 245e-3,
    "hca2(over=0)": 245e-3,
}


@dataclasses.dataclass(frozen=True)
class Row:
    """A scheme over all launches, in s; by wait: error and bias against true time, bound, share outside it."""

    ranks: int
    scheme: str
    repetitions: int
    duration: float
    error: dict[float, float]
    bias: dict[float, float]
    bound: dict[float, float]
    outside: dict[float, float]


def launch(mpi: str, ranks: int, schemes: list[str], waits: str, repetitions: int, seconds: float) -> list[Row]:
    """Returns a row per scheme; one repetition takes at most so many seconds."""
    share = math.ceil(repetitions / LAUNCHES)
    options = {"schemes": ",".join(schemes), "waits": waits, "repetitions": str(share), "rounds": "1"}
    environments = tuple(
        Environment(f"seed{seed}", {"DOWNBEAT_VALIDATION": f"{VALIDATION}{seed}", "DOWNBEAT_MAX_SKEW": MAX_SKEW})
        for seed in range(1, LAUNCHES + 1)
    )
    measurement = Measurement(("clock",), options)
    with experiment(mpi, ranks, measurement, environments, timeout=math.ceil(60 + share * seconds)) as found:
        files = [one.open().load() for one in found.launches]
    data = xr.concat(files, "repetition", data_vars="minimal", coords="minimal", compat="override")
    return [summarize(ranks, scheme, data.sel(scheme=scheme)) for scheme in schemes]


def summarize(ranks: int, scheme: str, data: xr.Dataset) -> Row:
    """Returns what all repetitions say of a scheme, from the single values and not from the program's own summaries."""
    # Rank 0's clock is the global one.
    error, bound = (data[name].isel(rank=slice(1, None)) for name in ("true_error", "error_bound"))
    beyond = (abs(error) > bound).mean(("repetition", "rank"))
    waits = [float(wait) for wait in data["wait"]]

    def by_wait(values: xr.DataArray) -> dict[float, float]:
        return dict(zip(waits, map(float, values.to_numpy()), strict=True))

    return Row(
        ranks=ranks,
        scheme=scheme,
        repetitions=data.sizes["repetition"],
        duration=float(data["duration"].median()),
        error=by_wait(abs(error).max("rank").median("repetition")),
        bias=by_wait(error.median(("repetition", "rank"))),
        bound=by_wait(bound.max(("repetition", "rank"))),
        outside=by_wait(beyond),
    )


def measure(mpi: str, repetitions: int) -> tuple[list[Row], list[Row]]:
    """Returns rows for quality, and for the published parameters."""
    schemes = [OWN, *OFFSET_ONLY, *DRIFT]
    quality = launch(mpi, 2, schemes, f"0,{LATER:g}", repetitions, LATER + 30)
    quality += launch(mpi, 8, schemes, f"0,{LATER:g}", repetitions, LATER + 120)
    return quality, launch(mpi, 2, list(PUBLISHED), "0", repetitions, 10)


def conclude(quality: list[Row], published: list[Row]) -> list[Promise]:
    """Returns every promise with what was measured."""
    two = {row.scheme: row for row in quality if row.ranks == 2}
    promises = [
        at_most(f"{scheme}, 2 ranks: true error directly after", two[scheme].error[0] * 1e9, 20, "ns")
        for scheme in PRECISE
    ]
    for row in [two[scheme] for scheme in DRIFT] + [row for row in published if row.scheme.startswith(("jk", "hca"))]:
        if "hca3_offset" not in row.scheme:
            promises.append(at_most(f"{row.scheme}, 2 ranks: |bias| directly after", abs(row.bias[0]) * 1e9, 30, "ns"))
    for ranks in (2, 8):
        rows = {row.scheme: row for row in quality if row.ranks == ranks}
        best = min(rows[scheme].error[LATER] for scheme in OFFSET_ONLY)
        for scheme in DRIFT:
            what = f"{scheme}, {ranks} ranks: better than the best offset-only scheme after {LATER:g} s"
            promises.append(at_least(what, best / rows[scheme].error[LATER], 50, "times"))
    outside = sum(sum(row.outside.values()) for row in quality + published)
    promises.append(at_most("all: errors beyond the bound", outside, 0))
    for row in published:
        what = f"{row.scheme}, 2 ranks: duration"
        promises.append(at_most(what, row.duration * 1e6, PUBLISHED[row.scheme] * 1e6, "us"))
    return promises


def print_rows(rows: Sequence[Row]) -> None:
    """Prints the table."""
    print(f"{'':61} {'directly after [ns]':>29} {f'{LATER:g} s later [us]':>26}")
    print(
        f"{'ranks scheme':43}{'duration [us]':>13} {'':4} {'error':>7} {'bias':>7} {'bound':>8} {'out':>4}"
        f" {'error':>9} {'bound':>9} {'out':>4}"
    )
    for row in rows:
        line = (
            f"{row.ranks:5} {row.scheme:43}{row.duration * 1e6:12.1f} "
            f" {row.error[0] * 1e9:7.1f} {row.bias[0] * 1e9:7.1f} {row.bound[0] * 1e9:8.0f} {row.outside[0]:4.0%}"
        )
        if LATER in row.error:
            line += f" {row.error[LATER] * 1e6:9.3f} {row.bound[LATER] * 1e6:9.2f} {row.outside[LATER]:4.0%}"
        print(line)


def main() -> int:
    """Measures, prints, writes; returns 0 even if a promise was missed: a measurement is not a test."""
    parser = Parser(NAME, "Measures clock synchronization against true time.")
    parser.add_mpi()
    parser.add_number("--repetitions", 30, "synchronizations of each scheme")
    parser.add_output()
    arguments = parser.parse_args()
    unset_settings()
    try:
        quality, published = measure(arguments.mpi, arguments.repetitions)
    except DownbeatError as error:
        fail(NAME, str(error))
    promises = conclude(quality, published)
    print(f"{arguments.mpi}, medians over {arguments.repetitions} synchronizations; error: largest over ranks\n")
    print_rows(quality + published)
    print()
    print_promises(promises)
    write_json(arguments.output, {"mpi": arguments.mpi, "promises": promises, "rows": quality + published})
    return 0


if __name__ == "__main__":
    sys.exit(main())
