#include "mpi/seed.h"

#include <random>

namespace bench {

std::uint64_t choose_seed(const Communicator &comm, const std::optional<std::uint64_t> &given) {
    return given ? *given : static_cast<std::uint64_t>(comm.on_root([] {
        return static_cast<long>(std::random_device{}() % 1'000'000);
    }));
}

} // namespace bench
