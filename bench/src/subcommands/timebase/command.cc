#include "clocks/quiet.h"
#include "clocks/stamp_clock.h"
#include "mpi/everywhere.h"
#include "mpi/mpi_check.h"
#include "mpi/names.h"
#include "options/command_line.h"
#include "output/json_records.h"
#include "output/output.h"
#include "subcommands/subcommand.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <downbeat/clock.h>
#include <fmt/format.h>
#include <limits>
#include <mpix_harmonize.h>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

namespace bench {
namespace {

struct SystemClock {
    const char *name;
    clockid_t id;
};

// That other tools stamp with.
constexpr std::array<SystemClock, 4> system_clocks = {{{"realtime", CLOCK_REALTIME},
                                                       {"monotonic", CLOCK_MONOTONIC},
                                                       {"monotonic_raw", CLOCK_MONOTONIC_RAW},
                                                       {"boottime", CLOCK_BOOTTIME}}};

struct TimebaseOptions {
    std::string output = standard_output;
    double interval = 1.0;         // seconds
    std::optional<double> seconds; // none: until a signal or the end of the input
    bool until_eof = false;
};

/// A system clock showed `ns` when the library's counter was at `counter`, give or take `half_width`.
struct Reading {
    std::int64_t ns;
    std::int64_t counter;
    std::int64_t half_width;
};

/// The state of a rank's clocks after a synchronization. Sent as bytes: its pointers are used by that rank alone.
struct Sample {
    Downbeat_clock clock;
    std::array<Reading, system_clocks.size()> readings;
};

/// The narrowest of a few: any of them may be interrupted.
Reading read_system_clock(const Downbeat_clock &counter, clockid_t id) {
    constexpr int tries = 20;
    Reading best{0, 0, std::numeric_limits<std::int64_t>::max()};
    for (int i = 0; i < tries; ++i) {
        timespec time{};
        const std::int64_t before = counter.read(counter.clock);
        clock_gettime(id, &time);
        const std::int64_t half = (counter.read(counter.clock) - before + 1) / 2;
        if (half < best.half_width) {
            best = {static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec, before + half, half};
        }
    }
    return best;
}

/// Collective.
Sample take_sample(const Communicator &comm) {
    Sample sample{};
    check(MPIX_Harmonize_sync(comm.handle()), "MPIX_Harmonize_sync");
    check(Downbeat_get_clock(comm.handle(), &sample.clock), "Downbeat_get_clock");
    for (std::size_t i = 0; i < system_clocks.size(); ++i) {
        sample.readings[i] = read_system_clock(sample.clock, system_clocks[i].id);
    }
    return sample;
}

/// Collective. At rank 0.
std::vector<Sample> gather(const Communicator &comm, const Sample &mine) {
    std::vector<Sample> all(comm.is_root() ? static_cast<std::size_t>(comm.size()) : 0);
    check(MPI_Gather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, 0, comm.handle()), "MPI_Gather");
    return all;
}

/// Global time from the synchronization to where the counter is, ns.
double elapsed_ns(const Downbeat_clock &clock, std::int64_t counter) {
    return static_cast<double>(counter - clock.ticks) * clock.tick;
}

/// Writes a line for each rank and sample; rank 0 alone.
class TimebaseFile {
public:
    TimebaseFile(const TimebaseOptions &options, const std::vector<std::string> &hosts)
        : output_(options.output), hosts_(hosts), before_(hosts.size()) {}

    void head(const TimebaseOptions &options, const std::vector<Sample> &first, const Json &settings) {
        const Reading &realtime = first.front().readings.front();
        const Downbeat_clock &clock = first.front().clock;
        epoch_ = realtime.ns - clock.global - std::llround(elapsed_ns(clock, realtime.counter));
        Json line = json_record("timebase");
        line["interval_s"] = options.interval;
        line["ranks"] = hosts_.size();
        line["reference"] = {{"rank", 0}, {"host", hosts_.front()}};
        line["axis"] =
            "ns since 1970 by the realtime clock of the reference at the first sample, counted by its counter";
        line["settings"] = settings;
        output_.write(json_line(line));
    }

