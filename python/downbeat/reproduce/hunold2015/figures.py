"""What the paper measured and reports, figure by figure, and what is run and drawn for it here."""

from __future__ import annotations

from collections.abc import Callable

from downbeat.reproduce.figure import Figure
from downbeat.reproduce.hunold2015.clock_offset import draw_offsets, draw_waits, offset_runs, wait_runs
from downbeat.reproduce.hunold2015.clock_pareto import draw_pareto, pareto_runs
from downbeat.reproduce.hunold2015.drift import DRIFT_SECONDS, draw_drift, drift_runs
from downbeat.reproduce.hunold2015.exit_pattern import draw_exits, exit_runs
from downbeat.reproduce.hunold2015.library_comparison import draw_libraries, library_runs
from downbeat.reproduce.hunold2015.local_and_global import allreduce_runs, draw_allreduce
from downbeat.reproduce.hunold2015.scheme_windows import SCAN_CURVES, SCHEME_CURVES, draw_schemes, scheme_runs
from downbeat.reproduce.hunold2015.skampi_windows import draw_skampi, skampi_runs
from downbeat.reproduce.own_clocks import TWO_CLOCKS
from downbeat.reproduce.site import Site

TUWIEN = "TUWien, 36 nodes with two Opteron 6134 and InfiniBand QDR"


def few_ranks(text: str) -> Callable[[Site], str]:
    def shows(site: Site) -> str:
        return f"{site.node} ranks, {text}"

    return shows


