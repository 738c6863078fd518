#include "experiments/clock/scheme_clock.h"

#include "mpi/mpi_check.h"
#include "mpi/mpi_info.h"
#include "text/error.h"

#include <fmt/format.h>
#include <mpix_harmonize.h>

namespace bench {
namespace {

MPIX_Harmonize_stats stats_of(MPI_Comm comm) {
    MPIX_Harmonize_stats stats;
    check(MPIX_Harmonize_get_stats(comm, &stats), "MPIX_Harmonize_get_stats");
    return stats;
}

} // namespace

SchemeClock::SchemeClock(const Communicator &comm, const std::string &scheme) {
    check(MPI_Comm_dup(comm.handle(), &comm_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    Info info;
    info.set("sync", scheme);
    const int code = MPIX_Harmonize_set_info(comm_, info.handle());
    check_everywhere(comm, code, fmt::format("cannot synchronize the clocks with {}", scheme));
}

SchemeClock::~SchemeClock() { MPI_Comm_free(&comm_); }

void SchemeClock::synchronize() const { check(MPIX_Harmonize_sync(comm_), "MPIX_Harmonize_sync"); }

double SchemeClock::messages() const { return static_cast<double>(stats_of(comm_).sync_messages); }

int SchemeClock::domains() const { return stats_of(comm_).clock_domains; }

bool SchemeClock::knows_truth() const {
    double error = 0.0;
    int known = MPIX_Harmonize_true_error(comm_, &error) == MPI_SUCCESS ? 1 : 0;
    check(MPI_Allreduce(MPI_IN_PLACE, &known, 1, MPI_INT, MPI_MIN, comm_), "MPI_Allreduce");
    return known == 1;
}

double SchemeClock::true_error() const {
    double error = 0.0;
    check(MPIX_Harmonize_true_error(comm_, &error), "MPIX_Harmonize_true_error");
    return error;
}

} // namespace bench
