// Checks options --algorithm and --barrier-algorithm, which choose the MPI library's algorithms of collectives
// (operations/algorithm.h), and prepares the library for them before MPI_Init.
#pragma once

#include "operations/algorithm.h"
#include "rules/cell.h"
#include "text/component.h"

#include <memory>
#include <string>
#include <vector>

namespace bench {

/// Name of the subcommand that lists the algorithms; it prepares the library before MPI_Init like the options.
constexpr const char *algorithms_subcommand = "algorithms";

/// The algorithms to measure, checked.
struct AlgorithmChoices {
    std::shared_ptr<const AlgorithmFamily> family;          // null if the command line chooses no algorithm
    AlgorithmRequests operations;                           // algorithms by operation
    std::vector<std::string> barrier = {default_algorithm}; // algorithms of the synchronizers' MPI_Barrier

    /// The algorithms of an operation; the default algorithm if none is chosen.
    std::vector<std::string> of(const std::string &operation) const;
};

/// Parses the values of option --algorithm, "reduce=linear,binary,bcast=chain": a word with '=' begins the list of a
/// collective. Throws Error::usage if a word comes before the first collective.
AlgorithmRequests split_algorithms(const std::vector<std::string> &options);

/// Checks the options. Throws Error::usage, with the library's algorithms, if a name is unknown, nothing would use the
/// algorithm, or the library cannot combine the choices. `barrier`: value of --barrier-algorithm, or "". `operations`:
/// names of the operations to measure. `calls_barrier`: true if a synchronizer calls MPI_Barrier.
AlgorithmChoices check_algorithms(const std::vector<std::string> &options, const std::string &barrier,
                                  const std::vector<std::string> &operations, bool calls_barrier);

/// Called before MPI_Init. If the command line chooses algorithms, sets the environment variables that MPI libraries
/// read only in MPI_Init. Errors in the command line are ignored here and reported later.
void prepare_algorithms(int argc, char **argv);

} // namespace bench
