#include "mpi/harmonized_comm.h"

#include "mpi/mpi_check.h"
#include "mpi/mpi_info.h"

#include <fmt/format.h>
#include <limits>
#include <mpix_harmonize.h>

namespace bench {

HarmonizedComm::HarmonizedComm(const Communicator &comm, const GlobalClock &clock, const std::string &slack)
    : clock_(clock) {
    check(MPI_Comm_dup(comm.handle(), &comm_), "MPI_Comm_dup");
    Info info;
    info.set("slack", slack);
    info.set("tolerance", fmt::format("{}", clock.tolerance()));
    check(MPIX_Harmonize_set_info(comm_, info.handle()), "MPIX_Harmonize_set_info");
}

HarmonizedComm::~HarmonizedComm() { MPI_Comm_free(&comm_); }

double HarmonizedComm::on_clock_of_run(double time) const {
    // The narrowest of several readings, as any may be interrupted.
    constexpr int readings = 5;
    double width = std::numeric_limits<double>::infinity();
    double ahead = 0.0;
    for (int i = 0; i < readings; ++i) {
        const double before = clock_.now();
        double own = 0.0;
        check(MPIX_Harmonize_time(comm_, &own), "MPIX_Harmonize_time");
        const double after = clock_.now();
        if (after - before < width) {
            width = after - before;
            ahead = before + width / 2.0 - own;
        }
    }
    return time + ahead;
}

std::shared_ptr<const HarmonizedComm> HarmonizedComms::with_slack(const std::string &slack) {
    std::shared_ptr<const HarmonizedComm> &comm = by_slack_[slack];
    if (!comm) {
        comm = std::make_shared<const HarmonizedComm>(comm_, clock_, slack);
    }
    return comm;
}

} // namespace bench
