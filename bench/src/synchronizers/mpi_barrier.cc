#include "synchronizers/mpi_barriers.h"

namespace bench {

SynchronizerInfo synchronizers::mpi_barrier() {
    return {{"mpi_barrier",
             "the MPI library's MPI_Barrier, as in other benchmarks",
             "Hunold 2015, section 2; Hoefler 2008, listing 3",
             {{"count", "1", "barriers in a row before each start, as in IMB", ComponentValues::whole(1, 1e6)}}},
            [](const SynchronizerArguments &arguments) -> std::unique_ptr<Synchronizer> {
                return std::make_unique<MpiBarriers>(arguments, arguments.component.whole("count"));
            },
            [](const Component &) { return true; }};
}

} // namespace bench
