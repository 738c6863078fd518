// Cells and their results. A cell is a combination of operation, size, algorithm, synchronizer, timing scheme and
// arrival pattern that a run measures. Rank 0 judges each sample of a cell (valid or why not), collects the valid
// samples in a CellRecord, and summarizes them in a CellResult. Samples come in blocks: a cell is measured in several
// blocks at different times of the run.
#pragma once

#include "rules/metric.h"
#include "rules/statistics.h"
#include "rules/stopping_rule.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// The judgment of a sample. It depends on the starts only. The duration of the operation matters only for `overrun`,
/// i.e. if the synchronizer defines an end of the sample.
enum class Verdict {
    valid,      // counts
    late_flag,  // too many ranks started late, and the synchronizer reported at least one of them by a flag of 0
    late_entry, // too many ranks entered the operation late, although all flags are 1
    warmup,     // discarded without a judgment
    overrun,    // enough ranks started in time, but a rank left the operation after the sample's end
};

/// The name of a verdict in files.
std::string to_string(Verdict verdict);
/// The names of all verdicts, in the order of the enumeration.
const std::vector<std::string> &verdict_names();

/// Value of option --late with which only the flags decide that a start failed.
constexpr const char *late_flags = "flags";

/// Limits for starts. A rank's planned start is the deadline (the common start) plus the rank's delay. A rank's start
/// fails if it is late, or if its flag is 0; the flag is the synchronizer's own report, 1 for a start in time.
struct StartLimits {
    double late = 0.0; // a rank is late if it enters the operation more than this after its planned start, s
    // True: every flag of 0 fails. False: a flag of 0 fails only if the rank is unsure, i.e. does not know its clock
    // well enough to know whether it was late.
    bool flags_count = true;
    double late_ranks = 0.0; // share of the ranks whose starts may fail in a valid sample

    /// The number of ranks, of `ranks`, whose starts may fail in a valid sample.
    std::size_t max_failed(std::size_t ranks) const;
};

/// Judges a sample. If the sample has no deadline, only the flags count.
Verdict judge(const Sample &sample, const StartLimits &limits);

/// Name of the algorithm that the MPI library chooses by default.
constexpr const char *default_algorithm = "default";

/// A combination to measure. Components (operation, synchronizer, ...) are represented by their texts.
struct Cell {
    std::string operation;
    std::uint64_t size = 0;                            // bytes; 0 if the operation has no size
    std::string datatype;                              // MPI datatype and operator, e.g. "MPI_DOUBLE MPI_SUM"
    std::string synchronizer;                          // brings the ranks to the start of a sample
    std::string timing = "per_call";                   // timing scheme: which calls a sample encloses
    std::string pattern = "none";                      // arrival pattern
    double delay = 0.0;                                // planned largest delay of the arrival pattern, s
    std::string algorithm = default_algorithm;         // MPI library's algorithm for the operation
    std::string barrier_algorithm = default_algorithm; // MPI library's algorithm for the synchronizer's MPI_Barrier
    std::string size_meaning{};                        // the object that has the size: "of the message"
    double computation = 0.0;                          // planned computation during a call of the operation, s
    std::string pure_operation{};                      // text of the operation without computation
};

/// The operation, with its algorithm unless that is the default: "reduce", "reduce[binary]".
std::string describe_operation(const Cell &cell);

/// The synchronizer, with its barrier's algorithm unless that is the default: "harmonize", "mpi_barrier[linear]".
std::string describe_synchronizer(const Cell &cell);

/// The synchronizer, with the timing scheme unless it times single calls: "harmonize, batch(calls=100)".
std::string describe_start(const Cell &cell);

/// The cell in messages: "bcast of 8 bytes after harmonize, one_late by 50 us".
std::string describe_cell(const Cell &cell);

/// True if the cells agree in all but the arrival pattern and its delay.
bool same_but_for_arrival(const Cell &a, const Cell &b);

/// True if the cells agree in all but the computation during the operation.
bool same_but_for_computation(const Cell &a, const Cell &b);

/// How the measurement of a cell ended.
enum class CellStatus {
    ok,         // the stopping rule is satisfied
    incomplete, // the stopping rule is not satisfied, but there are valid samples
    failed,     // no valid sample
    wrong,      // a call returned a wrong result
};
/// The name of a status in files.
std::string to_string(CellStatus status);
/// The names of all statuses, in the order of the enumeration.
const std::vector<std::string> &cell_status_names();

/// The overlap of a planned delay with the operation, from a comparison with the cell without delay (Niethammer 2016,
/// section IV). t: time from the first entry to the last exit; t0: the same without delay; delta: the largest delay
/// that the ranks achieved. NaN if the cell has no delay or nothing to compare with.
struct Overlap {
    double benefit; // (t0 + delta - t) / t, Eq. 5
    double share;   // (t0 + delta - t) / min(t0, delta): 1 if the shorter of the two is hidden completely
};

/// The overlap of a nonblocking operation with computation, from a comparison with the cell without computation. t:
/// time of a call; t_pure: the same without computation; c: time in computation. NaN if the cell has no computation.
struct ComputationOverlap {
    double osu;    // max(0, 1 - (t - c) / t_pure), of means over samples and ranks; OSU micro-benchmarks, osu_i*
    double imb;    // (t_pure + c - t) / min(t_pure, c) of the same means, clamped to 0 to 1; IMB-NBC
    double window; // (t_pure + c - t) / min(t_pure, c) of median makespans, not clamped
};

