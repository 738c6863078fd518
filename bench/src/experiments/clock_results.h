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

/// Numbered events in the order in which they are due. Times are seconds on any one clock.
class DueEvents {
public:
    void add(double due, std::size_t event) { queue_.emplace(due, event); }
    bool empty() const { return queue_.empty(); }
    /// When the first is due; there is one.
    double next_due() const { return queue_.top().first; }

    /// Removes and returns the event that is due first; there is one.
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
    std::vector<double> waits; // seconds after a synchronization
    long rounds = 10;          // the smallest absolute offset of these counts (Hunold 2015, section 7)
    long repetitions = 10;
    std::vector<int> checked; // ranks whose offset to rank 0 is measured; never rank 0
    std::string estimator;    // of kind "offset"
};

/// One check of all ranks some time after a synchronization. Seconds; NaN if unknown, e.g. of ranks that are not
/// checked.
struct ClockEvent {
    double achieved_wait;               // from the end of the synchronization to the beginning of this event
    std::vector<double> measured_at;    // per rank: from the end of the synchronization to the end of its measurement
    std::vector<double> offset;         // per rank: measured, of the rank's global clock to rank 0's
    std::vector<double> offset_bound;   // per rank: of the error of offset
    std::vector<double> error_bound;    // per rank: that the library reports
    std::vector<double> expected_error; // per rank: the same, one standard deviation
    std::vector<double> true_error;     // per rank: known under the validation clock alone
};

/// One synchronization and the events after it.
struct ClockRun {
    long position;                  // of the scheme in the random order of the repetition
    double duration;                // seconds, largest over ranks
    double messages;                // sent or received, largest over ranks
    std::vector<ClockEvent> events; // per wait
};

/// A comparison of a rank's clock with a partner's, and its distance from the consensus of all comparisons.
struct ClockEdge {
    int rank;
    int partner;
    double residual; // seconds by which the partner seems to be ahead
};

/// The comparisons of a scheme's last synchronization; none without partners.
struct ClockEdges {
    std::vector<ClockEdge> edges;
    double scatter = 0.0; // seconds, standard deviation: median over ranks
};

struct ClockResults {
    ClockOptions options;
    bool truth;                  // whether true errors are known
    int clock_domains;           // groups of ranks that share a clock, as the library found
    std::vector<double> barrier; // per repetition: mean duration of MPI_Barrier, seconds
    std::vector<ClockRun> first; // [scheme]: the first synchronization of its clock, none of the repetitions
    std::vector<std::vector<ClockRun>> runs; // [scheme][repetition]
    std::vector<ClockEdges> edges;           // [scheme]
};

/// A scheme after a wait, over its repetitions. Seconds; NaN if nothing is known.
struct WaitSummary {
    double offset;    // largest absolute measured offset over ranks, median over repetitions
    double bias;      // signed true error, median over ranks but 0 and repetitions
    double error;     // largest absolute true error over ranks, median over repetitions
    double bound;     // largest reported bound over ranks and repetitions
    double outside;   // share of ranks but 0 and repetitions whose absolute true error exceeds the reported bound
    double wait_last; // largest achieved wait
};

struct SchemeSummary {
    std::string scheme;
    double duration; // seconds, median over repetitions
    double messages; // median over repetitions
    std::vector<WaitSummary> waits;
    double first_duration;                // seconds, of the first synchronization with its connections
    std::vector<WaitSummary> first_waits; // after it
    bool on_front;                        // no other scheme is better in both duration and error at the deciding wait
};

struct ClockSummary {
    std::vector<SchemeSummary> schemes;
    std::size_t deciding; // index of the wait nearest 5 s (Hunold 2015, figure 10)
    double barrier;       // seconds, mean
};

ClockSummary summarize_clocks(const ClockResults &results);

/// A point; smaller is better in both coordinates.
struct Cost {
    double duration;
    double error;
};
/// The Pareto front: points that no other point beats, i.e. is at least as good in both and better in one. A point with
/// a NaN is never on it.
std::vector<bool> pareto_front(const std::vector<Cost> &points);

/// `count` ranks of the upper half, ascending, drawn by the seed (Schuchart 2023, section 6.5: the middle and the high
/// end of the ranks, since errors grow with the distance from the root). 1 <= count <= upper_half(ranks).
std::vector<int> draw_sample(int ranks, int count, std::uint64_t seed);
/// The number of ranks from the middle upwards, without rank 0.
int upper_half(int ranks);

/// Said before the measurement and recorded after it.
constexpr const char *shared_clock =
    "all ranks share one clock, as the library verified: offsets are 0 by construction and say nothing about the "
    "schemes; set DOWNBEAT_SHARE=never, or give every rank a clock with a known error, e.g. "
    "DOWNBEAT_VALIDATION=offset=1,skew=1e-5,wander=1e-6";

/// The lines above the tables: the validation clock, the ranks that were checked, the paths between partners.
std::string clock_head(const Context &context, const ClockResults &results);
Dataset clock_dataset(const Context &context, const ClockResults &results, const ClockSummary &summary);
std::vector<std::string> find_clock_warnings(const ClockResults &results, const ClockSummary &summary);

} // namespace bench
