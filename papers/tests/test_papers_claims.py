"""What figures of the papers claim: borne out by data that have it, and by no others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from downbeat.experiment.experiment import Launch
from downbeat.report.page import Section
from downbeat_papers.evidence import Evidence, Undecidable, mean_of
from downbeat_papers.figure import Drawn, Finding
from downbeat_papers.hunold2015.over_time import binned, rise_finding
from downbeat_papers.judgement import Judged, judge
from downbeat_papers.page import definition, figure_section, lack, tally, verdict
from downbeat_papers.registry import FIGURES
from downbeat_papers.results import Results, median_and_range
from downbeat_papers.run import Run
from downbeat_papers.schuchart2023.comparison import LATENCY, MEDIAN
from downbeat_papers.schuchart2023.delta import Claim, claim_findings, deltas, most_affected_finding
from downbeat_papers.schuchart2023.library_order import library_finding
from downbeat_papers.schuchart2023.process_scaling import knomial_finding, stability
from downbeat_papers.schuchart2023.reduce_matrix import MATRIX, draw_reduce_matrix
from downbeat_papers.site import Site
from downbeat_papers.wording import between
from launch_files import Cell, write_launch
from papers_site import site


def latencies(values: dict[tuple[str, str, int, int], float]) -> pd.DataFrame:
    """Returns cells by line, synchronizer, ranks and launch."""
    rows = [
        {"line": line, "synchronizer": sync, "ranks": ranks, "launch": launch, LATENCY: value}
        for (line, sync, ranks, launch), value in values.items()
    ]
    return pd.DataFrame(rows)


def agreed(findings: Sequence[Finding]) -> list[bool | None]:
    """Returns what becomes of claims that are judged together."""
    return [one.agrees for one in judge(findings)]


SCATTER = (1.0, 1.03, 0.96, 1.01, 0.99)  # of five launches


def delta_frame(values: dict[str, dict[int, float]]) -> pd.DataFrame:
    """Returns ratios of five launches that scatter around a value, by line and size."""
    rows = [
        (line, size, launch, value * factor)
        for line, sizes in values.items()
        for size, value in sizes.items()
        for launch, factor in enumerate(np.roll(SCATTER, size + ord(line)))
    ]
    return pd.DataFrame(rows, columns=["line", "size", "launch", "delta"])


def test_delta_is_paired_within_launches() -> None:
    harmonize = {("a", "harmonize", 2, launch): 1e-6 * launch for launch in (1, 2, 3)}
    barrier = {("a", "mpi_barrier", 2, launch): 1e-6 * launch * factor for launch, factor in ((1, 2), (2, 3), (3, 4))}
    frame = deltas(latencies(harmonize | barrier).assign(size=4))
    assert frame["delta"].tolist() == pytest.approx([2.0, 3.0, 4.0])


def test_claims_on_delta_want_half_of_the_papers_effect() -> None:
    frame = delta_frame({"a": {4: 3.0, 8: 3.0}, "b": {4: 1.0, 8: 9.5}, "c": {4: 1.02, 8: 0.97}})
    claims = [
        (Claim("a", 1, ""), True),
        (Claim("a", -1, ""), False),
        (Claim("a", 1, "", factor=2), True),
        (Claim("a", 1, "", factor=10), False),  # 3.2 times would count
        (Claim("b", 1, "", factor=10), False),  # in the mean 3.08 times
        (Claim("b", 1, "", factor=10, somewhere=True), True),
        (Claim("a", 1, "", factor=100, somewhere=True), False),
        (Claim("a", 0, ""), False),
        (Claim("c", 0, ""), True),
        (Claim("c", 1, ""), None),
        (Claim("d", 1, ""), None),
    ]
    for claim, agrees in claims:
        assert agreed(claim_findings(frame, [claim], ranks=4)) == [agrees], claim
    # On two ranks Open MPI's algorithms are the same message, so that nothing can be said of one of them.
    assert agreed(claim_findings(frame, [Claim("a", 1, "")], ranks=2)) == [None]


def test_a_claim_that_there_is_no_effect_is_not_borne_out_by_effects_that_cancel() -> None:
    frame = delta_frame({"a": {4: 2.0, 8: 0.5}, "b": {4: 1.03, 8: 0.98}})
    assert agreed(claim_findings(frame, [Claim("a", 0, "")], ranks=4)) == [False]
    assert agreed(claim_findings(frame, [Claim("b", 0, "")], ranks=4)) == [True]
    assert agreed([most_affected_finding(frame, "a", 4)]) == [True]
    assert agreed([most_affected_finding(frame, "b", 4)]) == [False]
    assert agreed([most_affected_finding(frame, "a", 2)]) == [None]


def matrix_results(values: Callable[[int, str, str], float], ranks: int) -> Results:
    """Returns five launches of Fig. 2 on so many cores, from latencies in us by launch, algorithm and barrier."""
    rows = [
        {
            "label": "matrix",
            "launch": launch,
            "algorithm": algorithm,
            "synchronizer": "mpi_barrier",
            "barrier_algorithm": barrier,
            LATENCY: 1e-6 * values(launch, algorithm, barrier),
            MEDIAN: 1e-6 * values(launch, algorithm, barrier),
        }
        for launch in range(5)
        for algorithm in MATRIX.index
        for barrier in MATRIX.columns
    ]
    results = Results("f", site((ranks,), ranks), (Run("matrix", "openmpi", ranks, ("reduce",), {}),), {})
    results.__dict__["cells"] = pd.DataFrame(rows)  # what the cached property would read from files
    return results


def test_the_papers_own_matrix_bears_out_its_claims() -> None:
    random = np.random.default_rng(1)

    def value(launch: int, row: str, column: str) -> float:
        return float(MATRIX[column][row]) * random.lognormal(0, 0.05)

    assert agreed(draw_reduce_matrix(matrix_results(value, 4)).findings) == [True] * 6
    assert agreed(draw_reduce_matrix(matrix_results(value, 2)).findings) == [True] * 4 + [None] * 2


def test_the_order_of_libraries_tips_where_launches_show_it() -> None:
    def cells(behind: list[float], common: list[float]) -> pd.DataFrame:
        mpich, default = "MPICH (for MVAPICH2)", "Open MPI default"
        return latencies(
            {(default, "mpi_barrier", 2, launch): value for launch, value in enumerate(behind)}
            | {(default, "harmonize", 2, launch): value for launch, value in enumerate(common)}
            | {(mpich, sync, 2, launch): 1.0 for sync in ("mpi_barrier", "harmonize") for launch in range(5)}
        )

    slow, fast = [1.2, 1.25, 1.15, 1.22, 1.19], [0.8, 0.82, 0.78, 0.85, 0.8]
    assert agreed([library_finding(cells(slow, fast), "ranks")]) == [True]
    assert agreed([library_finding(cells(slow, [0.9, 1.1, 0.95, 1.0, 1.02]), "ranks")]) == [None]
    assert agreed([library_finding(cells(fast, fast), "ranks")]) == [False]
    assert agreed([library_finding(cells([], fast), "ranks")]) == [None]


def test_knomial_is_judged_from_four_counts_on() -> None:
    counts = (2, 4, 8, 16)
    wild = dict(zip(counts, (1, 5, 1, 5), strict=True))
    lines = {
        (line, sync, ranks, launch): 1e-6
        * (1 + 0.01 * (launch + ranks) % 3)
        * (wild[ranks] if (line, sync) == ("Open MPI knomial", "mpi_barrier") else ranks)
        for line in ("Open MPI knomial", "Open MPI binomial")
        for sync in ("mpi_barrier", "harmonize")
        for ranks in counts
        for launch in range(5)
    }
    assert agreed(knomial_finding(latencies(lines))) == [True]
    other = {"mpi_barrier": "harmonize", "harmonize": "mpi_barrier"}
    swapped = {(line, other[sync], ranks, launch): value for (line, sync, ranks, launch), value in lines.items()}
    assert agreed(knomial_finding(latencies(swapped))) == [False]
    assert agreed(knomial_finding(latencies({key: value for key, value in lines.items() if key[2] < 8}))) == [None]


def test_over_launches_tells_the_middle_and_the_ends() -> None:
    frame = pd.DataFrame({"x": [1, 1, 1, 2], "v": [1e-6, 5e-6, 2e-6, 7e-6]})
    table = median_and_range(frame, ("x",), "v")
    assert table["median"].tolist() == pytest.approx([2.0, 7.0])
    assert table["low"].tolist() == pytest.approx([1.0, 7.0])
    assert table["high"].tolist() == pytest.approx([5.0, 7.0])
    assert table["launches"].tolist() == [3, 1]


def test_oscillation_is_seen_from_four_counts_on() -> None:
    counts = (2, 4, 8, 16)
    factors = dict(zip(counts, (1, 5, 1, 5), strict=True))
    cells = {
        ("a", sync, ranks, launch): 1e-6 * ranks * SCATTER[(launch + ranks) % 5] * (factors[ranks] if rough else 1)
        for sync, rough in (("harmonize", False), ("mpi_barrier", True))
        for ranks in counts
        for launch in range(5)
    }
    assert agreed(stability(latencies(cells))) == [True]
    assert agreed(stability(latencies({key: value for key, value in cells.items() if key[2] < 8}))) == [None]


def test_launches_that_agree_on_no_oscillation_show_none() -> None:
    random = np.random.default_rng(2)
    seen = 0
    for _ in range(100):
        cells = {
            ("a", sync, ranks, launch): random.lognormal(0, 0.3 if sync == "mpi_barrier" else 0.05)
            for sync in ("harmonize", "mpi_barrier")
            for ranks in (2, 4, 8, 16)
            for launch in range(5)
        }
        seen += agreed(stability(latencies(cells))) == [True]
    assert seen <= 12  # 99.9 % quantile at 5 %; by absolute second differences the noisier line always looked rougher


def drifting(path: Path, slope: float, launches: int = 3) -> Results:
    """Returns launches of 800 samples whose run-time begins at 10 us and rises by some `slope` us per sample."""
    path.mkdir(exist_ok=True)
    files = []
    for launch in range(1, launches + 1):
        entry = np.repeat(np.arange(800.0)[:, None], 2, axis=1)
        length = 1e-6 * (10 + (slope + 1e-5 * launch) * np.arange(800.0))
        length[::50] += 1e-3  # interruptions, which must not count
        file = write_launch(path / f"{launch}.nc", [Cell(entry, entry + length[:, None])])
        files.append(Launch("openmpi", 2, "default", launch, file, {}))
    run = Run("a", "openmpi", 2, ("bcast",), {})
    return Results("f", site(), (run,), {"a": tuple(files)})


def test_bins_are_medians_and_a_rise_is_seen(tmp_path: Path) -> None:
    rising = drifting(tmp_path, 0.01)
    middle, low, high = binned(rising, "a", "global_time", 100)
    assert middle == pytest.approx(10 + 0.01 * (100 * np.arange(8) + 49.5), abs=0.05)  # two interruptions a bin
    assert low == pytest.approx(high, abs=0.5)
    assert agreed([rise_finding(rising, "a", "global_time", 100, "", "", rises=True)]) == [True]
    assert agreed([rise_finding(rising, "a", "global_time", 100, "", "", rises=False)]) == [False]


def test_no_rise_is_seen_where_there_is_none(tmp_path: Path) -> None:
    flat = drifting(tmp_path, 0.0)
    assert agreed([rise_finding(flat, "a", "global_time", 100, "", "", rises=True)]) == [False]
    assert agreed([rise_finding(flat, "a", "global_time", 100, "", "", rises=False)]) == [True]
    assert agreed([rise_finding(flat, "a", "global_time", 300, "", "", rises=False)]) == [None]


def test_a_curve_that_stays_in_some_launches_alone_is_undecided(tmp_path: Path) -> None:
    flat, rising = drifting(tmp_path / "flat", 0.0, 2), drifting(tmp_path / "rising", 0.01, 2)
    both = Results("f", site(), flat.runs, {"a": flat.launches["a"] + rising.launches["a"]})
    assert agreed([rise_finding(both, "a", "global_time", 100, "", "", rises=False)]) == [None]
    assert agreed([rise_finding(both, "a", "global_time", 100, "", "", rises=True)]) == [None]


def test_ranks_that_share_cores_tell_nothing(tmp_path: Path) -> None:
    results = drifting(tmp_path, 0.0, launches=1)
    shown = mean_of([1.0, 1.1]).above(0.0)
    assert results.decided_on(2, shown) is shown
    assert results.decided_on(4, shown) == Undecidable("4 ranks share 2 cores, so that times contain the wait for one")


@pytest.mark.parametrize(
    ("counts", "quick", "said"), [((2,), False, "Seen"), ((4,), False, "Cannot"), ((2,), True, "Cannot")]
)
def test_claims_are_left_open_where_all_ranks_share_cores_or_repetitions_are_few(
    counts: tuple[int, ...], quick: bool, said: str, tmp_path: Path
) -> None:
    launches = drifting(tmp_path, 0.0, launches=3).launches
    run = Run("a", "openmpi", counts[0], ("bcast",), {})
    results = Results("f", Site(2, {"openmpi": "bench"}, counts, quick=quick), (run,), launches)
    drawn = Drawn((), (Finding("it rises", "", "", Evidence(0.001, 0.999, 3, "")),))
    figure = dataclasses.replace(FIGURES["hunold2015-fig7"], runs=lambda _: (run,), draw=lambda _: drawn)
    section = figure_section(figure, results)
    assert section.paragraphs[0].startswith(f"Verdict. {said}")
    assert f"\n{said}" in section.definitions[0][1]


def test_the_page_says_whether_clocks_agreed_when_launches_ended(tmp_path: Path) -> None:
    entry = np.repeat(np.arange(4.0)[:, None], 2, axis=1)
    checks: dict[str, str | float] = {"clock_check_offset_s": "2e-7", "clock_check_ranks_outside": 0}
    file = write_launch(tmp_path / "1.nc", [Cell(entry, entry + 1e-6)], **checks)
    run = Run("a", "openmpi", 2, ("bcast",), {})
    results = Results("f", site(), (run,), {"a": (Launch("openmpi", 2, "default", 1, file, {}),)})
    figure = dataclasses.replace(FIGURES["hunold2015-fig7"], runs=lambda _: (run,), draw=lambda _: Drawn((), ()))
    said = "Clocks when launches ended: 0.2 us off rank 0's at most; outside the bounds in 0 of 1 launch."
    assert said in figure_section(figure, results).paragraphs


def test_words() -> None:
    assert between([3.0, np.nan, 1.0], " us") == "1 to 3 us"
    assert between([]) == "none"


OPEN = Undecidable("not measured here")


def test_the_verdict_sorts_claims_and_leaves_numbers_out() -> None:
    judged = [
        Judged(Finding("a", "", "", OPEN), True, "p = 0.01, 5 launches"),
        Judged(Finding("b", "", "", OPEN), None),
        Judged(Finding("c", "", "", OPEN), True),
        Judged(Finding("d", "", "", None), None),
    ]
    assert verdict(judged) == "Seen here: a; c. Cannot be decided here: b."
    assert definition(judged[0]) == ("a", "Paper: \nHere: \nSeen here: p = 0.01, 5 launches.")
    assert definition(judged[3]) == ("d", "Paper: \nHere: ")
    sections = [Section("one", definitions=tuple(map(definition, judged)))]
    assert tally(sections) == (
        "Of 3 claims of the papers 2 are seen here and 0 are not seen here; 1 cannot be decided here.",
    )
    denied = Judged(Finding("e", "", "", OPEN), False)
    sections.append(Section("Hunold 2015, Fig. 1: two", definitions=(definition(denied),)))
    assert tally(sections) == (
        "Of 4 claims of the papers 2 are seen here and 1 is not seen here; 1 cannot be decided here.",
        "Not seen here, in the whole or in part: Hunold 2015, Fig. 1.",
    )
    assert tally([Section("none", definitions=(definition(judged[3]),))]) == ()


def test_a_run_that_lacks_launches_is_said_on_the_page(tmp_path: Path) -> None:
    results = drifting(tmp_path, 0.0, launches=2)
    assert results.lacking() == {"a": 3}
    assert "3 of 5 launches failed" in lack(results.runs[0], 3, results)
    assert drifting(tmp_path / "all", 0.0, launches=5).lacking() == {}
