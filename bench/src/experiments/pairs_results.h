// The dataset, head and warnings of `downbeat-bench pairs`, which measures all pairs of nodes in the rounds of a
// tournament and looks again at slow nodes and links, the suspects: first to choose them, then in fresh rounds, which
// decide.

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
};

/// When a pair was measured.
enum class PairPass { first, second, second_look, fresh };

/// The measurements, column by column.
struct PairRecords {
    std::vector<std::int64_t> round; // of the run: pairs of one number were measured at once unless alone
    std::vector<std::int64_t> rank_a;
    std::vector<std::int64_t> rank_b;
    std::vector<std::int64_t> pass; // PairPass
    std::vector<std::int64_t> role; // Role
    std::vector<std::int64_t> suspect;
    std::vector<double> seconds_ab;
    std::vector<double> seconds_ba;
};

/// A rank by itself. NaN if unknown, e.g. the clock of a rank that took no part.
struct RankCheck {
    double loop_seconds;
    double wake_delay;
    double interruptions_per_s;
    double taken_share;
    double clock_offset;
    double clock_rate;
    double clock_residual;
};

struct PairsResults {
    PairRecords records;
    std::vector<int> ranks; // that took part
    std::vector<RankCheck> checks;
    std::vector<Suspect> suspects; // ranks in place of nodes
    std::size_t found_suspects;    // more than `suspects` where these were too many
    TournamentPlan plan;           // what fits into the limit of time
    TournamentPlan wanted;         // what would run without a limit
    long starts;                   // starts of rounds by MPIX_Harmonize
    long late_starts;              // those at which a rank was late
    bool stopped;                  // at the limit of time
};

Dataset pairs_dataset(const Context &context, const PairsOptions &options, const PairsResults &results);
std::string pairs_head(const PairsResults &results);
std::vector<std::string> find_pairs_warnings(const PairsOptions &options, const PairsResults &results);

} // namespace bench
