#include "synchronizers/mpi_barriers.h"

namespace bench {

SynchronizerInfo synchronizers::double_mpi_barrier() {
    return {{"double_mpi_barrier",
             "mpi_barrier(count=2): the second starts with the ranks aligned by the first",
             "IMB, optionally",
             {}},
            [](const SynchronizerArguments &arguments) -> std::unique_ptr<Synchronizer> {
                return std::make_unique<MpiBarriers>(arguments, 2);
            },
            [](const Component &) { return true; }};
}

} // namespace bench
