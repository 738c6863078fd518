#include "findings/algorithms/results.h"

namespace bench {
namespace {

constexpr std::int64_t unknown = -1;

template <typename T, typename Get> std::vector<T> collect(const std::vector<AlgorithmTrial> &trials, Get get) {
    std::vector<T> values;
    for (const AlgorithmTrial &trial : trials) {
        values.push_back(get(trial));
    }
    return values;
}

/// Rows of one length each; one of unknowns where a trial has none.
std::vector<std::int64_t> collect_rows(const std::vector<AlgorithmTrial> &trials, std::size_t length,
                                       std::vector<std::int64_t> AlgorithmTrial::*member) {
    std::vector<std::int64_t> values;
    for (const AlgorithmTrial &trial : trials) {
        const std::vector<std::int64_t> &row = trial.*member;
        values.insert(values.end(), row.begin(), row.end());
        values.resize(values.size() + length - row.size(), unknown);
    }
    return values;
}

} // namespace

Dataset algorithms_dataset(const Context &context, const AlgorithmsOptions &options,
                           const std::vector<AlgorithmTrial> &trials) {
    Dataset data;
    data.title = "Algorithms of an MPI library, tried by downbeat-bench algorithms";
    data.attributes = {
        {"experiment", std::string("algorithms")}, {"size", options.size}, {"root", static_cast<long>(options.root)}};
    const std::size_t ranks = context.ranks.size();
    data.dimensions = {{"trial", trials.size()}, {"to", ranks}};
    std::vector<std::int64_t> to;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        to.push_back(static_cast<std::int64_t>(rank));
    }
    const std::vector<std::string> trial = {"trial"};
    const std::vector<std::string> matrix = {"trial", "rank", "to"};
    data.variables = {
        {"to", {"to"}, "rank that receives", "", to},
        {"operation", trial, "MPI operation", "",
         collect<std::string>(trials, [](const AlgorithmTrial &t) { return t.operation; })},
        {"algorithm", trial, "name in the MPI library", "",
         collect<std::string>(trials, [](const AlgorithmTrial &t) { return t.algorithm; })},
        {"verdict", trial, "whether the choice took effect", "",
         collect<std::string>(trials, [](const AlgorithmTrial &t) { return to_string(t.verdict); })},
        {"refusal", trial, "message of the MPI library if it refused", "",
         collect<std::string>(trials, [](const AlgorithmTrial &t) { return t.refusal; })},
        {"evidence", trial, "how it was chosen", "",
         collect<std::string>(trials, [](const AlgorithmTrial &t) { return t.evidence; })},
        {"calls",
         {"trial", "rank"},
         "calls of a counting reduction operator in one call of the operation; -1 if unknown",
         "",
         collect_rows(trials, ranks, &AlgorithmTrial::calls)},
        {"messages", matrix, "sent by the rank in one call of the operation; -1 if unknown", "",
         collect_rows(trials, ranks * ranks, &AlgorithmTrial::messages)},
        {"bytes", matrix, "sent by the rank in one call of the operation; -1 if unknown", "byte",
         collect_rows(trials, ranks * ranks, &AlgorithmTrial::bytes)},
    };
    add_ranks(data, context);
    return data;
}

} // namespace bench
