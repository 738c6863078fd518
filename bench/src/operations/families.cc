#include "operations/algorithm.h"

namespace bench {

const std::vector<AlgorithmFamilyInfo> &all_algorithm_families() {
    static const std::vector<AlgorithmFamilyInfo> all = {algorithm_families::openmpi(), algorithm_families::mpich(),
                                                         algorithm_families::intel()};
    return all;
}

} // namespace bench
