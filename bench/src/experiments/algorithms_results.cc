// Judges trials of algorithms, and describes them as a dataset (algorithms_results.h).
#include "experiments/algorithms_results.h"

#include "rules/cell.h"
#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <ranges>
#include <span>

namespace bench {
namespace {

// For verdict `ignored`: among fewer ranks, different algorithms may send the same messages.
constexpr std::size_t min_ranks = 4;

/// True if the trials have traces to compare. Messages are counted in all trials or in none.
bool comparable(const AlgorithmTrial &a, const AlgorithmTrial &b) {
    return !a.messages.empty() || (!a.calls.empty() && !b.calls.empty());
}

/// True if all counts that both trials have are equal.
bool same_traces(const AlgorithmTrial &a, const AlgorithmTrial &b) {
    const bool calls = a.calls.empty() || b.calls.empty() || a.calls == b.calls;
    return calls && a.messages == b.messages && a.bytes == b.bytes;
}

} // namespace

std::string to_string(AlgorithmVerdict verdict) {
    constexpr const char *names[] = {"in force", "ignored", "cannot tell", "refused"};
    return names[static_cast<std::size_t>(verdict)];
}

void judge_trials(std::vector<AlgorithmTrial> &trials, std::size_t ranks) {
    const auto usual =
        std::ranges::find_if(trials, [](const AlgorithmTrial &trial) { return trial.algorithm == default_algorithm; });
    long chosen = 0;    // trials of algorithms other than the default that were not refused
    long different = 0; // trials whose traces differ from those of the default
    for (AlgorithmTrial &trial : trials) {
        if (!trial.refusal.empty()) {
            trial.verdict = AlgorithmVerdict::refused;
            continue;
        }
        for (const AlgorithmTrial &peer : trials) {
            if (&peer != &trial && peer.refusal.empty() && comparable(trial, peer) && same_traces(trial, peer)) {
                trial.same_as.push_back(peer.algorithm);
            }
        }
        chosen += &trial != &*usual ? 1 : 0;
        if (!same_traces(trial, *usual)) {
            ++different;
            trial.verdict = AlgorithmVerdict::in_force;
        }
    }
    usual->verdict = AlgorithmVerdict::in_force; // the default needs no choice
    // A single algorithm may be the default; of several, one should differ from it.
    if (different == 0 && chosen > 1 && ranks >= min_ranks && !usual->messages.empty()) {
        for (AlgorithmTrial &trial : trials) {
            if (&trial != &*usual && trial.refusal.empty()) {
                trial.verdict = AlgorithmVerdict::ignored;
            }
        }
    }
}

namespace {

using Trial = AlgorithmTrial;
constexpr std::size_t max_ranks_shown = 6; // in a table

/// The counts of the first ranks: "1 0 1 0 ..."; "-" without counts.
std::string by_rank(const std::vector<std::int64_t> &counts) {
    const auto shown = counts | std::views::take(max_ranks_shown);
    return counts.empty() ? "-"
                          : fmt::format("{}{}", fmt::join(shown, " "), counts.size() > max_ranks_shown ? " ..." : "");
}

/// The number of messages that each rank has sent.
std::vector<std::int64_t> messages_by_rank(const Trial &trial) {
    std::vector<std::int64_t> sums;
    // [from][to]
    const auto ranks = static_cast<std::size_t>(std::lround(std::sqrt(trial.messages.size())));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto row = std::span(trial.messages).subspan(rank * ranks, ranks);
        sums.push_back(std::accumulate(row.begin(), row.end(), std::int64_t{0}));
    }
    return sums;
}

/// The reason of a refusal, or the algorithms with the same traces.
std::string note(const Trial &trial) {
    return !trial.refusal.empty() || trial.same_as.empty() ? trial.refusal : "same as " + join(trial.same_as);
}

} // namespace

Dataset algorithms_dataset(const Context &context, const AlgorithmsOptions &options, const std::vector<Trial> &trials) {
    const std::size_t ranks = context.ranks.size();
    static const std::vector<FieldOf<Trial>> names = {
        {"operation", "", "MPI operation", &Trial::operation, Column{"", "operation", ColumnKind::name}},
        {"algorithm", "", "name in the MPI library", &Trial::algorithm, Column{"", "algorithm", ColumnKind::name}},
        {"verdict", "", "whether the choice took effect", [](const Trial &trial) { return to_string(trial.verdict); },
         Column{"", "verdict", ColumnKind::name,
                "in force: counts differ from the default's; ignored: no algorithm's do; cannot tell: the same as the "
                "default, which may be this algorithm; refused: the library cannot run it with these arguments"}},
        {"refusal", "", "message of the MPI library if it refused", &Trial::refusal},
        {"evidence", "", "how it was chosen", &Trial::evidence}};
    static const std::vector<FieldOf<Trial>> shown = {
        {"calls_by_rank", "", "calls of a counting operator in one reduction, by rank; - if not counted",
         [](const Trial &trial) { return by_rank(trial.calls); }, Column{"", "calls", ColumnKind::text}},
        {"messages_by_rank", "", "sent by each rank in one call; - if this MPI library cannot count them",
         [](const Trial &trial) { return by_rank(messages_by_rank(trial)); }, Column{"", "messages", ColumnKind::text}},
        {"note", "", "why it was refused, or the algorithms with the same counts", note,
         Column{"", " ", ColumnKind::note}}};
    static const std::vector<FieldOf<Trial>> of_ranks = {
        {"calls", "", "calls of a counting reduction operator in one call of the operation; -1 if unknown",
         &Trial::calls}};
    static const std::vector<FieldOf<Trial>> of_pairs = {
        {"messages", "", "sent by the rank in one call of the operation; -1 if unknown", &Trial::messages},
        {"bytes", "byte", "sent by the rank in one call of the operation; -1 if unknown", &Trial::bytes}};
    Dataset data;
    data.title = "Algorithms of an MPI library, tried by downbeat-bench algorithms";
    data.attributes = {
        {"experiment", std::string("algorithms")}, {"size", options.size}, {"root", static_cast<long>(options.root)}};
    data.dimensions = {{"trial", trials.size()}, {"rank", ranks}, {"to", ranks}};
    data.add({"to", "", "rank that receives", FieldType::count}, {"to"}, count_up(ranks));
    data.add(names, {"trial"}, trials);
    data.add(shown, {"trial"}, trials, {}, Variable::In::text);
    data.add(of_ranks, {"trial"}, trials, {"rank"});
    data.add(of_pairs, {"trial"}, trials, {"rank", "to"});
    add_ranks(data, context);
    return data;
}

} // namespace bench