/// The result of a cell. "Round trip" is the time that NeighborRoundTrip reads before and after each block.
struct CellResult {
    std::size_t index; // of the cell, in the order of the command line
    Cell cell;
    CellStatus status;
    long requested;               // valid samples that a complete cell needs
    long valid;                   // valid samples
    long late_flag;               // samples with this verdict
    long late_entry;              // samples with this verdict
    long overrun;                 // samples with this verdict
    long discarded;               // warm-up samples
    long unsettled;               // blocks whose warm-up reached its maximum before calls were stationary
    long blocks;                  // measured blocks
    double round_trip_low = NAN;  // smallest round trip around the cell's blocks, s; NaN without one
    double round_trip_high = NAN; // largest round trip around the cell's blocks, s; NaN without one
    double slope;           // relative rise of latency_avg within a block, median over blocks; NaN: blocks too short
    double slope_by_chance; // slope that steady blocks exceed in one of 1000 cells; NaN: too few blocks
    long calls;             // calls of the operation per sample
    bool has_deadline;      // the synchronizer has a common start time
    double error_bound;     // error bound of the global clock, s, largest over ranks and blocks
    double expected_error;  // standard deviation of the global clock's error, s, largest over ranks and blocks
    double lateness;        // largest lateness over ranks and valid samples, s; NaN without a deadline
    double slack;           // median over valid samples, s; NaN if the synchronizer has none
    double wall_time;       // time spent on the cell, s, including warm-up and rejected samples
    double mean_of_means;   // time in the operation, s: mean over ranks of the mean over valid samples
    double max_of_means;    // largest over ranks of the mean over valid samples, s
    double min_of_means;    // smallest over ranks of the mean over valid samples, s
    std::vector<Summary> metrics; // of the valid samples, in the order of all_metrics()
    Overlap overlap_median;       // from medians
    Overlap overlap_min;          // from minima, like the paper
    double computed;              // computation per call, s, mean over valid samples and ranks; NaN without samples
    double uncomputed;            // median of the makespan minus the longest computation of a rank, s
    ComputationOverlap computation_overlap;
    std::string advice; // the synchronizer's advice if samples were rejected
    long validated;     // calls whose results were checked
    long wrong;         // checked calls with a wrong result
    std::string error;  // the first wrong result: "rank 1: element 3 is 5 instead of 6"

    long rejected() const { return late_flag + late_entry + overrun; }
    /// Rejected samples per valid or rejected sample; warm-up does not count.
    double rejected_share() const { return static_cast<double>(rejected()) / static_cast<double>(valid + rejected()); }
    /// The statistics of a metric, which must exist.
    const Summary &metric(const std::string &name) const;
};

/// Sets the overlap of delay and operation of `result`, from a comparison with the cell without delay.
void compare_with_undelayed(CellResult &result, const CellResult &undelayed);

/// Sets the overlap of computation and operation of `result`, from a comparison with the cell without computation.
void compare_with_pure(CellResult &result, const CellResult &pure);

/// Describes the deficiency of a cell that is not ok: "3 of 10 samples valid", or its wrong results.
std::string describe_shortfall(const CellResult &result);

/// Collects the samples of a cell. Rank 0 only.
class CellRecord {
public:
    CellRecord(std::size_t index, Cell cell);

    /// Adds the valid samples of a batch and counts the others. `verdicts` has an entry per sample.
    void add(const Batch &batch, const std::vector<Verdict> &verdicts);

    /// Adds `calls` checked calls and the number `wrong` of wrong results. `error` describes the first wrong result.
    void add_validation(long calls, long wrong, const std::string &error);
    void add_time(double seconds) { result_.wall_time += seconds; }
    /// `settled`: calls were stationary at the end of the warm-up, or the warm-up rule does not check that.
    void end_warmup(bool settled) { result_.unsettled += settled ? 0 : 1; }
    /// Adds the round trips before and after a block, s; NaN if not measured.
    void add_round_trips(double before, double after) {
        for (const double reading : {before, after}) { // fmin and fmax ignore NaN
            result_.round_trip_low = std::fmin(result_.round_trip_low, reading);
            result_.round_trip_high = std::fmax(result_.round_trip_high, reading);
        }
    }
    /// `starved`: the block had used up its attempts before it had its valid samples.
    void end_block(bool starved);

    /// The number of samples so far: valid, rejected and warm-up.
    long recorded() const { return result_.valid + result_.rejected() + result_.discarded; }
    /// The samples so far, as stopping rules need them.
    CellProgress progress() const;

    /// The result of the samples so far.
    CellResult result(const StoppingRule &rule) const;

private:
    CellResult result_{};
    std::vector<long> blocks_ = {0};          // valid samples of each block; the last block is not finished
    bool starved_ = false;                    // end_block() of the last finished block
    std::vector<std::vector<double>> values_; // s, [metric][valid sample]
    std::vector<double> steps_;               // grid of each metric's values, s, see median_interval
    std::vector<double> slack_;               // s, per valid sample, if the synchronizer has a slack
    std::vector<double> uncomputed_;          // makespan minus the longest computation, s, per valid sample
    std::vector<double> time_; // time in the operation per call, s, summed over valid samples, per timed rank
};

/// The samples of a batch, with the cell and block that they belong to.
struct BatchReport {
    std::size_t cell;   // index of the cell
    std::size_t block;  // index of the block in this launch
    long first_attempt; // index of the batch's first sample in its cell, from 0, including warm-up
    const Batch &batch;
    const std::vector<Verdict> &verdicts; // per sample
    double round_trip;                    // round trip before the block, s; NaN if not measured
};

/// Receives the results of a launch while it runs. Called on rank 0 only.
class LaunchListener {
public:
    virtual ~LaunchListener() = default;

    /// Called after each batch.
    virtual void samples(const BatchReport &) {}

    /// Called when a cell is complete.
    virtual void cell(const CellResult &) {}
};

using LaunchListeners = std::vector<LaunchListener *>;

} // namespace bench
