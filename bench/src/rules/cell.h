#pragma once

#include "rules/metric.h"
#include "rules/statistics.h"
#include "rules/stopping_rule.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// Why a sample counts or not. Only the synchronization decides; the duration of the operation matters only if the
/// synchronizer was asked to check it.
enum class Verdict {
    valid,
    late_flag,  // starts failed, on more ranks than may, and the synchronizer itself reported one of them
    late_entry, // ranks entered the operation too long after their starts, though their flags were 1
    warmup,     // not judged: not meant to count
    overrun,    // all started in time, but some rank left the operation after the sample's end
};

/// The name that files use.
std::string to_string(Verdict verdict);
/// The names of all, in order.
const std::vector<std::string> &verdict_names();

/// In place of a limit of time: flags alone decide.
constexpr const char *late_flags = "flags";

/// Which starts fail, and how many may. A rank's start is the deadline and its delay.
struct StartLimits {
    double late = 0.0; // seconds after its start from which a rank is late; infinite: its flag alone decides
    bool flags_count =
        true; // a flag of 0 fails, however late the rank; else only that of a rank that does not know its clock
    double late_ranks = 0.0; // share of the ranks whose starts may fail

    /// The number of ranks that it comes to.
    std::size_t late_of(std::size_t ranks) const;
};

/// A sample without a deadline is judged by its flags alone.
Verdict judge(const Sample &sample, const StartLimits &limits);

/// The name for the MPI library's own choice of an algorithm.
constexpr const char *default_algorithm = "default";

/// One combination of everything that varies within a launch, to be measured. Components by their texts.
struct Cell {
    std::string operation;
    std::uint64_t size = 0; // bytes; 0 if the operation has no size
    std::string datatype;   // what the bytes are, and what is done with them, e.g. "MPI_DOUBLE MPI_SUM"
    std::string synchronizer;
    std::string timing = "per_call";
    std::string pattern = "none";
    double delay = 0.0;                                // seconds, the largest of the pattern, as asked for
    std::string algorithm = default_algorithm;         // of the MPI library, for the operation
    std::string barrier_algorithm = default_algorithm; // of the MPI library, for the MPI_Barrier of the synchronizer
    std::string size_meaning{};                        // what the bytes of the size are: "of the message"
    double computation = 0.0;                          // seconds that a call computes beside the operation, as planned
    std::string pure_operation{};                      // the same without computation
};

/// "reduce", or "reduce[binary]" where the algorithm is not the default.
std::string describe_operation(const Cell &cell);

/// "harmonize", or "mpi_barrier[linear]" where the algorithm is not the default.
std::string describe_synchronizer(const Cell &cell);

/// "harmonize, batch(calls=100)": the synchronizer, and the timing scheme unless it is a single call.
std::string describe_start(const Cell &cell);

/// "bcast of 8 bytes after harmonize, one_late by 50 us"
std::string describe_cell(const Cell &cell);

/// Whether the two differ only in the planned arrival of ranks, if at all.
bool same_but_for_arrival(const Cell &a, const Cell &b);

/// Whether the two differ only in the computation during the operation, if at all.
bool same_but_for_computation(const Cell &a, const Cell &b);

enum class CellStatus {
    ok,
    incomplete, // less than the stopping rule asks for
    failed,     // no valid sample at all
    wrong,      // a call left a wrong result
};
std::string to_string(CellStatus status);
/// The names of all, in order.
const std::vector<std::string> &cell_status_names();

/// The cost of a delay, compared with the cell without (Niethammer 2016, section IV). NaN if there is no delay or no
/// cell to compare with. Times are from the first entry to the last exit; t0: without delay, t: with it, delta: the
/// largest delay achieved.
struct Overlap {
    double benefit; // (t0 + delta - t) / t, Eq. 5
    double share;   // (t0 + delta - t) / min(t0, delta): 1 where the shorter of the two is hidden completely
};

/// Overlap of a nonblocking operation and computation, compared with the cell without computation. t_pure: time of a
/// call without, t: with, c: in computation. NaN if there is no computation.
struct ComputationOverlap {
    double osu;    // max(0, 1 - (t - c) / t_pure), of means over samples and ranks; OSU micro-benchmarks, osu_i*
    double imb;    // (t_pure + c - t) / min(t_pure, c) within 0 and 1, of the same; IMB-NBC
    double window; // the same fraction of medians of the time from the common start to the last exit, as it is
};

