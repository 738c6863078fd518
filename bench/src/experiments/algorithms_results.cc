#include "experiments/algorithms_results.h"

#include "output/table.h"
#include "rules/cell.h"
#include "text/words.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace bench {
namespace {

constexpr std::size_t fewest_ranks = 4;

/// Whether the two can be distinguished.
bool comparable(const AlgorithmTrial &a, const AlgorithmTrial &b) {
    return !a.messages.empty() || (!a.calls.empty() && !b.calls.empty());
}

/// Counts that both have must be equal.
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
    const auto own =
        std::ranges::find_if(trials, [](const AlgorithmTrial &trial) { return trial.algorithm == default_algorithm; });
    long chosen = 0;
    long different = 0;
    for (AlgorithmTrial &trial : trials) {
        if (!trial.refusal.empty()) {
            trial.verdict = AlgorithmVerdict::refused;
            continue;
        }
        for (const AlgorithmTrial &other : trials) {
            if (&other != &trial && other.refusal.empty() && comparable(trial, other) && same_traces(trial, other)) {
                trial.same_as.push_back(other.algorithm);
            }
        }
        chosen += &trial != &*own ? 1 : 0;
        if (!same_traces(trial, *own)) {
            ++different;
            trial.verdict = AlgorithmVerdict::in_force;
        }
    }
    own->verdict = AlgorithmVerdict::in_force; // nothing was asked of the library
    if (different == 0 && chosen > 1 && ranks >= fewest_ranks && !own->messages.empty()) {
        for (AlgorithmTrial &trial : trials) {
            if (&trial != &*own && trial.refusal.empty()) {
                trial.verdict = AlgorithmVerdict::ignored;
            }
        }
    }
}

Dataset algorithms_dataset(const Context &context, const AlgorithmsOptions &options,
                           const std::vector<AlgorithmTrial> &trials) {
    using Trial = AlgorithmTrial;
    const std::size_t ranks = context.ranks.size();
    static const std::vector<FieldOf<Trial>> whole = {
        {"operation", "", "MPI operation", &Trial::operation},
        {"algorithm", "", "name in the MPI library", &Trial::algorithm},
        {"verdict", "", "whether the choice took effect", [](const Trial &trial) { return to_string(trial.verdict); }},
        {"refusal", "", "message of the MPI library if it refused", &Trial::refusal},
        {"evidence", "", "how it was chosen", &Trial::evidence}};
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
    data.add(whole, {"trial"}, trials);
    data.add(of_ranks, {"trial"}, trials, {"rank"});
    data.add(of_pairs, {"trial"}, trials, {"rank", "to"});
    add_ranks(data, context);
    return data;
}

namespace {

constexpr std::size_t most_ranks = 6; // side by side

constexpr const char *legend = "  calls     of a counting operator in one reduction, by rank; - if not counted\n"
                               "  messages  sent by each rank in one call; - if this MPI library cannot count\n"
                               "            them\n"
                               "  verdict   in force: its counts differ from the default's\n"
                               "            ignored: no algorithm's counts differ from the default's\n"
                               "            cannot tell: same counts as the default, which may be this algorithm\n"
                               "            refused: the library cannot run it with these arguments\n";

std::string ranks_column(const std::vector<std::int64_t> &values) {
    if (values.empty()) {
        return "-";
    }
    const std::size_t shown = std::min(values.size(), most_ranks);
    return fmt::format("{}{}", fmt::join(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(shown), " "),
                       shown < values.size() ? " ..." : "");
}

/// The sum of each rank's row.
std::vector<std::int64_t> sums(const std::vector<std::int64_t> &matrix, std::size_t ranks) {
    std::vector<std::int64_t> all;
    for (auto row = matrix.begin(); row != matrix.end(); row += static_cast<std::ptrdiff_t>(ranks)) {
        all.push_back(std::accumulate(row, row + static_cast<std::ptrdiff_t>(ranks), std::int64_t{0}));
    }
    return all;
}

std::size_t ranks_of(const AlgorithmTrial &trial) {
    std::size_t ranks = 1;
    while (ranks * ranks < trial.messages.size()) {
        ++ranks;
    }
    return ranks;
}

void add(ColumnTable &table, const AlgorithmTrial &trial) {
    constexpr std::size_t indent = 4;
    table.add({trial.algorithm, ranks_column(trial.calls), ranks_column(sums(trial.messages, ranks_of(trial))),
               to_string(trial.verdict)});
    std::string note = trial.refusal;
    if (note.empty() && !trial.same_as.empty()) {
        note = fmt::format("same as {}", join(trial.same_as));
    }
    if (!note.empty()) {
        table.add_note(std::string(indent, ' ') + fill(note, indent));
    }
}

} // namespace

std::string algorithms_table(const AlgorithmsOptions &options, const std::vector<AlgorithmTrial> &trials) {
    std::string text =
        line_above("size", fmt::format("{} bytes per process, root {}", options.size, options.root)) + "\n" + legend;
    for (auto trial = trials.begin(); trial != trials.end();) {
        const std::string &operation = trial->operation;
        ColumnTable table({{"", "algorithm", ColumnKind::name},
                           {"", "calls", ColumnKind::text},
                           {"", "messages", ColumnKind::text},
                           {"", "verdict", ColumnKind::name}});
        for (; trial != trials.end() && trial->operation == operation; ++trial) {
            add(table, *trial);
        }
        text += fmt::format("\n{}\n{}", operation, table.text());
    }
    return text;
}

} // namespace bench