    void add(long number, const std::vector<Sample> &samples) {
        std::string text;
        for (std::size_t rank = 0; rank < samples.size(); ++rank) {
            const Downbeat_clock &clock = samples[rank].clock;
            const ClockError error = StampClock(clock).error(clock.ticks);
            Json line = json_record("sample");
            line["sample"] = number;
            line["rank"] = rank;
            line["host"] = hosts_[rank];
            line["counter"] = clock.ticks;
            line["axis_ns"] = clock.global + epoch_;
            line["ns_per_tick"] = clock.tick;
            line["bound_ns"] = clock.bound;
            line["expected_error_ns"] = error.expected * 1e9;
            line["growth"] = clock.growth;
            line["ramp"] = clock.ramp;
            line["variance"] = clock.variance;
            line["cross"] = clock.cross;
            line["rate_variance"] = clock.rate;
            line["walk"] = clock.walk;
            for (std::size_t i = 0; i < system_clocks.size(); ++i) {
                line["clocks"][system_clocks[i].name] = describe(rank, i, clock, samples[rank].readings[i]);
            }
            text += json_line(line);
        }
        output_.write(text);
    }

    void finish() { output_.finish(); }

private:
    struct Before {
        std::int64_t ns = 0;
        std::int64_t offset_ns = 0;
    };

    Json describe(std::size_t rank, std::size_t which, const Downbeat_clock &clock, const Reading &reading) {
        const ClockError error = StampClock(clock).error(reading.counter);
        const double width = static_cast<double>(reading.half_width) * clock.tick;
        // Whole ns of 1970: a double would lose some hundred.
        const std::int64_t offset =
            clock.global + epoch_ - reading.ns + std::llround(elapsed_ns(clock, reading.counter));
        Before &before = before_[rank][which];
        const auto apart = static_cast<double>(reading.ns - before.ns);
        const Json rate =
            before.ns != 0 && apart > 0 ? Json(static_cast<double>(offset - before.offset_ns) / apart) : Json();
        before = {reading.ns, offset};
        return {{"clock_ns", reading.ns},
                {"counter", reading.counter},
                {"half_width", reading.half_width},
                {"offset_ns", offset},
                {"rate", rate},
                {"bound_ns", error.bound * 1e9 + width},
                {"expected_error_ns", std::hypot(error.expected * 1e9, width / std::sqrt(3.0))}};
    }

    Output output_;
    std::vector<std::string> hosts_;
    std::vector<std::array<Before, system_clocks.size()>> before_;
    std::int64_t epoch_ = 0;
};

volatile std::sig_atomic_t asked_to_stop = 0;

using Steady = std::chrono::steady_clock;

/// Rank 0 sleeps until it is time; false: it is the last sample.
bool wait_for_time(const TimebaseOptions &options, Steady::time_point begin, Steady::time_point until) {
    const auto end =
        options.seconds ? begin + std::chrono::duration<double>(*options.seconds) : Steady::time_point::max();
    pollfd input{STDIN_FILENO, POLLIN, 0};
    while (asked_to_stop == 0) {
        const auto now = Steady::now();
        if (now >= end || now >= until) {
            return now < end;
        }
        const auto rest = std::chrono::ceil<std::chrono::milliseconds>(
            std::min<Steady::duration>(until - now, std::chrono::hours(1)));
        std::array<char, 256> ignored{};
        // One that is interrupted returns at once.
        if (poll(&input, options.until_eof ? 1 : 0, static_cast<int>(rest.count())) > 0 &&
            read(STDIN_FILENO, ignored.data(), ignored.size()) <= 0) {
            return false;
        }
    }
    return false;
}

/// Rank 0 says whether there is more. The others look a few times a second, which disturbs no program beside them.
bool told_to_go_on(const Communicator &comm, bool more, Steady::time_point until) {
    constexpr std::chrono::milliseconds look(100);
    int go_on = more ? 1 : 0;
    int done = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibcast(&go_on, 1, MPI_INT, 0, comm.handle(), &request), "MPI_Ibcast");
    for (check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test"); done == 0 && Steady::now() + look < until;) {
        std::this_thread::sleep_for(look);
        check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    }
    if (done == 0) {
        wait_quietly(&request);
    }
    return go_on != 0;
}