FIGURES: tuple[Figure, ...] = (
    Figure(
        name="hunold2015-fig1",
        title="Run-time of MPI_Bcast over time, as SKaMPI reports it",
        setup=f"{TUWIEN}; 16 nodes, one process each, MVAPICH 2.1a; SKaMPI, MPI_Bcast of 8192 bytes, 150,000 "
        "measurements in "
        "windows, fixed (1 ms) and adaptive, in bins of 10,000.",
        reports=(
            "Both curves rise all the time, because SKaMPI corrects the clocks' offset but not their drift.",
            "With fixed windows, which took 150.43 s against 54.12 s, the clocks have more time to drift.",
        ),
        needs="16 nodes with clocks that drift, minutes",
        shows=few_ranks(f"15,000 measurements in windows of 200 us; {TWO_CLOCKS}: the rise, faster than real"),
        runs=skampi_runs,
        draw=draw_skampi,
    ),
    Figure(
        name="hunold2015-fig3",
        title="Run-time of MPI_Allreduce by local and by global times",
        setup="VSC-3 (two Xeon E5-2650v2 per node, InfiniBand QDR-80), 16 nodes, one process each, MVAPICH 2.0a-qlc; "
        "MPI_Allreduce "
        "of 32 KiB, 4000 runs, in windows (clocks by HCA) and behind MPI_Barrier.",
        reports=(
            "By local times the call takes about 70 us behind MPI_Barrier and about 100 us in windows (left).",
            "By global times, first start to last end, both are much closer (right); the rest of the gap is the "
            "barrier's exit "
            "skew (Fig. 4).",
        ),
        needs="16 nodes; a barrier with tens of us of exit skew, as that of MVAPICH 2.0a",
        shows=few_ranks("whose barrier has little skew, so that little gap is to be expected"),
        runs=allreduce_runs,
        draw=draw_allreduce,
    ),
    Figure(
        name="hunold2015-fig4",
        title="Exit times of ranks from MPI_Barrier",
        setup="VSC-3, 16 nodes, one process each, Intel MPI 5 (left) and MVAPICH 2.0a-qlc (right); mean of 1000 "
        "barriers, 95 % "
        "intervals, clocks by HCA.",
        reports=(
            "With MVAPICH 2.0a processes 0 and 15 leave more than 40 us apart in the mean; with Intel MPI they do not.",
        ),
        needs="16 nodes, Intel MPI and MVAPICH",
        shows=few_ranks("a point per rank; MPICH stands for MVAPICH, which is made of it"),
        runs=exit_runs,
        draw=draw_exits,
    ),
    Figure(
        name="hunold2015-fig5",
        title="Two libraries compared behind an external barrier and behind their own",
        setup="VSC-3, 16 nodes, one process each; MPI_Bcast under Intel MPI 5 and MVAPICH 2.0a-qlc, 1000 "
        "measurements in each of 10 "
        "launches; medians of launches, normalized by MVAPICH's median over launches.",
        reports=(
            "Behind the benchmark's own dissemination barrier no library is clearly faster from 64 to 2048 bytes; "
            "behind each "
            "library's MPI_Barrier the difference is significant, and misleading.",
        ),
        needs="16 nodes, Intel MPI and MVAPICH, 10 launches",
        shows=few_ranks("MPICH for MVAPICH: how much the barrier changes the comparison on shared memory"),
        runs=library_runs,
        draw=draw_libraries,
    ),
    Figure(
        name="hunold2015-fig6",
        title="Clock drift between a reference host and six others",
        setup=f"{TUWIEN}; offsets of six hosts to a reference host over 50 s.",
        reports=(
            "The largest drift between two hosts is about 700 us after 50 s, -400 us of one and +300 us of another.",
            "So windows that do not account for drift are wrong by microseconds after seconds.",
        ),
        needs="7 nodes, a minute",
        shows=lambda site: (
            f"{site.most} ranks for {DRIFT_SECONDS:g} s, {TWO_CLOCKS}: that drift is measured rightly, not what real "
            "clocks do"
        ),
        runs=drift_runs,
        draw=draw_drift,
    ),
    Figure(
        name="hunold2015-fig7",
        title="Run-time of MPI_Bcast over time, in windows and behind the barrier",
        setup=f"{TUWIEN}; 512 processes on 32 nodes, MVAPICH 2.0rc1; 4000 calls of MPI_Bcast of 8192 bytes in fixed "
        "windows with "
        "clocks by Netgauge and SKaMPI, and behind MPI_Barrier; 10 launches, bins of 100, means and 95 % intervals.",
        reports=(
            "Behind MPI_Barrier the run-time stays, in windows of either scheme it rises: neither corrects drift.",
        ),
        needs="32 nodes with 16 ranks each, clocks that drift",
        shows=few_ranks(f"{TWO_CLOCKS}: the rise"),
        runs=scheme_runs(SCHEME_CURVES, "bcast"),
        draw=draw_schemes("hunold2015-fig7", SCHEME_CURVES, "bcast"),
    ),
    Figure(
        name="hunold2015-fig8",
        title="Clock offset directly after synchronization",
        setup=f"{TUWIEN}, MVAPICH 2.1a; one (a) and 16 (b) processes per node, 30 launches; after SKaMPI, Netgauge, "
        "JK and HCA the "
        "offset of every process to the root, the smallest of 10, the largest over processes.",
        reports=(
            "SKaMPI and Netgauge: at most 0.2 us on up to 8 nodes; Netgauge's grows with the number of processes and "
            "is the "
            "largest of all from 256 on.",
            "HCA: about SKaMPI's up to 32 processes, 0.25 us there, then growing slowly. JK: a little more on 2 to 16.",
        ),
        needs="32 nodes, with 16 ranks each for (b)",
        shows=lambda site: (
            f"part (a), as every rank gets a clock of its own: {', '.join(map(str, site.counts))} of 32 processes over "
            "shared memory, measured and true"
        ),
        runs=offset_runs,
        draw=draw_offsets,
    ),
    Figure(
        name="hunold2015-fig9",
        title="Clock offset over 20 s after synchronization",
        setup=f"{TUWIEN}, MVAPICH 2.1a, 512 processes on 32 nodes; largest offset to the root 0, 2, 4, ..., 20 s "
        "after each "
        "synchronization, over 10 launches.",
        reports=(
            "JK and HCA, which account for drift, are far superior to Netgauge and SKaMPI, which do not; JK is best.",
        ),
        needs="32 nodes with 16 ranks each",
        shows=few_ranks(f"up to 10 s; {TWO_CLOCKS}"),
        runs=wait_runs,
        draw=draw_waits,
    ),
    Figure(
        name="hunold2015-fig10",
        title="Clock offset after 5 s against the duration of synchronization",
        setup=f"{TUWIEN}, MVAPICH 2.1a, 512 processes on 32 nodes, 10 launches; SKaMPI, Netgauge, and JK and HCA with "
        "several numbers "
        "of fit points and exchanges; the mean duration of MPI_Barrier as a baseline.",
        reports=(
            "Netgauge and SKaMPI take less than a second and are off by about 80 us after 5 s.",
            "HCA gets below the barrier's duration in about 5 s of synchronization; JK is more exact and needs at "
            "least 30 s, with "
            "(100, 30).",
        ),
        needs="32 nodes with 16 ranks each",
        shows=few_ranks(f"{TWO_CLOCKS}; fits back to back, as published, span less time here than over a network"),
        runs=pareto_runs,
        draw=draw_pareto,
    ),
    Figure(
        name="hunold2015-fig11",
        title="Run-time of MPI_Scan over time under all schemes",
        setup="Cartesius (two Xeon E5-2450v2 per node, InfiniBand FDR), 16 nodes, one process each, Intel MPI 4.1; "
        "4000 runs of MPI_Scan "
        "of 8192 bytes, means of bins of 100, medians of 3 launches.",
        reports=(
            "In windows by Netgauge, JK and HCA the run-time is smaller at first than behind MPI_Barrier.",
            "With SKaMPI and Netgauge it drifts away quickly, with HCA it is stable.",
        ),
        needs="16 nodes with clocks that drift",
        shows=few_ranks(f"{TWO_CLOCKS}: who drifts"),
        runs=scheme_runs(SCAN_CURVES, "scan"),
        draw=draw_schemes("hunold2015-fig11", SCAN_CURVES, "scan"),
    ),
)
