#pragma once

#include "algorithm.h"
#include "part.h"

#include <memory>
#include <string>
#include <vector>

namespace bench {

/// The algorithms that a command line asks for, checked.
struct AlgorithmChoices {
    std::shared_ptr<const AlgorithmFamily> family; // none where nothing is asked for
    AlgorithmRequests operations;
    std::vector<std::string> barrier = {default_algorithm}; // of the MPI_Barrier that synchronizers call

    /// The algorithms of an operation.
    std::vector<std::string> of(const std::string &operation) const;
};

/// "reduce=linear,binary,bcast=chain": a word with '=' begins another collective. Several options add up. Throws
/// Error::usage where a word stands before the first collective.
AlgorithmRequests split_algorithms(const std::vector<std::string> &options);

/// Throws Error::usage, with what the library offers, where a name is unknown, nothing would use it, or the library
/// cannot have the choices side by side. `barrier` is the list behind --barrier-algorithm, empty where it is not given;
/// `barriers` says whether any synchronizer calls MPI_Barrier.
AlgorithmChoices check_algorithms(const std::vector<std::string> &options, const std::string &barrier,
                                  const std::vector<std::string> &operations, bool barriers);

/// Before MPI_Init: lets the families set what their libraries read there alone, if the command line asks for
/// algorithms. What is wrong with the line is said later.
void prepare_algorithms(int argc, char **argv);

} // namespace bench
