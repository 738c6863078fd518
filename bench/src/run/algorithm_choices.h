#pragma once

#include "operations/algorithm.h"
#include "rules/cell.h"
#include "text/component.h"

#include <memory>
#include <string>
#include <vector>

namespace bench {

/// The subcommand; also asked for before MPI_Init.
constexpr const char *algorithms_subcommand = "algorithms";

/// The algorithms that a command line asks for, checked.
struct AlgorithmChoices {
    std::shared_ptr<const AlgorithmFamily> family; // none if nothing is asked for
    AlgorithmRequests operations;
    std::vector<std::string> barrier = {default_algorithm}; // of the MPI_Barrier that synchronizers call

    /// The algorithms of an operation.
    std::vector<std::string> of(const std::string &operation) const;
};

/// "reduce=linear,binary,bcast=chain": a word with '=' begins another collective. Several options add up. Throws
/// Error::usage if a word comes before the first collective.
AlgorithmRequests split_algorithms(const std::vector<std::string> &options);

/// Throws Error::usage, with the library's choices, if a name is unknown, nothing would use it, or the library cannot
/// combine the choices. `barrier` is the list after --barrier-algorithm, empty if it is not given; `barriers` says
/// whether any synchronizer calls MPI_Barrier.
AlgorithmChoices check_algorithms(const std::vector<std::string> &options, const std::string &barrier,
                                  const std::vector<std::string> &operations, bool barriers);

/// Before MPI_Init: lets the families set variables that their libraries read only there, if the command line asks for
/// algorithms. Errors in the line are reported later.
void prepare_algorithms(int argc, char **argv);

} // namespace bench
