#include "mpi/global_clock.h"

#include "mpi/communicator.h"
#include "rules/statistics.h"
#include "text/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <downbeat/clock.h>
#include <fmt/format.h>
#include <limits>
#include <mpi.h>
#include <mpix_harmonize.h>

namespace bench {

ClockError read_clock_error(MPI_Comm comm) {
    MPIX_Harmonize_stats stats; // both by one reading of the clock
    check(MPIX_Harmonize_get_stats(comm, &stats), "MPIX_Harmonize_get_stats");
    return {stats.error_bound, stats.expected_error};
}

ClockError chained(const ClockError &a, const ClockError &b) {
    return {a.bound + b.bound, std::hypot(a.expected, b.expected)};
}

ClockError larger(const ClockError &a, const ClockError &b) {
    return {std::max(a.bound, b.bound), std::max(a.expected, b.expected)};
}

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

/// Collective. Starts until the library has found a tolerance for these clocks, and returns it, in seconds.
double find_tolerance(MPI_Comm comm) {
    constexpr double enough = 3.0; // seconds without a change
    constexpr double most = 20.0;
    constexpr double pause = 1e-3; // between starts: 10^5 of them in a second take a model too long
    int flag = 0;
    double begin = 0.0;
    double changed = 0.0;
    double deadline = 0.0; // the same on all ranks, as the tolerance is
    MPIX_Harmonize_stats stats{};
    double found = 0.0;
    do {
        check(MPIX_Harmonize_delayed(comm, pause, &flag), "MPIX_Harmonize_delayed");
        check(MPIX_Harmonize_deadline(comm, &deadline), "MPIX_Harmonize_deadline");
        check(MPIX_Harmonize_get_stats(comm, &stats), "MPIX_Harmonize_get_stats");
        begin = begin > 0.0 ? begin : deadline;
        changed = stats.tolerance == found ? changed : deadline;
        found = stats.tolerance;
    } while (deadline < std::min(changed + enough, begin + most));
    return found;
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
    if (setting("tolerance") == "auto") { // one for all samples
        info.set("tolerance", fmt::format("{}", find_tolerance(comm.handle())));
        check(MPIX_Harmonize_set_info(comm.handle(), info.handle()), "MPIX_Harmonize_set_info");
        settings_ = read_settings(comm.handle());
    }
    check(MPIX_Harmonize_sync(comm.handle()), "MPIX_Harmonize_sync");
    check(MPIX_Harmonize_get_stats(comm.handle(), &before_), "MPIX_Harmonize_get_stats");
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
    const std::array<double, 2> local = {error.bound, error.expected};
    std::array<double, 2> largest{};
    check(MPI_Reduce(local.data(), largest.data(), static_cast<int>(local.size()), MPI_DOUBLE, MPI_MAX, 0,
                     comm_.handle()),
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
    return std::stod(setting("max_error")) / fastest; // infinite with one clock
}

double GlobalClock::share_unsure(const MPIX_Harmonize_stats &now) const {
    if (setting("flag_error") != "auto" || now.calls == before_.calls) {
        return 0.0;
    }
    return static_cast<double>(now.unsure_clocks - before_.unsure_clocks) /
           static_cast<double>(now.calls - before_.calls);
}

double GlobalClock::tolerance() const { return std::stod(setting("tolerance")); }

const std::string &GlobalClock::setting(const std::string &name) const {
    const auto found = std::ranges::find_if(settings_, [&](const auto &one) { return one.first == name; });
    return found->second;
}

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

void check_component(const std::string &option, const char *kind, const std::string &text) {
    char message[DOWNBEAT_MAX_MESSAGE] = "";
    if (Downbeat_check(kind, text.c_str(), message) != MPI_SUCCESS) {
        throw Error::usage(fmt::format("{} cannot be '{}': {}", option, text, message));
    }
}

std::vector<std::string> component_names(const char *kind) {
    std::vector<std::string> names;
    for (const Downbeat_component *const *component = Downbeat_components(kind); *component != nullptr; ++component) {
        names.emplace_back((*component)->name);
    }
    return names;
}

} // namespace bench
