#include "mpi/global_clock.h"

#include "mpi/mpi_info.h"
#include "rules/statistics.h"
#include "text/error.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace bench {
namespace {

std::vector<std::pair<std::string, std::string>> read_settings(MPI_Comm comm) {
    Info info;
    check(MPIX_Harmonize_get_info(comm, info.address()), "MPIX_Harmonize_get_info");
    int count = 0;
    check(MPI_Info_get_nkeys(info.handle(), &count), "MPI_Info_get_nkeys");
    std::vector<std::pair<std::string, std::string>> settings;
    for (int i = 0; i < count; ++i) {
        char key[MPI_MAX_INFO_KEY + 1] = "";
        char value[MPI_MAX_INFO_VAL + 1] = "";
        int found = 0;
        check(MPI_Info_get_nthkey(info.handle(), i, key), "MPI_Info_get_nthkey");
        check(MPI_Info_get(info.handle(), key, MPI_MAX_INFO_VAL, value, &found), "MPI_Info_get");
        settings.emplace_back(key, value);
    }
    return settings;
}

/// In ticks. Readings are apart by all kinds of times: of equal ones any clock would seem to advance in steps.
double measure_step(const Downbeat_clock &clock) {
    constexpr std::size_t count = 2000;
    constexpr unsigned most_spins = 61;
    std::vector<double> differences(count);
    volatile unsigned spent = 0;
    std::int64_t last = clock.read(clock.clock);
    for (std::size_t i = 0; i < count; ++i) {
        for (unsigned spins = 0; spins < i % most_spins; ++spins) {
            spent = spent + 1;
        }
        const std::int64_t reading = clock.read(clock.clock);
        differences[i] = static_cast<double>(reading - last);
        last = reading;
    }
    return step_of(differences);
}

} // namespace

GlobalClock::GlobalClock(const Communicator &comm, std::optional<double> tolerance) : comm_(comm) {
    Info info;
    if (tolerance) {
        info.set("tolerance", fmt::format("{}", *tolerance));
    }
    // An invalid setting, e.g. DOWNBEAT_CLOCK=sundial, is refused on all ranks, so the run can end cleanly.
    const int code = MPIX_Harmonize_set_info(comm.handle(), info.handle());
    int error_class = MPI_SUCCESS;
    if (MPI_Error_class(code, &error_class) == MPI_SUCCESS && error_class == MPI_ERR_ARG) {
        throw Error::told();
    }
    check_everywhere(comm, code, "cannot prepare the clocks");
    settings_ = read_settings(comm.handle());
    check(MPIX_Harmonize_sync(comm.handle()), "MPIX_Harmonize_sync");
    const Downbeat_clock clock = local_clock();
    const double step = measure_step(clock) * clock.tick * 1e-9;
    check(MPI_Allreduce(&step, &resolution_, 1, MPI_DOUBLE, MPI_MAX, comm.handle()), "MPI_Allreduce");
}

void GlobalClock::refresh() const {
    // The common start of MPIX_Harmonize is not needed here, only its clock synchronization; so the flag is ignored.
    int flag = 0;
    check(MPIX_Harmonize(comm_.handle(), &flag), "MPIX_Harmonize");
}

ClockError GlobalClock::largest(const ClockError &error) const {
    const std::array<double, 2> mine = {error.bound, error.expected};
    std::array<double, 2> largest{};
    check(
        MPI_Reduce(mine.data(), largest.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX, 0, comm_.handle()),
        "MPI_Reduce");
    return {largest[0], largest[1]};
}

StampClock GlobalClock::stamps() const { return StampClock(local_clock()); }

Downbeat_clock GlobalClock::local_clock() const {
    Downbeat_clock clock{};
    check(Downbeat_get_clock(comm_.handle(), &clock), "Downbeat_get_clock");
    return clock;
}

double GlobalClock::longest_unwatched() const {
    const Downbeat_clock clock = local_clock();
    double fastest = 0.0;
    check(MPI_Allreduce(&clock.growth, &fastest, 1, MPI_DOUBLE, MPI_MAX, comm_.handle()), "MPI_Allreduce");
    return setting("max_error") / fastest; // infinite with one clock
}

double GlobalClock::tolerance() const { return setting("tolerance"); }

double GlobalClock::setting(const std::string &name) const {
    const auto found = std::ranges::find_if(settings_, [&](const auto &one) { return one.first == name; });
    return std::stod(found->second);
}

} // namespace bench
