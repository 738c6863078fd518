#include "clocks/quiet.h"
#include "mpi/mpi_check.h"

#include <algorithm>
#include <chrono>
#include <sched.h>
#include <thread>

namespace bench {

void wait_quietly(MPI_Request *request) {
    constexpr int most_yields = 50;
    constexpr std::chrono::microseconds longest_nap{1000};
    std::chrono::microseconds nap{50};
    for (int looks = 0;; ++looks) {
        int done = 0;
        check(MPI_Test(request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done != 0) {
            return;
        }
        if (looks < most_yields) {
            sched_yield();
        } else {
            std::this_thread::sleep_for(nap);
            nap = std::min(2 * nap, longest_nap);
        }
    }
}

} // namespace bench
