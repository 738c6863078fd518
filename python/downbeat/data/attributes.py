"""Declares the global attributes of files of downbeat-bench: settings, properties, and numbers that a run measured.

The context of a launch is the set of these attributes. Comparisons of A and B show the attributes that differ.
"""
# ruff: noqa: E501

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Origin(StrEnum):
    """Where the value of an attribute comes from."""

    SETTING = "setting"  # an option or a variable
    PROPERTY = "property"  # a property of the machine or of a program
    MEASURED = "measured"  # measured or drawn by the run: differs in each run, so comparisons of A and B ignore it


@dataclass(frozen=True)
class Attribute:
    """A global attribute of a file.

    Attributes:
        unit: SI unit; "" without a unit.
        meaning: one line.
        label: name of the attribute in a comparison of A and B: "stopping rule: fixed / budget".
        plural: plural of the label, for messages if launches of an experiment have different values; "": they may.
        factors: factors of a plan that change the value.
        origin: origin of the value.
        absent: text that stands for the value if a file lacks the attribute.
    """

    unit: str
    meaning: str
    label: str
    plural: str = ""
    factors: tuple[str, ...] = ()
    origin: Origin = Origin.SETTING
    absent: str = "not recorded"


# Columns: name and the fields of `Attribute`; tools/bench-lists copies the rows from downbeat-bench.
# fmt: off
ROWS = (
    # tools/bench-lists: attribute
    ("downbeat_version", "", "version of downbeat-bench", "downbeat-bench", "versions of downbeat-bench", "variant", "property", "not recorded"),
    ("git_revision", "", "revision of its source", "its revision", "revisions of downbeat-bench", "variant", "property", "not recorded"),
    ("compiler", "", "compiler that built it", "its compiler", "compilers of downbeat-bench", "variant", "property", "not recorded"),
    ("date", "", "start of the measurement, UTC, ISO 8601", "date", "", "", "measured", "not recorded"),
    ("command_line", "", "command line of downbeat-bench", "command line", "", "", "measured", "not recorded"),
    ("mpi_library", "", "text of MPI_Get_library_version", "MPI library", "", "library,variant", "property", "not recorded"),
    ("mpi_standard", "", "MPI standard that the library follows", "MPI standard", "", "library,variant", "property", "not recorded"),
    ("error_bound_s", "s", "error bound of the global clock before the measurement, largest over ranks", "error bound", "", "", "measured", "not recorded"),
    ("expected_error_s", "s", "the same for one standard deviation of the expected error", "expected error", "", "", "measured", "not recorded"),
    ("clock_resolution", "s", "step in which stamps advance, largest over ranks; 0 in a simulation", "clock resolution", "", "", "measured", "not recorded"),
    ("seed", "", "seed of the order of blocks, random patterns and permutations; text in netCDF", "seed", "", "", "measured", "not recorded"),
    ("simulated", "", "simulated platform; not on a machine", "simulated platform", "", "", "property", "none"),
    ("user_operations", "", "operations of shared objects, and their files, one per line", "files of operations", "", "variant", "setting", "none"),
    ("stopping_rule", "", "rule that ends the measurement of a cell", "stopping rule", "stopping rules", "", "setting", "not recorded"),
    ("warmup_rule", "", "rule for the calls to discard before each block", "warm-up rule", "warm-up rules", "", "setting", "not recorded"),
    ("tolerance_s", "s", "a rank that starts later than this is late", "tolerance", "tolerances", "", "setting", "not recorded"),
    ("stamp_cost", "s", "time between two stamps without a call, largest over ranks; 0 in a simulation", "stamp cost", "", "", "measured", "not recorded"),
    ("algorithms", "", "evidence of each algorithm that was chosen, one per line", "algorithms", "", "", "measured", "not recorded"),
    ("late_by", "", "flags: the flag of a rank decides whether it is late; else its entry does", "what says that a start is late", "rules of lateness", "", "setting", "none"),
    ("late_s", "s", "limit of lateness in place of the tolerance", "lateness that counts", "limits of lateness", "", "setting", "none"),
    ("late_ranks", "", "share of the ranks of a sample that may start late", "share of ranks that may be late", "shares of ranks that may be late", "", "setting", "none"),
    ("clock_check", "", "whether the clocks still agreed at the end", "clock check", "", "", "measured", "not recorded"),
    ("clock_check_offset_s", "s", "offset to rank 0 of the rank farthest off", "clock check offset", "", "", "measured", "not recorded"),
    ("clock_check_allowed_s", "s", "offset of that rank that bounds allow", "clock check allowed", "", "", "measured", "not recorded"),
    ("clock_check_ranks_outside", "", "ranks that are farther off than bounds allow", "clock check ranks outside", "", "", "measured", "not recorded"),
    ("clock_check_contradictions", "", "times that a clock did what the settings exclude", "clock check contradictions", "", "", "measured", "not recorded"),
    ("title", "", "contents of the file", "title", "", "", "measured", "not recorded"),
    ("schema", "", "downbeat-bench", "schema", "", "", "measured", "not recorded"),
    ("schema_version", "", "version of names and meanings in the file", "schema version", "", "", "measured", "not recorded"),
    ("clock_clock", "", "libdownbeat's setting clock; its others likewise, clock_<setting>", "local clock", "local clocks", "", "setting", "not recorded"),
    ("clock_sync", "", "libdownbeat's setting sync", "clock synchronization", "schemes of clock synchronization", "", "setting", "not recorded"),
    ("environment", "", "settings of rank 0 for MPI, networks and libdownbeat, one per line", "environment", "", "library,environment,variant", "setting", "not recorded"),
    ("hosts", "", "hosts with ranks, processors, load, governor, CPU model, whether a virtual machine; one per line", "hosts", "", "ranks", "property", "not recorded"),
    ("warnings", "", "warnings of a run that is complete, one per line", "warnings", "", "", "measured", "not recorded"),
    ("max_attempts", "", "attempts per valid sample after which a block is given up", "attempts per sample", "numbers of attempts per sample", "", "setting", "not recorded"),
    ("observed_rank", "", "rank that metric latency_observed reports", "observed rank", "observed ranks", "", "setting", "not recorded"),
    ("patterns_permuted", "", "1 if arrival patterns are permuted over the ranks", "permuted patterns", "ways of permuting patterns", "", "setting", "not recorded"),
    ("experiment", "", "subcommand that wrote the file", "experiment", "", "", "property", "not recorded"),
    ("rounds", "", "round trips of an estimate of an offset", "rounds", "", "", "setting", "not recorded"),
    ("repetitions", "", "synchronizations of each scheme, or valid samples after each synchronizer", "repetitions", "", "", "setting", "not recorded"),
    ("estimator", "", "estimator of offsets", "estimator", "", "", "setting", "not recorded"),
    ("clock_domains", "", "groups of ranks that share a clock", "clock domains", "", "", "property", "not recorded"),
    ("barrier_mean_s", "s", "mean duration of MPI_Barrier", "barrier mean", "", "", "measured", "not recorded"),
    ("front_wait_s", "s", "wait to the check that decides which schemes are on the Pareto front", "front wait", "", "", "measured", "not recorded"),
    ("duration_s", "s", "duration of the measurement", "duration", "", "", "setting", "not recorded"),
    ("interval_s", "s", "time from one measurement of a pair to the next", "interval", "", "", "setting", "not recorded"),
    ("count", "", "round trips of a pair", "count", "", "", "setting", "not recorded"),
    ("resamples", "", "runs of the stop rule for each N", "resamples", "", "", "setting", "not recorded"),
    ("size", "byte", "message size", "size", "", "", "setting", "not recorded"),
    ("root", "", "root of rooted operations", "root", "", "", "setting", "not recorded"),
    ("warmup", "", "calls to discard before each block of samples", "warm-up", "", "", "setting", "not recorded"),
    ("exchanges", "", "exchanges of a pair in a round; fewer than requested to fit into within_s", "exchanges", "", "", "setting", "not recorded"),
    ("passes", "", "passes of the tournament of pairs", "passes", "", "", "setting", "not recorded"),
    ("starts", "", "common starts of the run", "starts", "", "", "measured", "not recorded"),
    ("late_starts", "", "common starts that a rank left late", "late starts", "", "", "measured", "not recorded"),
    ("taking_part", "", "ranks that are paired: the first of each node, or all", "taking part", "", "", "property", "not recorded"),
    ("suspects_found", "", "nodes and links that are slower than their peers in the tournament", "suspects found", "", "", "measured", "not recorded"),
    ("within_s", "s", "limit of the time of the run", "within", "", "", "setting", "not recorded"),
    # tools/bench-lists: end
)
# fmt: on
ATTRIBUTES = {
    name: Attribute(unit, meaning, label, plural, tuple(factors.split(",")), Origin(origin), absent)
    for name, unit, meaning, label, plural, factors, origin, absent in ROWS
}
