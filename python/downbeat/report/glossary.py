"""The terms of reports and their definitions, printed at the end of each report."""

from __future__ import annotations

from downbeat.data.metrics import METRICS

GLOSSARY = (
    ("launch", "one start of downbeat-bench under one mpirun; it measures all cells"),
    ("cell", "one operation, size, algorithm, synchronizer, timing scheme and arrival pattern"),
    ("sample", "one measurement of a cell: every rank's entry and exit"),
    ("synchronizer", "what brings ranks together before each sample: a barrier, a window, or MPIX_Harmonize"),
    (
        "common start",
        "of MPIX_Harmonize: all ranks leave it at one instant of a global clock, the deadline (Schuchart 2023)",
    ),
    ("latency", METRICS["latency_avg"].meaning),
    ("global time", METRICS["global_time"].meaning),
    ("makespan", METRICS["makespan"].meaning),
    ("exit skew", METRICS["exit_skew"].meaning),
    (
        "barrier / common start",
        "latency after a barrier / latency from a common start, of the same launch; delta of Schuchart 2023, 6.1",
    ),
    ("arrival pattern", "planned entries of the ranks, relative to the common start"),
    ("error bound", "of the global clock: no rank's clock is farther off than this"),
    ("rejected sample", "one whose synchronization failed: a rank started later than the tolerance after its time"),
    (
        "interval",
        "95 % confidence interval over launches, by Student's t, of logarithms where a value cannot be negative: "
        "samples of one launch resemble each other and do not count as independent; launches are taken as independent",
    ),
    (
        "slower, faster",
        "significantly so over launches: t test, corrected for the number of cells, with a rank test as guard; "
        "launches of another kind may be unseen",
    ),
    ("reads higher, reads lower", "the same of one operation after two synchronizers, where only these differ"),
    (
        "equivalent",
        "the interval of the ratio is within +-2 % of 1, of this cell alone; launches of another kind may be unseen",
    ),
    (
        "undecided",
        "none of these; more launches would decide. The interval of a cell alone may exclude 1 where the test, "
        "corrected for the number of cells (Holm 1979), does not confirm a difference",
    ),
)
