#include "subcommands/algorithms/results.h"

#include "output/table/columns.h"
#include "output/table/sections.h"
#include "text/names.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace bench {

Dataset algorithms_dataset(const Context &context, const AlgorithmsOptions &options,
                           const std::vector<AlgorithmTrial> &trials) {
    using Trial = AlgorithmTrial;
    constexpr double unknown = -1;
    const std::size_t ranks = context.ranks.size();
    const std::vector<std::string> matrix = {"trial", "rank", "to"};
    Dataset data;
    data.title = "Algorithms of an MPI library, tried by downbeat-bench algorithms";
    data.attributes = {
        {"experiment", std::string("algorithms")}, {"size", options.size}, {"root", static_cast<long>(options.root)}};
    data.dimensions = {{"trial", trials.size()}, {"to", ranks}};
    data.add("to", {"to"}, "rank that receives", "", count_up(ranks));
    data.add("operation", {"trial"}, "MPI operation", "", collect(trials, &Trial::operation));
    data.add("algorithm", {"trial"}, "name in the MPI library", "", collect(trials, &Trial::algorithm));
    data.add("verdict", {"trial"}, "whether the choice took effect", "",
             collect(trials, [](const Trial &trial) { return to_string(trial.verdict); }));
    data.add("refusal", {"trial"}, "message of the MPI library if it refused", "", collect(trials, &Trial::refusal));
    data.add("evidence", {"trial"}, "how it was chosen", "", collect(trials, &Trial::evidence));
    data.add("calls", {"trial", "rank"},
             "calls of a counting reduction operator in one call of the operation; -1 if unknown", "",
             collect(trials, &Trial::calls, ranks, unknown));
    data.add("messages", matrix, "sent by the rank in one call of the operation; -1 if unknown", "",
             collect(trials, &Trial::messages, ranks * ranks, unknown));
    data.add("bytes", matrix, "sent by the rank in one call of the operation; -1 if unknown", "byte",
             collect(trials, &Trial::bytes, ranks * ranks, unknown));
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
