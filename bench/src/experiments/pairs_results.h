// Results of `downbeat-bench pairs`, which measures all pairs of nodes in the rounds of a tournament
// (rules/tournament.h) and looks again at nodes and links that seem slow, the suspects (rules/suspects.h): dataset,
// summary line, warnings.

#pragma once

#include "output/context.h"
#include "output/dataset.h"
#include "rules/suspects.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct PairsOptions {
    std::uint64_t size = 8; // bytes
    long exchanges = 20;    // of a pair in a round
    double within = 0.0;    // seconds; 0: as long as it takes
    bool alone = false;     // pairs one by one, not all of a round at once
    bool ranks = false;     // all ranks take part, not the first of each node
    int group = 0;          // largest number of nodes of a group (see tournament.h); 0: chosen by the number of nodes
};

/// The part of the run in which a pair was measured. The second look at a suspect decides if it has fresh rounds: new
/// measurements, by which `downbeat locate` judges it.
enum class PairPass { first, second, second_look, fresh };

/// The measurements, column by column.
struct PairRecords {
    std::vector<std::int64_t> round;  // of the run; the pairs of a round were measured at once, unless with --alone
    std::vector<std::int64_t> rank_a; // the lower rank
    std::vector<std::int64_t> rank_b;
    std::vector<std::int64_t> pass;    // PairPass
    std::vector<std::int64_t> role;    // Role
    std::vector<std::int64_t> suspect; // index in PairsResults::suspects; -1 in the tournament
    std::vector<double> seconds_ab;    // time of a message from rank_a to rank_b; NaN if the run ended before
    std::vector<double> seconds_ba;
};

/// The state of a rank, and its group. NaN if unknown, e.g. for the clock of a rank that took no part.
struct RankCheck {
    double loop_seconds; // this value and the next three: see ProcessorCheck
    double wake_delay;
    double interruptions_per_s;
    double taken_share;
    double clock_offset;   // of the global clock to that of rank 0, in seconds
    double clock_rate;     // frequency of the local clock relative to that of rank 0, minus 1
    double clock_residual; // in seconds, root mean square over the comparisons with partners
    int group;             // number of the group, from 1; 0 if the rank took no part
};

struct PairsResults {
    PairRecords records;
    std::vector<int> ranks;                       // ranks that took part, in the order of the nodes
    std::vector<RankCheck> checks;                // of all ranks
    std::vector<Suspect> suspects;                // that were looked at again; with ranks in place of nodes
    std::vector<std::int64_t> suspects_in_groups; // number of suspects of each group; may exceed those in `suspects`
    TournamentPlan plan;                          // the plan that fits into the limit of time
    TournamentPlan wanted;                        // the plan without a limit of time
    long starts;                                  // common starts of the run
    long late_starts;                             // common starts that a rank left late
    bool stopped;                                 // true if the limit of time ended the run
};

Dataset pairs_dataset(const Context &context, const PairsOptions &options, const PairsResults &results);
std::string pairs_head(const PairsResults &results);
std::vector<std::string> find_pairs_warnings(const PairsOptions &options, const PairsResults &results);

} // namespace bench
