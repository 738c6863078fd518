// Results of `downbeat-bench algorithms`: trials of algorithms, and the verdict whether a chosen algorithm took effect.
#pragma once

#include "output/context.h"
#include "output/dataset.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// Whether the MPI library used an algorithm that was chosen.
enum class AlgorithmVerdict {
    in_force,    // the traces differ from those of the default algorithm
    ignored,     // all algorithms have the traces of the default algorithm
    cannot_tell, // the traces are those of the default algorithm, which may be this algorithm
    refused,     // the library returned an error
};
/// The word for a verdict in tables and files.
std::string to_string(AlgorithmVerdict verdict);

/// A call of an operation with an algorithm. Its traces are the counts of operator calls, messages and bytes.
struct AlgorithmTrial {
    std::string operation;
    std::string algorithm;
    std::string evidence;               // how the algorithm was chosen
    std::string refusal;                // error message of the library; "" if there was no error
    std::vector<std::int64_t> calls;    // calls of the counting operator, per rank; empty if not available
    std::vector<std::int64_t> messages; // sent messages, [from][to]; empty if the library cannot count them
    std::vector<std::int64_t> bytes;    // sent bytes, [from][to]; empty if the library cannot count them
    AlgorithmVerdict verdict = AlgorithmVerdict::cannot_tell;
    std::vector<std::string> same_as; // other algorithms of the operation with the same traces
};

/// The options of the subcommand.
struct AlgorithmsOptions {
    std::vector<std::string> operations;
    std::uint64_t size = 1024; // bytes per process
    int root = 0;
};

/// Sets the verdicts of the trials of an operation, which include the default algorithm. Verdict `ignored` requires
/// that messages were counted and that there are at least four ranks; with fewer ranks, algorithms may send the same
/// messages.
void judge_trials(std::vector<AlgorithmTrial> &trials, std::size_t ranks);

/// The results for files.
Dataset algorithms_dataset(const Context &context, const AlgorithmsOptions &options,
                           const std::vector<AlgorithmTrial> &trials);

} // namespace bench
