#include "algorithms/algorithm.h"

namespace bench {

AlgorithmFamilyInfo algorithm_families::simgrid() {
    // No MPI library that programs really run under is simulated.
    return {"simgrid", [](const AlgorithmRequests &) {}, []() -> std::unique_ptr<AlgorithmFamily> { return nullptr; }};
}

} // namespace bench
