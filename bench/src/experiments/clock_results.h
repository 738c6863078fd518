// Results of `downbeat-bench clock`. A run is a synchronization with a scheme and the checks of the clocks after it. A
// check (ClockEvent) happens after each "wait", a requested time since the synchronization, and measures the offsets of
// the global clocks to rank 0.
#pragma once

#include "output/context.h"
#include "output/dataset.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// A queue of events by the time at which they are due. An event is a number that the caller chooses. Times are s on
/// any clock.
class DueEvents {
public:
    void add(double due, std::size_t event) { queue_.emplace(due, event); }
    bool empty() const { return queue_.empty(); }
    /// The time at which the next event is due. The queue must not be empty.
    double next_due() const { return queue_.top().first; }

    /// Removes and returns the next event. The queue must not be empty.
    std::size_t take_first() {
        const std::size_t event = queue_.top().second;
        queue_.pop();
        return event;
    }

private:
    using Item = std::pair<double, std::size_t>;
    std::priority_queue<Item, std::vector<Item>, std::greater<>> queue_;
};

/// The options of `downbeat-bench clock`.
struct ClockOptions {
    std::vector<std::string> schemes;
    std::vector<double> waits; // s after a synchronization
    long rounds = 10;         // measurements of an offset; the smallest absolute offset counts (Hunold 2015, section 7)
    long repetitions = 10;    // synchronizations per scheme
    std::vector<int> checked; // ranks whose offset to rank 0 is measured; never rank 0
    std::string estimator;    // offset estimator
};

/// A check of the clocks after a wait. Times are s; NaN if unknown, e.g. the offset of a rank that is not checked.
struct ClockEvent {
    double achieved_wait;               // from the end of the synchronization to the begin of the check
    std::vector<double> measured_at;    // [rank] from the end of the synchronization to the end of its measurement
    std::vector<double> offset;         // [rank] measured offset of its global clock to rank 0's
    std::vector<double> offset_bound;   // [rank] bound of the error of `offset`
    std::vector<double> error_bound;    // [rank] error bound of its global clock, reported by the library
    std::vector<double> expected_error; // [rank] standard deviation of the error, reported by the library
    std::vector<double> true_error;     // [rank] true error of its global clock; known only with the validation clock
};

/// A synchronization and the checks after it.
struct ClockRun {
    long position;                  // of the scheme in the random order of the repetition
    double duration;                // of the synchronization, s, largest over ranks
    double messages;                // number of messages sent or received by a rank, largest over ranks
    std::vector<ClockEvent> events; // [wait]
};

/// An edge: the comparison of a rank's clock with a partner's clock in a synchronization.
struct ClockEdge {
    int rank;
    int partner;
    double residual; // lead of the partner's clock in this comparison minus its lead by the consensus of all edges, s
};

/// The edges of a scheme's last synchronization; empty if the scheme does not use partners.
struct ClockEdges {
    std::vector<ClockEdge> edges;
    double scatter = 0.0; // standard deviation of residuals, s, median over ranks
};

/// Everything that the subcommand has measured.
struct ClockResults {
    ClockOptions options;
    bool truth;                              // true errors are known, i.e. with the validation clock
    int clock_domains;                       // number of groups of ranks that share a local clock
    std::vector<double> barrier;             // [repetition] mean duration of MPI_Barrier, s
    std::vector<ClockRun> first;             // [scheme] first synchronization of its clock, before the repetitions
    std::vector<std::vector<ClockRun>> runs; // [scheme][repetition]
    std::vector<ClockEdges> edges;           // [scheme]
};

/// A scheme at a wait, summarized over repetitions. Times are s; NaN if unknown.
struct WaitSummary {
    double offset;    // largest absolute measured offset over ranks, median over repetitions
    double bias;      // signed true error, median over repetitions and ranks other than 0
    double error;     // largest absolute true error over ranks, median over repetitions
    double bound;     // largest reported error bound over ranks and repetitions
    double outside;   // share of repetitions and ranks other than 0 whose true error exceeds its bound
    double wait_last; // largest achieved wait
};

/// Medians over the repetitions of a scheme.
struct SchemeSummary {
    std::string scheme;
    double duration; // of a synchronization, s, median over repetitions
    double messages; // median over repetitions
    std::vector<WaitSummary> waits;
    double first_duration;                // of the first synchronization, which also opens connections, s
    std::vector<WaitSummary> first_waits; // after the first synchronization
    bool on_front;                        // on the Pareto front of duration and error at the deciding wait
};

/// What tables and files show of the measurements.
struct ClockSummary {
    std::vector<SchemeSummary> schemes;
    std::size_t deciding; // index of the deciding wait, the wait nearest to 5 s (Hunold 2015, figure 10)
    double barrier;       // mean duration of MPI_Barrier, s
};

/// Summarizes the measurements.
ClockSummary summarize_clocks(const ClockResults &results);

/// Duration and error of a scheme, s; smaller is better.
struct Cost {
    double duration;
    double error;
};
/// True for the points on the Pareto front. A point is on the front unless another point is at least as good in both
/// coordinates and better in one. A point with NaN is never on the front.
std::vector<bool> pareto_front(const std::vector<Cost> &points);

/// Draws `count` ranks of the upper half, in ascending order, because errors grow with the distance from rank 0
/// (Schuchart 2023, section 6.5). `count` is from 1 to upper_half(ranks).
std::vector<int> draw_sample(int ranks, int count, std::uint64_t seed);
/// The number of ranks in the upper half, without rank 0.
int upper_half(int ranks);

/// Warning before the measurement, and in the results.
constexpr const char *shared_clock_warning =
    "all ranks share one clock, as the library verified: offsets are 0 by construction and say nothing about the "
    "schemes; set DOWNBEAT_SHARE=never, or give every rank a clock with a known error, e.g. "
    "DOWNBEAT_VALIDATION=offset=1,skew=1e-5,wander=1e-6";

/// The lines above the tables: validation clock, checked ranks, and the edge with the largest residual.
std::string clock_head(const Context &context, const ClockResults &results);
/// The results for files.
Dataset clock_dataset(const Context &context, const ClockResults &results, const ClockSummary &summary);
/// The warnings that the measurements call for, a line each.
std::vector<std::string> find_clock_warnings(const ClockResults &results, const ClockSummary &summary);

} // namespace bench
