#pragma once

#include "output/context.h"
#include "output/dataset.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

enum class AlgorithmVerdict { in_force, ignored, cannot_tell, refused };
std::string to_string(AlgorithmVerdict verdict);

/// One call of an operation by one algorithm, as all ranks saw it.
struct AlgorithmTrial {
    std::string operation;
    std::string algorithm;
    std::string evidence;               // how it was chosen
    std::string refusal;                // what the library said; "" if it did as asked
    std::vector<std::int64_t> calls;    // of the counting operator, per rank; empty if not available
    std::vector<std::int64_t> messages; // [from][to]; empty if the library cannot count
    std::vector<std::int64_t> bytes;    // [from][to]
    AlgorithmVerdict verdict = AlgorithmVerdict::cannot_tell;
    std::vector<std::string> same_as; // other algorithms of the operation that left the same traces
};

struct AlgorithmsOptions {
    std::vector<std::string> operations;
    std::uint64_t size = 1024; // bytes per process
    int root = 0;
};

/// Judges the trials of one operation, the default among them.
///
/// Other traces than those of the default prove that the choice holds. Where every algorithm leaves those of the
/// default, though messages are counted and four ranks or more give them something to differ in, none holds. Else it is
/// open: the default may be this algorithm.
void judge_trials(std::vector<AlgorithmTrial> &trials, std::size_t ranks);

Dataset algorithms_dataset(const Context &context, const AlgorithmsOptions &options,
                           const std::vector<AlgorithmTrial> &trials);

} // namespace bench
