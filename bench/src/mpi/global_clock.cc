// Wraps the clock functions of libdownbeat (global_clock.h), and measures the step of the clock and the tolerance.
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
    MPIX_Harmonize_stats stats; // bound and deviation at the same time
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

/// The library's settings for a communicator: names and values.
std::vector<std::pair<std::string, std::string>> read_settings(MPI_Comm comm) {
    Info info;
    check(MPIX_Harmonize_get_info(comm, info.address()), "MPIX_Harmonize_get_info");
    int count = 0;
    check(MPI_Info_get_nkeys(info.handle(), &count), "MPI_Info_get_nkeys");
    std::vector<std::pair<std::string, std::string>> settings;
    for (int i = 0; i < count; ++i) {
        char key[MPI_MAX_INFO_KEY + 1] = "";
        char value[MPI_MAX_INFO_VAL + 1] = "";
        int exists = 0;
        check(MPI_Info_get_nthkey(info.handle(), i, key), "MPI_Info_get_nthkey");
        check(MPI_Info_get(info.handle(), key, MPI_MAX_INFO_VAL, value, &exists), "MPI_Info_get");
        settings.emplace_back(key, value);
    }
    return settings;
}

/// Measures the step in which the clock advances, in ticks. The time between readings varies, because readings at equal
/// intervals would have a common step on any clock.
double measure_step(const Downbeat_clock &clock) {
    constexpr std::size_t count = 2000;      // readings
    constexpr unsigned different_waits = 61; // numbers of spins between two readings: 0 to 60
    std::vector<double> differences(count);
    volatile unsigned spins = 0; // volatile: the compiler keeps the loop
    std::int64_t last = clock.read(clock.clock);
    for (std::size_t i = 0; i < count; ++i) {
        for (unsigned wait = 0; wait < i % different_waits; ++wait) {
            spins = spins + 1;
        }
        const std::int64_t reading = clock.read(clock.clock);
        differences[i] = static_cast<double>(reading - last);
        last = reading;
    }
    return step_of(differences);
}

/// Collective. Repeats common starts until the library's automatic tolerance no longer changes, and returns it, s.
double find_tolerance(MPI_Comm comm) {
    constexpr double stable_time = 3.0; // s without a change
    constexpr double max_time = 20.0;   // s
    constexpr double pause = 1e-3;      // s between starts: without it, a simulation would take too long
    int flag = 0;
    double begin = 0.0;    // time of the first start; the deadlines measure time, so all ranks stop together
    double changed = 0.0;  // time of the last change of the tolerance
    double deadline = 0.0; // of the last start, the same on all ranks, like the tolerance
    MPIX_Harmonize_stats stats{};
    double tolerance = 0.0;
    do {
        check(MPIX_Harmonize_delayed(comm, pause, &flag), "MPIX_Harmonize_delayed");
        check(MPIX_Harmonize_deadline(comm, &deadline), "MPIX_Harmonize_deadline");
        check(MPIX_Harmonize_get_stats(comm, &stats), "MPIX_Harmonize_get_stats");
        begin = begin > 0.0 ? begin : deadline;
        changed = stats.tolerance == tolerance ? changed : deadline;
        tolerance = stats.tolerance;
    } while (deadline < std::min(changed + stable_time, begin + max_time));
    return tolerance;
}

} // namespace

GlobalClock::GlobalClock(const Communicator &comm, std::optional<double> tolerance) : comm_(comm) {
    Info info;
    if (tolerance) {
        info.set("tolerance", fmt::format("{}", *tolerance));
    }
    // The library refuses an invalid setting, e.g. DOWNBEAT_CLOCK=sundial, on all ranks and prints why.
    const int code = MPIX_Harmonize_set_info(comm.handle(), info.handle());
    int error_class = MPI_SUCCESS;
    if (MPI_Error_class(code, &error_class) == MPI_SUCCESS && error_class == MPI_ERR_ARG) {
        throw Error::already_printed();
    }
    check_everywhere(comm, code, "cannot prepare the clocks");
    settings_ = read_settings(comm.handle());
    if (setting("tolerance") == "auto") { // from here on the same tolerance for all samples
        info.set("tolerance", fmt::format("{}", find_tolerance(comm.handle())));
        check(MPIX_Harmonize_set_info(comm.handle(), info.handle()), "MPIX_Harmonize_set_info");
        settings_ = read_settings(comm.handle());
    }
    check(MPIX_Harmonize_sync(comm.handle()), "MPIX_Harmonize_sync");
    check(MPIX_Harmonize_get_stats(comm.handle(), &before_), "MPIX_Harmonize_get_stats");
    const Downbeat_clock clock = conversion();
    const double step = measure_step(clock) * clock.tick * 1e-9;
    check(MPI_Allreduce(&step, &resolution_, 1, MPI_DOUBLE, MPI_MAX, comm.handle()), "MPI_Allreduce");
}

void GlobalClock::refresh() const {
    // Only the clock synchronization of MPIX_Harmonize matters here, not its common start, so the flag is ignored.
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

StampClock GlobalClock::stamps() const { return StampClock(conversion()); }

Downbeat_clock GlobalClock::conversion() const {
    Downbeat_clock clock{};
    check(Downbeat_get_clock(comm_.handle(), &clock), "Downbeat_get_clock");
    return clock;
}

double GlobalClock::max_refresh_interval() const {
    const Downbeat_clock clock = conversion();
    double growth = 0.0; // of the error bound, s per s, largest over the ranks; 0 if they read the same clock
    check(MPI_Allreduce(&clock.growth, &growth, 1, MPI_DOUBLE, MPI_MAX, comm_.handle()), "MPI_Allreduce");
    return std::stod(setting("max_error")) / growth; // infinity if growth is 0
}

double GlobalClock::share_unsure(const MPIX_Harmonize_stats &now) const {
    // Only with flag_error=auto the limit of the error follows from the tolerance. No call: no share.
    if (setting("flag_error") != "auto" || now.calls == before_.calls) {
        return 0.0;
    }
    return static_cast<double>(now.unsure_clocks - before_.unsure_clocks) /
           static_cast<double>(now.calls - before_.calls);
}

double GlobalClock::tolerance() const { return std::stod(setting("tolerance")); }

const std::string &GlobalClock::setting(const std::string &name) const {
    return std::ranges::find(settings_, name, &std::pair<std::string, std::string>::first)->second;
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
    // Reads this clock between two readings of the run's clock. The shortest of several attempts counts, because an
    // attempt may be interrupted.
    constexpr int attempts = 5;
    double width = std::numeric_limits<double>::infinity();
    double offset = 0.0;
    for (int i = 0; i < attempts; ++i) {
        const double before = clock_.now();
        double now = 0.0;
        check(MPIX_Harmonize_time(comm_, &now), "MPIX_Harmonize_time");
        const double after = clock_.now();
        if (after - before < width) {
            width = after - before;
            offset = before + width / 2.0 - now;
        }
    }
    return time + offset;
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
