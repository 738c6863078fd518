#include "findings/algorithms/results.h"
#include "text/names.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace bench {
namespace {

constexpr std::size_t most_ranks = 8; // side by side
constexpr std::size_t column = 20;

constexpr const char *legend = "  calls     of a counting operator in one reduction, by rank; - if not counted\n"
                               "  messages  sent by each rank in one call; - if this MPI library cannot count them\n"
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

/// Of each rank to all.
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

std::string row(const AlgorithmTrial &trial) {
    std::string text =
        fmt::format("  {:<36} {:<{}} {:<{}} {}", trial.algorithm, ranks_column(trial.calls), column,
                    ranks_column(sums(trial.messages, ranks_of(trial))), column, to_string(trial.verdict));
    if (!trial.refusal.empty()) {
        text += fmt::format("\n      {}", trial.refusal);
    } else if (!trial.same_as.empty()) {
        text += fmt::format(" (same as {})", join(trial.same_as));
    }
    return text + "\n";
}

} // namespace

std::string algorithms_table(const AlgorithmsOptions &options, const std::vector<AlgorithmTrial> &trials) {
    std::string text =
        fmt::format("  size      {} bytes per process, root {}\n\n{}", options.size, options.root, legend);
    std::string before;
    for (const AlgorithmTrial &trial : trials) {
        if (trial.operation != before) {
            text += fmt::format("\n{}\n  {:<36} {:<{}} {:<{}} verdict\n", trial.operation, "algorithm", "calls", column,
                                "messages", column);
            before = trial.operation;
        }
        text += row(trial);
    }
    return text;
}

} // namespace bench
