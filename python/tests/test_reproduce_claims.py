"""What figures of the papers claim: borne out by data that have it, and by no others."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from downbeat.experiment.experiment import Launch
from downbeat.report.page import Section
from downbeat.reproduce.agreement import above, all_above, all_below, below, every, grows, ratios, some, unanimous
from downbeat.reproduce.figure import Drawn, Finding, Run
from downbeat.reproduce.hunold2015.clock_pareto import short_scheme
from downbeat.reproduce.hunold2015.over_time import binned, rise_finding
from downbeat.reproduce.niethammer2016.global_time import grows_as, steps_below
from downbeat.reproduce.niethammer2016.offset_table import draw_offset_table
from downbeat.reproduce.niethammer2016.overlap_benefit import (
    mostly_above,
    mostly_positive,
    near_zero,
    nonblocking_better,
    order_of_delays,
    size_matters_not,
)
from downbeat.reproduce.page import definition, figure_section, lack, tally, verdict
from downbeat.reproduce.registry import FIGURES
from downbeat.reproduce.results import Results, over_launches
from downbeat.reproduce.schuchart2023.delta import Claim, claim_findings, deltas, most_affected_finding
from downbeat.reproduce.schuchart2023.library_order import library_finding
from downbeat.reproduce.schuchart2023.process_scaling import knomial_finding, stability
from downbeat.reproduce.schuchart2023.reduce_matrix import MATRIX, draw_reduce_matrix
from downbeat.reproduce.site import Site
from downbeat.reproduce.wording import between
from launch_files import Cell, write_launch
from reproduce_site import site


def latencies(values: dict[tuple[str, str, int, int], float]) -> pd.DataFrame:
    """Returns cells by line, synchronizer, ranks and launch."""
    rows = [
        {"line": line, "synchronizer": sync, "ranks": ranks, "launch": launch, "latency_avg_median": value}
        for (line, sync, ranks, launch), value in values.items()
    ]
    return pd.DataFrame(rows)


def test_delta_is_paired_within_launches_and_claims_want_all_launches() -> None:
    harmonize = {("a", "harmonize", 2, launch): 1e-6 * launch for launch in (1, 2, 3)}
    barrier = {("a", "mpi_barrier", 2, launch): 1e-6 * launch * factor for launch, factor in ((1, 2), (2, 3), (3, 4))}
    frame = deltas(latencies(harmonize | barrier), "ranks")
    assert frame["delta"].tolist() == pytest.approx([2.0, 3.0, 4.0])
    slower, faster, alike, missing = claim_findings(
        frame, [Claim("a", 1, ""), Claim("a", -1, ""), Claim("a", 0, ""), Claim("b", 1, "")], ranks=4
    )
    assert (slower.agrees, faster.agrees, alike.agrees, missing.agrees) == (True, False, False, None)
    assert "delta 3.00 (launches 2.00 to 4.00" in slower.here
    # On two ranks Open MPI's algorithms are the same message, so that nothing can be said of one of them.
    assert claim_findings(frame, [Claim("a", 1, "")], ranks=2)[0].agrees is None
    frame.loc[0, "delta"] = 0.9
    assert claim_findings(frame, [Claim("a", 1, "")], ranks=4)[0].agrees is None


def test_a_claim_that_there_is_no_effect_is_not_borne_out_by_effects_that_cancel() -> None:
    rows = [("a", size, launch, delta) for size, delta in ((4, 2.0), (8, 0.5)) for launch in (1, 2)]
    frame = pd.DataFrame(rows, columns=["line", "size", "launch", "delta"])
    assert claim_findings(frame, [Claim("a", 0, "")], ranks=4)[0].agrees is False
    near = frame.assign(delta=[1.1, 1.1, 0.95, 0.95])
    assert claim_findings(near, [Claim("a", 0, "")], ranks=4)[0].agrees is True
    both = pd.concat([frame, near.assign(line="b")])
    assert most_affected_finding(both, "a", 4).agrees is True
    assert most_affected_finding(both, "b", 4).agrees is False
    assert most_affected_finding(both, "a", 2).agrees is None


def test_what_launches_say() -> None:
    assert (all_above([2, 3], 1.0), all_above([0.5, 3], 1.0), all_above([0.5], 1.0), all_above([], 1.0)) == (
        True,
        None,
        False,
        None,
    )
    assert (all_below([2, 3], 1.0), all_below([0.5], 1.0)) == (False, True)
    assert all_above([np.nan, 2], 1.0) is None
    assert (unanimous([True]), unanimous([False, False]), unanimous([True, False]), unanimous([])) == (
        True,
        False,
        None,
        None,
    )
    assert (every([True, None]), every([None, False]), every([True]), every([])) == (None, False, True, None)
    assert (some([True, None]), some([None, False]), some([False]), some([])) == (True, None, False, None)
    assert ratios([2, 4], [1, 2]) == (1.0, 4.0)
    assert above(*ratios([], [1]), 1.0) is None
    assert grows({2: [1, 2], 4: [3, 4], 8: [5]}) is True
    assert grows({2: [1, 2], 4: [3, 4], 8: [1]}) is False
    assert grows({2: [1, 3], 4: [2, 4]}) is None
    assert grows({2: [1]}) is None


def test_growth_is_told_from_four_counts_on() -> None:
    counts = (2, 4, 8, 16)
    logarithmic = {count: [np.log2(count), 1.1 * np.log2(count)] for count in counts}
    linear = {count: [float(count), 1.1 * count] for count in counts}
    assert (grows_as("log", logarithmic), grows_as("linear", logarithmic)) == (True, False)
    assert (grows_as("log", linear), grows_as("linear", linear)) == (False, True)
    assert grows_as("log", {count: logarithmic[count] for count in counts[:3]}) is None
    assert grows_as("log", {count: [10.0 - np.log2(count)] for count in counts}) is False
    assert steps_below({2: [1.0, 2.0], 8: [3.0]}, 1.5) is True
    assert steps_below({2: [1.0, 2.0], 4: [9.0]}, 5.0) is False
    assert steps_below({2: [1.0]}, 5.0) is None


def matrix_results(values: Callable[[int, str, str], float], ranks: int) -> Results:
    """Returns three launches of Fig. 2 on so many cores, from latencies in us by launch, algorithm and barrier."""
    rows = [
        {
            "label": "matrix",
            "launch": launch,
            "algorithm": algorithm,
            "synchronizer": "mpi_barrier",
            "barrier_algorithm": barrier,
            "latency_avg_median": 1e-6 * values(launch, algorithm, barrier),
        }
        for launch in (1, 2, 3)
        for algorithm in MATRIX.index
        for barrier in MATRIX.columns
    ]
    results = Results("f", site((ranks,), ranks), (Run("matrix", "openmpi", ranks, ("reduce",), {}),), {})
    results.__dict__["cells"] = pd.DataFrame(rows)  # what the cached property would read from files
    return results


def test_the_papers_own_matrix_bears_out_its_claims() -> None:
    drawn = draw_reduce_matrix(matrix_results(lambda _, row, column: float(MATRIX[column][row]), 4))
    assert [one.agrees for one in drawn.findings] == [True] * 6


def test_a_matrix_of_noise_bears_out_nothing() -> None:
    random = np.random.default_rng(1)
    for _ in range(20):
        noise = {key: random.lognormal(0, 0.1) for key in itertools.product((1, 2, 3), MATRIX.index, MATRIX.columns)}
        drawn = draw_reduce_matrix(matrix_results(lambda *key, noise=noise: noise[key], 2))
        assert True not in [one.agrees for one in drawn.findings[4:]]
        assert sum(one.agrees is True for one in drawn.findings[:4]) <= 2


def test_offsets_of_a_node_are_the_same_to_a_microsecond(monkeypatch: pytest.MonkeyPatch) -> None:
    def agreed(mean: float, deviation: float) -> list[bool | None]:
        offset = 1e-6 * (mean + deviation * np.array([[-1.0, 1.0]]) / np.sqrt(2))
        data = xr.Dataset(
            {
                "offset": (("pair", "time"), offset),
                "offset_bound": (("pair", "time"), np.full((1, 2), 4e-7)),
                "answerer": ("pair", [1]),
            }
        )
        monkeypatch.setattr(Results, "datasets", lambda _self, _label: [data])
        run = Run("n2", "openmpi", 2, ("drift",), {})
        launch = Launch("openmpi", 2, "default", 1, Path(), {})
        return [one.agrees for one in draw_offset_table(Results("f", site(), (run,), {"n2": (launch,)})).findings]

    assert agreed(0.4, 1.5) == [True, True, None]
    assert agreed(0.4, 2.5) == [False, True, None]
    assert agreed(-17258.0, 1.5) == [True, False, None]


def test_the_order_of_libraries_tips_where_all_launches_say_so() -> None:
    def cells(behind: list[float], common: list[float]) -> pd.DataFrame:
        mpich, default = "MPICH (for MVAPICH2)", "Open MPI default"
        return latencies(
            {(default, "mpi_barrier", 2, launch): value for launch, value in enumerate(behind)}
            | {(default, "harmonize", 2, launch): value for launch, value in enumerate(common)}
            | {(mpich, sync, 2, launch): 1.0 for sync in ("mpi_barrier", "harmonize") for launch in (0, 1)}
        )

    assert library_finding(cells([1.2, 1.1], [0.9, 0.8]), "ranks").agrees is True
    assert library_finding(cells([1.2, 1.1], [0.9, 1.1]), "ranks").agrees is None
    assert library_finding(cells([0.9, 0.8], [0.9, 0.8]), "ranks").agrees is False
    assert library_finding(cells([], [0.9, 0.8]), "ranks").agrees is None


def test_knomial_is_judged_from_four_counts_on() -> None:
    counts = (2, 4, 8, 16)
    wild = dict(zip(counts, (1, 5, 1, 5), strict=True))
    lines = {
        (line, sync, ranks, 1): 1e-6 * (wild[ranks] if (line, sync) == ("Open MPI knomial", "mpi_barrier") else ranks)
        for line in ("Open MPI knomial", "Open MPI binomial")
        for sync in ("mpi_barrier", "harmonize")
        for ranks in counts
    }
    assert knomial_finding(latencies(lines))[0].agrees is True
    other = {"mpi_barrier": "harmonize", "harmonize": "mpi_barrier"}
    swapped = {(line, other[sync], ranks, launch): value for (line, sync, ranks, launch), value in lines.items()}
    assert knomial_finding(latencies(swapped))[0].agrees is False
    assert knomial_finding(latencies({key: value for key, value in lines.items() if key[2] < 8}))[0].agrees is None


def test_over_launches_tells_the_middle_and_the_ends() -> None:
    frame = pd.DataFrame({"x": [1, 1, 1, 2], "v": [1e-6, 5e-6, 2e-6, 7e-6]})
    table = over_launches(frame, ("x",), "v")
    assert table["median"].tolist() == pytest.approx([2.0, 7.0])
    assert table["low"].tolist() == pytest.approx([1.0, 7.0])
    assert table["high"].tolist() == pytest.approx([5.0, 7.0])
    assert table["launches"].tolist() == [3, 1]


def test_oscillation_is_seen_from_four_counts_on() -> None:
    counts = (2, 4, 8, 16)
    smooth = {("a", "harmonize", ranks, 1): 1e-6 * ranks for ranks in counts}
    rough = {
        ("a", "mpi_barrier", ranks, 1): 1e-6 * ranks * factor
        for ranks, factor in zip(counts, (1, 5, 1, 5), strict=True)
    }
    assert stability(latencies(smooth | rough))[0].agrees is True
    few = {key: value for key, value in (smooth | rough).items() if key[2] < 8}
    assert stability(latencies(few))[0].agrees is None


def overlaps(values: dict[tuple[str, int, float], list[float]]) -> pd.DataFrame:
    """Returns cells with overlap benefits in per cent by operation, size and delay in us, a value per launch."""
    rows = [
        {
            "operation": operation,
            "size": size,
            "delay": delay,
            "ranks": 2,
            "launch": launch,
            "overlap_benefit_min": value / 100,
        }
        for (operation, size, delay), launches in values.items()
        for launch, value in enumerate(launches, 1)
    ]
    return pd.DataFrame(rows, columns=["operation", "size", "delay", "ranks", "launch", "overlap_benefit_min"])


def test_benefits_are_told_where_launches_agree_beyond_the_clocks_error() -> None:
    blocking, nonblocking = ("bcast", 8, 50.0), ("ibcast", 8, 50.0)
    assert near_zero(overlaps({blocking: [3, 4], nonblocking: [-2, 1]}), "").agrees is True
    assert near_zero(overlaps({blocking: [3, 4], nonblocking: [9, 8]}), "").agrees is False
    assert near_zero(overlaps({blocking: [3, 4], nonblocking: [3, 8]}), "").agrees is None
    assert nonblocking_better(overlaps({blocking: [3, 8], nonblocking: [9, 13]}), "").agrees is True
    assert nonblocking_better(overlaps({blocking: [9, 13], nonblocking: [3, 8]}), "").agrees is False
    assert nonblocking_better(overlaps({blocking: [3, 8], nonblocking: [9, 8]}), "").agrees is None
    assert mostly_above(pd.DataFrame([[0.2, 0.3], [5, 6], [-0.2, -0.3]])) is None
    assert mostly_above(pd.DataFrame([[5, 6], [2, 3], [-3, -4]])) is True
    assert mostly_above(pd.DataFrame([[5, 6], [-2, -3], [-3, -4]])) is False
    assert size_matters_not(overlaps({("bcast", 8, 50.0): [1, 2], ("bcast", 128, 50.0): [3, 2]}), "").agrees is True
    assert size_matters_not(overlaps({("bcast", 8, 50.0): [1, 2], ("bcast", 128, 50.0): [8, 9]}), "").agrees is False
    delays = {("barrier", 0, 10.0): [9.0, 8.0], ("barrier", 0, 20.0): [5.0, 6.0], ("barrier", 0, 50.0): [1.0, 2.0]}
    assert order_of_delays(overlaps(delays), "").agrees is True
    assert order_of_delays(overlaps(delays | {("barrier", 0, 50.0): [1.0, 7.0]}), "").agrees is None


def test_benefits_of_ranks_that_share_cores_tell_nothing() -> None:
    nothing = overlaps({})
    for claim in (mostly_positive, near_zero, size_matters_not, nonblocking_better, order_of_delays):
        assert claim(nothing, "").agrees is None


def drifting(path: Path, slope: float, launches: int = 3) -> Results:
    """Returns launches of 800 samples whose run-time begins at 10 us and rises by `slope` us per sample."""
    path.mkdir(exist_ok=True)
    files = []
    for launch in range(1, launches + 1):
        entry = np.repeat(np.arange(800.0)[:, None], 2, axis=1)
        length = 1e-6 * (10 + slope * np.arange(800.0))
        length[::50] += 1e-3  # interruptions, which must not count
        file = write_launch(path / f"{launch}.nc", [Cell(entry, entry + length[:, None])])
        files.append(Launch("openmpi", 2, "default", launch, file, {}))
    run = Run("a", "openmpi", 2, ("bcast",), {})
    return Results("f", site(), (run,), {"a": tuple(files)})


def test_bins_are_medians_and_a_rise_is_seen(tmp_path: Path) -> None:
    rising = drifting(tmp_path, 0.01)
    middle, low, high = binned(rising, "a", "global_time", 100)
    assert middle == pytest.approx(10 + 0.01 * (100 * np.arange(8) + 49.5), abs=0.03)  # two interruptions a bin
    assert low == pytest.approx(high)
    assert rise_finding(rising, "a", "global_time", 100, "", "", rises=True).agrees is True
    assert rise_finding(rising, "a", "global_time", 100, "", "", rises=False).agrees is False


def test_no_rise_is_seen_where_there_is_none(tmp_path: Path) -> None:
    flat = drifting(tmp_path, 0.0)
    assert rise_finding(flat, "a", "global_time", 100, "", "", rises=True).agrees is False
    assert rise_finding(flat, "a", "global_time", 100, "", "", rises=False).agrees is True
    assert rise_finding(flat, "a", "global_time", 300, "", "", rises=False).agrees is None


def test_a_curve_that_stays_in_some_launches_alone_is_undecided(tmp_path: Path) -> None:
    flat, rising = drifting(tmp_path / "flat", 0.0, 1), drifting(tmp_path / "rising", 0.01, 1)
    both = Results("f", site(), flat.runs, {"a": flat.launches["a"] + rising.launches["a"]})
    assert rise_finding(both, "a", "global_time", 100, "", "", rises=False).agrees is None
    assert rise_finding(both, "a", "global_time", 100, "", "", rises=True).agrees is None


def test_ranks_that_share_cores_tell_nothing(tmp_path: Path) -> None:
    results = drifting(tmp_path, 0.0, launches=1)
    assert results.told_on(2, agrees=True) is True
    assert results.told_on(4, agrees=True) is None


@pytest.mark.parametrize(
    ("counts", "quick", "said"), [((2,), False, "Seen"), ((4,), False, "Cannot"), ((2,), True, "Cannot")]
)
def test_claims_are_left_open_where_all_ranks_share_cores_or_repetitions_are_few(
    counts: tuple[int, ...], quick: bool, said: str, tmp_path: Path
) -> None:
    launches = drifting(tmp_path, 0.0, launches=3).launches
    run = Run("a", "openmpi", counts[0], ("bcast",), {})
    results = Results("f", Site(2, {"openmpi": "bench"}, counts, quick=quick), (run,), launches)
    drawn = Drawn((), (Finding("it rises", "", "", True),))
    figure = dataclasses.replace(FIGURES["hunold2015-fig7"], runs=lambda _: (run,), draw=lambda _: drawn)
    section = figure_section(figure, results)
    assert section.paragraphs[0].startswith(f"Verdict. {said}")
    assert f"\n{said}" in section.definitions[0][1]


def test_words() -> None:
    assert (above(1.1, 1.2, 1.0), above(0.9, 1.2, 1.0), above(0.8, 0.9, 1.0)) == (True, None, False)
    assert (below(1.1, 1.2, 1.0), below(0.9, 1.2, 1.0), below(0.8, 0.9, 1.0)) == (False, None, True)
    assert between([3.0, np.nan, 1.0], " us") == "1 to 3 us"
    assert between([]) == "none"
    assert short_scheme("jk(fit=100,over=0,offset=mean_rtt(exchanges=30))") == "jk (100, 30)"
    assert short_scheme("hca") == "hca, over 1 s"
    assert short_scheme("skampi") == "skampi"


def test_the_verdict_sorts_claims_and_leaves_numbers_out() -> None:
    findings = [
        Finding("a", "", "", True),
        Finding("b", "", "", None),
        Finding("c", "", "", True),
        Finding("d", "", "", None, is_claim=False),
    ]
    assert verdict(findings) == "Seen here: a; c. Cannot be told here: b."
    sections = [Section("one", definitions=tuple(map(definition, findings)))]
    assert tally(sections) == (
        "Of 3 claims of the papers 2 are seen here and 0 are not seen here; 1 cannot be told here.",
    )
    sections.append(Section("Hunold 2015, Fig. 1: two", definitions=(definition(Finding("e", "", "", False)),)))
    assert tally(sections) == (
        "Of 4 claims of the papers 2 are seen here and 1 is not seen here; 1 cannot be told here.",
        "Not seen here, in the whole or in part: Hunold 2015, Fig. 1.",
    )
    assert tally([Section("none", definitions=(definition(findings[3]),))]) == ()


def test_a_run_that_lacks_launches_is_said_on_the_page(tmp_path: Path) -> None:
    results = drifting(tmp_path, 0.0, launches=2)
    assert results.lacking() == {"a": 1}
    assert "1 of 3 launches failed" in lack(results.runs[0], 1, results)
    assert drifting(tmp_path / "all", 0.0, launches=3).lacking() == {}
