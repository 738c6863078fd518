#include "subcommands/algorithms/results.h"

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

} // namespace bench