Json settings_in_force(const Communicator &comm) {
    MPI_Info info = MPI_INFO_NULL;
    check(MPIX_Harmonize_get_info(comm.handle(), &info), "MPIX_Harmonize_get_info");
    Json found;
    for (const char *key : {"clock", "sync", "max_skew", "max_wander", "validation"}) {
        std::array<char, MPI_MAX_INFO_VAL + 1> value{};
        int there = 0;
        check(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &there), "MPI_Info_get");
        found[key] = value.data();
    }
    check(MPI_Info_free(&info), "MPI_Info_free");
    return found;
}

/// A launcher that does not reach this MPI library starts each process as if it were the only one.
void check_alone(const Communicator &comm) {
    const char *tasks = std::getenv("SLURM_STEP_NUM_TASKS");
    if (comm.size() == 1 && tasks != nullptr && std::string_view(tasks) != "1") {
        throw Error::usage(fmt::format("each of {} processes finds only itself; start them with srun --mpi=pmix, or "
                                       "with what `srun --mpi=list` names",
                                       tasks));
    }
}

ExitStatus run(const Communicator &comm, const TimebaseOptions &options) {
    check_alone(comm);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        std::signal(number, [](int) { asked_to_stop = 1; });
    }
    const std::vector<std::string> hosts = comm.gather(host_name());
    check_everywhere(comm, MPIX_Harmonize_sync(comm.handle()), "cannot synchronize clocks");
    std::optional<TimebaseFile> file;
    comm.on_root([&] {
        file.emplace(options, hosts);
        return 0;
    });
    const Json settings = settings_in_force(comm);
    const auto begin = Steady::now();
    bool more = true;
    for (long number = 0;; ++number) {
        const std::vector<Sample> samples = gather(comm, take_sample(comm));
        if (comm.is_root()) {
            if (number == 0) {
                file->head(options, samples, settings);
            }
            file->add(number, samples);
        }
        if (!more) {
            break;
        }
        // Samples that are missed are left out.
        const double late = std::chrono::duration<double>(Steady::now() - begin).count();
        const std::chrono::duration<double> next((std::floor(late / options.interval) + 1) * options.interval);
        const auto until = begin + std::chrono::duration_cast<Steady::duration>(next);
        more = told_to_go_on(comm, comm.is_root() && wait_for_time(options, begin, until), until);
    }
    if (comm.is_root()) {
        file->finish();
    }
    return ExitStatus::success;
}

ParsedWork parse(int argc, char **argv, int) {
    CommandLine line(
        "Samples the clocks of all hosts against that of rank 0, as JSON lines, for `downbeat timebase`. Run "
        "one process per host under mpirun, mpiexec or srun; it sleeps between samples, and takes the last "
        "one after SIGTERM or SIGINT.",
        "downbeat-bench timebase");
    TimebaseOptions options;
    line.word("-o,--output", "FILE", options.output, "file to write [default: standard output]");
    line.number("--interval", "SECONDS", options.interval, 0.01, 3600.0, "time from one sample to the next");
    line.number("--seconds", "SECONDS", options.seconds, 0.0, 1e7, "end after this time [default: after a signal]");
    line.flag("--until-eof", options.until_eof, "end when rank 0's standard input ends");
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }
    return [options](const Communicator &comm, const std::string &) { return run(comm, options); };
}

} // namespace

SubcommandInfo subcommands::timebase() {
    return {{"timebase", "clocks of all hosts against that of rank 0, again and again, for other tools' stamps"},
            parse};
}

} // namespace bench