struct CellResult {
    std::size_t index;
    Cell cell;
    CellStatus status;
    long requested;
    long valid;
    long late_flag;               // rejected, see Verdict
    long late_entry;              // rejected, see Verdict
    long overrun;                 // rejected, see Verdict
    long discarded;               // warm-up
    long unsettled;               // blocks whose warm-up reached its maximum before calls were stationary
    long blocks;                  // measured
    double round_trip_low = NAN;  // seconds, smallest round trip between neighbors around blocks; NaN without one
    double round_trip_high = NAN; // largest
    double slope;                 // relative rise of latency_avg within blocks, median over them; NaN if they are short
    double slope_by_chance;       // that blocks without any show, in one of a thousand cells; NaN if there are too few
    long calls;                   // of the operation per sample
    bool has_deadline;            // whether the synchronizer has
    double error_bound;           // seconds, largest over ranks and blocks
    double expected_error;        // the same for one standard deviation
    double lateness;              // seconds, largest over ranks and valid samples; NaN without a deadline
    double slack;                 // seconds, median over valid samples; NaN if the synchronizer has none
    double wall_time;             // seconds spent on the cell, warm-up and rejected samples included
    double mean_of_means;         // seconds in the operation: mean over ranks of the mean over valid samples
    double max_of_means;          // largest over ranks of the same
    double min_of_means;          // smallest
    std::vector<Summary> metrics; // over valid samples, in the order of all_metrics()
    Overlap overlap_median;       // from medians
    Overlap overlap_min;          // from minima, as the paper does
    double computed;              // seconds of computation per call, mean over valid samples and ranks
    double uncomputed;            // seconds, median of makespan less the longest computation of a rank
    ComputationOverlap computation_overlap;
    std::string advice; // of the synchronizer, where samples are rejected
    long validated;     // calls whose results were checked
    long wrong;         // of these
    std::string error;  // of the first wrong one: "rank 1: element 3 is 5 instead of 6"

    long rejected() const { return late_flag + late_entry + overrun; }
    /// Of the attempts.
    double rejected_share() const { return static_cast<double>(rejected()) / static_cast<double>(valid + rejected()); }
    const Summary &metric(const std::string &name) const;
};

/// Fills in the cost of the delay of `result`, compared with `undelayed`.
void compare_with_undelayed(CellResult &result, const CellResult &undelayed);

/// Fills in the overlap of computation and operation, compared with `pure` without.
void compare_with_pure(CellResult &result, const CellResult &pure);

/// For a cell that is not ok: "3 of 10 samples valid", or what is wrong with its results.
std::string describe_shortfall(const CellResult &result);

/// Collects the batches of one cell.
class CellRecord {
public:
    CellRecord(std::size_t index, Cell cell);

    /// Adds the valid samples and counts the others. `verdicts` has one entry per sample of the batch.
    void add(const Batch &batch, const std::vector<Verdict> &verdicts);

    /// `error`: of the first wrong one.
    void add_validation(long calls, long wrong, const std::string &error);
    void add_time(double seconds) { result_.wall_time += seconds; }
    /// `settled`: calls had become stationary, if the rule checks that.
    void end_warmup(bool settled) { result_.unsettled += settled ? 0 : 1; }
    /// Round trips between neighbors before and after a block, seconds; NaN if it was not measured.
    void add_round_trips(double before, double after) {
        for (const double reading : {before, after}) { // fmin and fmax ignore NaN
            result_.round_trip_low = std::fmin(result_.round_trip_low, reading);
            result_.round_trip_high = std::fmax(result_.round_trip_high, reading);
        }
    }
    /// `starved`: it gave up before it had its samples.
    void end_block(bool starved);

    /// Attempts so far, valid or not, warm-up included.
    long recorded() const { return result_.valid + result_.rejected() + result_.discarded; }
    CellProgress progress() const;

    CellResult result(const StoppingRule &rule) const;

private:
    CellResult result_{};
    std::vector<long> blocks_ = {0}; // valid samples of each, the last one under way
    bool starved_ = false;
    std::vector<std::vector<double>> values_; // per metric
    std::vector<double> steps_;               // of these
    std::vector<double> slack_;
    std::vector<double> uncomputed_; // per valid sample
    std::vector<double> time_;       // per timed rank, sum over valid samples of the time in the operation per call
};

/// The samples of a batch and their place in the launch.
struct BatchReport {
    std::size_t cell;
    std::size_t block;  // position in the order of the launch
    long first_attempt; // of the batch, within its cell, from 0, warm-up included
    const Batch &batch;
    const std::vector<Verdict> &verdicts; // per sample
    double round_trip;                    // seconds, between neighbors before the block; NaN if not measured
};

/// Hears of a launch as it goes, at rank 0.
class LaunchListener {
public:
    virtual ~LaunchListener() = default;

    /// After each batch.
    virtual void samples(const BatchReport &) {}

    /// When a cell is complete.
    virtual void cell(const CellResult &) {}
};

using LaunchListeners = std::vector<LaunchListener *>;

} // namespace bench
