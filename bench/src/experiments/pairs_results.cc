// Describes the results of `downbeat-bench pairs` as a dataset (pairs_results.h).
#include "experiments/pairs_results.h"

#include "output/table.h"
#include "text/words.h"

#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <numeric>

namespace bench {
namespace {

/// The name of a suspect: "node-3", or "node-3 - node-17" of a link. If all ranks take part (`ranks`), their numbers.
std::string name_of(const Context &context, bool ranks, const Suspect &suspect) {
    const auto name = [&](int rank) {
        return ranks ? fmt::format("{}", rank) : context.ranks[static_cast<std::size_t>(rank)].host;
    };
    return suspect.is_node() ? name(suspect.a) : fmt::format("{} - {}", name(suspect.a), name(suspect.b));
}

/// The number of suspects of all groups, also of those that were not looked at again.
long suspect_count(const PairsResults &results) {
    return std::accumulate(results.suspects_in_groups.begin(), results.suspects_in_groups.end(), 0L);
}

} // namespace

Dataset pairs_dataset(const Context &context, const PairsOptions &options, const PairsResults &results) {
    static const std::vector<FieldOf<RankCheck>> of_ranks = {
        {"loop_seconds", "s", "time that a loop of fixed work takes, median", &RankCheck::loop_seconds},
        {"wake_delay", "s", "time by which a sleep of a millisecond is too long, median", &RankCheck::wake_delay},
        {"interruptions_per_s", "s-1", "interruptions of a busy loop of more than a microsecond",
         &RankCheck::interruptions_per_s},
        {"taken_share", "1",
         "share of the time of a busy loop that its interruptions took, median of 10 windows of 20 ms",
         &RankCheck::taken_share},
        {"clock_offset", "s", "measured offset of the rank's global clock to rank 0's after the last round",
         &RankCheck::clock_offset},
        {"clock_rate", "1", "frequency of the rank's local clock relative to rank 0's, minus 1",
         &RankCheck::clock_rate},
        {"clock_residual", "s",
         "root mean square residual of the comparisons of the rank's clock with its partners'; with 32 clocks or more",
         &RankCheck::clock_residual},
        {"group", "", "number of the rank's group, from 1; pairs are within groups; 0 for a rank that took no part",
         &RankCheck::group}};
    const PairRecords &records = results.records;
    const std::size_t count = records.round.size();
    Dataset data;
    data.title = "Pairs of ranks in the rounds of a tournament, measured by downbeat-bench pairs";
    data.attributes = {{"experiment", std::string("pairs")},
                       {"size", options.size},
                       {"exchanges", results.plan.exchanges},
                       {"passes", static_cast<long>(results.plan.passes)},
                       {"starts", results.starts},
                       {"late_starts", results.late_starts},
                       {"taking_part", static_cast<long>(results.ranks.size())},
                       {"suspects_found", suspect_count(results)}};
    if (options.within > 0.0) {
        data.attributes.emplace_back("within_s", options.within);
    }
    data.dimensions = {{"pair", count}, {"in_group", results.suspects_in_groups.size()}};
    const auto number = [&](const char *name, const char *meaning, Values values) {
        data.add({name, "", meaning, FieldType::count}, {"pair"}, std::move(values));
    };
    const auto flag = [&](const char *name, const char *meaning, std::vector<std::string> words, Values values) {
        data.add({name, "", meaning, FieldType::flag, {}, std::move(words)}, {"pair"}, std::move(values));
    };
    number("round", "round of the run; the pairs of a round are measured at once unless `alone` is 1", records.round);
    number("rank_a", "rank of one end", records.rank_a);
    number("rank_b", "rank of the other end, the higher", records.rank_b);
    flag("pass",
         "first and second pass of the tournament; second look at a suspect, which decides if it has fresh rounds; "
         "fresh "
         "round",
         {"first", "second", "second_look", "fresh"}, records.pass);
    flag("role", "purpose of the measurement: tournament, suspect, or control of the preceding suspect",
         {"tournament", "suspect", "control"}, records.role);
    number("suspect", "number of the suspect that the measurement is about, along `suspected`; -1 for none",
           records.suspect);
    flag("alone", "whether no other pair was measured at the same time", {"beside_others", "alone"},
         std::vector<std::int64_t>(count, options.alone ? 1 : 0));
    number("size", "message size in bytes", std::vector<std::int64_t>(count, static_cast<std::int64_t>(options.size)));
    data.add({"seconds_ab", "s", "time of a message from rank_a to rank_b, median of the exchanges"}, {"pair"},
             records.seconds_ab);
    data.add({"seconds_ba", "s", "time of a message from rank_b to rank_a, median of the exchanges"}, {"pair"},
             records.seconds_ba);
    data.add({"suspects_in_group", "", "number of suspects in each group, from group 1; at most 24 have fresh rounds",
              FieldType::count},
             {"in_group"}, results.suspects_in_groups);
    if (!results.suspects.empty()) {
        const auto &suspects = results.suspects;
        data.dimensions.push_back({"suspected", suspects.size()});
        data.add({"suspected", "", "node, or ends of the link, that is slower than its peers in the tournament",
                  FieldType::text},
                 {"suspected"},
                 mapped(suspects, [&](const Suspect &suspect) { return name_of(context, options.ranks, suspect); }));
        const std::vector<FieldOf<Suspect>> fields = {
            {"suspected_a", "", "rank of the node, or of one end of the link", &Suspect::a},
            {"suspected_b", "", "rank of the other end of the link; -1 for a node", &Suspect::b},
            {"suspected_ratio", "1", "time in the tournament / time of the peers",
             [](const Suspect &suspect) { return std::exp(suspect.score); }, Column{"", "x peers", ColumnKind::ratio}}};
        data.add(fields, {"suspected"}, suspects);
    }
    add_ranks(data, context);
    data.add(of_ranks, {"rank"}, results.checks);
    return data;
}

std::string pairs_head(const PairsResults &results) {
    return line_above("suspects", results.suspects.empty()
                                      ? "none"
                                      : fmt::format("{}; downbeat locate FILE judges them", results.suspects.size()));
}

std::vector<std::string> find_pairs_warnings(const PairsOptions &options, const PairsResults &results) {
    std::vector<std::string> warnings;
    const TournamentPlan &plan = results.plan;
    const TournamentPlan &wanted = results.wanted;
    if (plan.exchanges < wanted.exchanges || plan.rounds < wanted.rounds) {
        warnings.push_back(fmt::format("in {} s fit {} of {} exchanges, {} of {} passes and {} of {} rounds; a longer "
                                       "--within finds smaller faults",
                                       options.within, plan.exchanges, wanted.exchanges, plan.passes, wanted.passes,
                                       plan.rounds, wanted.rounds));
    }
    if (results.stopped) {
        warnings.push_back(
            fmt::format("the limit of {} s ended the run before the last round; raise --within", options.within));
    }
    if (results.ranks.size() < min_nodes) {
        warnings.push_back(fmt::format("{} took part; with fewer than {}, a slow node cannot be told from a slow link, "
                                       "so none is suspected; start more nodes",
                                       results.ranks.size(), min_nodes));
    }
    if (const long count = suspect_count(results); count > std::ssize(results.suspects)) {
        warnings.push_back(fmt::format("{} suspects are too many to confirm; the slowest {} were measured again", count,
                                       results.suspects.size()));
    }
    return warnings;
}

} // namespace bench
