#include "run/sampler.h"

#include "mpi/communicator.h"
#include "run/neighbor_round_trip.h"
#include "text/error.h"
#include "text/words.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>

namespace bench {
namespace {

std::unique_ptr<Timing> timing_of(const std::string &text) {
    const Component component = parse_component("timing scheme", text, all_timings());
    return find_by_name(all_timings(), component.name()).make(component);
}

/// Synchronizes the clocks at every start, as MPIX_Harmonize does at some.
class Synchronizing : public Synchronizer {
public:
    explicit Synchronizing(const Communicator &comm) : comm_(comm) {}
    bool start(double) override {
        check(MPIX_Harmonize_sync(comm_.handle()), "MPIX_Harmonize_sync");
        return true;
    }
    bool synchronizes_clocks() const override { return true; }

private:
    const Communicator &comm_;
};

// An error bound grows until the next synchronization, so that one read later covers what was stamped before it.
TEST(Communicator, AnErrorOfAnyRankHasItsTextOnAllRanks) {
    const Communicator comm;
    EXPECT_NO_THROW(check_everywhere(comm, MPI_SUCCESS, "cannot begin"));
    for (int failing = 0; failing < comm.size(); ++failing) {
        try {
            check_everywhere(comm, comm.rank() == failing ? MPI_ERR_RANK : MPI_SUCCESS, "cannot begin");
            ADD_FAILURE() << "no error";
        } catch (const Error &error) {
            EXPECT_EQ(error.what(), "cannot begin: " + mpi_error_text(MPI_ERR_RANK));
            EXPECT_TRUE(error.known_everywhere());
        }
    }
}

TEST(Sampler, TheErrorBoundIsThatOfAllStamps) {
    const Communicator comm;
    const GlobalClock clock(comm, std::nullopt);
    const OperationInfo nothing = operations::nothing();
    const Component nothing_component("operation", nothing.name, nothing);
    const auto operation = nothing.make({comm.handle(), 0, nothing_component});
    Synchronizing synchronizer(comm);
    Sampler sampler(comm, clock, 0);
    Info patient; // only the start synchronizes
    patient.set("max_error", "1");
    patient.set("target_error", "1");
    patient.set("flag_error", "off");
    check(MPIX_Harmonize_set_info(comm.handle(), patient.handle()), "MPIX_Harmonize_set_info");
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // some 10 us of drift
    const ClockError before = clock.largest(clock.error());
    const Batch batch = sampler.sample(synchronizer, *operation, *timing_of("per_call"), {0.0}, 1e-6);
    if (comm.is_root()) {
        EXPECT_GE(batch.error_bound, before.bound); // the start made it small again
        EXPECT_GE(batch.expected_error, before.expected);
    }
}

/// Keeps the clock's error of every rank as it is in the last call, and takes so long that it grows.
class Aging : public Operation {
public:
    explicit Aging(const GlobalClock &clock) : clock_(clock) {}
    void run() override {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        last_ = clock_.error();
    }
    ClockError last_;

private:
    const GlobalClock &clock_;
};

/// Has a clock of its own, which every start leaves with the second error and finds with the first.
class Forgetful : public Synchronizer {
public:
    Forgetful(const ClockError &before, const ClockError &after) : error_(before), after_(after) {}
    long longest_series(double, double) const override { return 2; }
    bool start(double) override {
        error_ = after_;
        return true;
    }
    ClockError clock_error() const override { return error_; }

private:
    ClockError error_;
    ClockError after_;
};

// Errors of clocks that nothing synchronizes grow; so that of the last stamps is between those just before and after.
TEST(Sampler, TheErrorBoundIsThatOfBothClocksWhereTheyAreWorst) {
    const Communicator comm;
    const GlobalClock clock(comm, std::nullopt);
    for (const auto &[before, after] :
         {std::pair(ClockError{}, ClockError{}), std::pair(ClockError{.bound = 2.0, .expected = 1.0}, ClockError{}),
          std::pair(ClockError{.bound = 1.0, .expected = 0.5}, ClockError{.bound = 3.0, .expected = 2.0})}) {
        Aging operation(clock);
        Forgetful synchronizer(before, after);
        Sampler sampler(comm, clock, 0);
        const ClockError first = clock.largest(clock.error());
        const Batch batch = sampler.sample(synchronizer, operation, *timing_of("per_call"), {0.0, 0.0, 0.0}, 1e-6);
        const ClockError last = clock.largest(operation.last_);
        const ClockError now = clock.largest(clock.error());
        if (!comm.is_root()) {
            continue;
        }
        const double own = std::max(before.bound, after.bound);
        EXPECT_GE(batch.error_bound, own + last.bound);
        EXPECT_LE(batch.error_bound, own + now.bound);
        const double expected = std::max(before.expected, after.expected);
        EXPECT_GE(batch.expected_error, std::hypot(expected, last.expected));
        EXPECT_LE(batch.expected_error, std::hypot(expected, now.expected));
        if (comm.size() > 1) {
            EXPECT_GT(last.bound, first.bound); // else none of this could fail
            EXPECT_GT(last.expected, 0.0);
        }
    }
}

/// Series of two starts. Start i of a rank is late where i is its rank, and where the rank is 1, too, it is unsure.
class Scripted : public Synchronizer {
public:
    explicit Scripted(const Communicator &comm) : comm_(comm) {}
    void prepare(const Series &series) override { series_.push_back(series.starts); }
    long longest_series(double, double) const override { return 2; }
    bool start(double) override { return starts_++ != comm_.rank(); }
    Start last_start() const override {
        const auto number = static_cast<double>(starts_);
        return {.deadline = number, .slack = number / 2, .end = number + 1};
    }
    bool unsure() const override { return comm_.rank() == 1; }
    ClockError clock_error() const override {
        return {.bound = 1.0 + comm_.rank() + starts_, .expected = 0.5 * starts_};
    }

    std::vector<long> series_;

private:
    const Communicator &comm_;
    int starts_ = 0;
};

/// Weighs two, and has computed as many seconds as it was run.
class Computing : public Operation {
public:
    explicit Computing(std::vector<std::size_t> timed) : timed_(std::move(timed)) {}
    void run() override { ++runs_; }
    long weight() const override { return 2; }
    std::vector<std::size_t> timed_ranks() const override { return timed_; }
    double take_computed() override { return runs_; }

private:
    std::vector<std::size_t> timed_;
    int runs_ = 0;
};

long long calls_of(const Communicator &comm) {
    MPIX_Harmonize_stats stats;
    check(MPIX_Harmonize_get_stats(comm.handle(), &stats), "MPIX_Harmonize_get_stats");
    return stats.calls;
}

TEST(Sampler, RecordsAnAttemptForEachDelayOfEachRank) {
    const Communicator comm;
    const GlobalClock clock(comm, std::nullopt);
    Scripted synchronizer(comm);
    Computing operation({});
    Sampler sampler(comm, clock, comm.size() - 1);
    const long long refreshed = calls_of(comm);
    const double before = clock.now();
    const double own = 10.0 * comm.rank();
    const Batch batch =
        sampler.sample(synchronizer, operation, *timing_of("per_call"), {own, own + 1, own + 2, own + 3, own + 4}, 1.0);
    EXPECT_EQ(synchronizer.series_, (std::vector<long>{2, 2, 1}));
    EXPECT_EQ(calls_of(comm) - refreshed, 3); // clocks are looked after before each series
    const auto ranks = static_cast<std::size_t>(comm.size());
    EXPECT_EQ(batch.ranks, ranks);
    if (!comm.is_root()) {
        EXPECT_EQ(batch.size(), 0U);
        return;
    }
    EXPECT_EQ(batch.calls, 2);
    EXPECT_EQ(batch.observed, ranks - 1);
    EXPECT_GE(batch.error_bound, static_cast<double>(ranks + 5)); // of the last rank's clock, after the last start
    EXPECT_GE(batch.expected_error, 2.5);
    ASSERT_EQ(batch.timed.size(), ranks);
    EXPECT_EQ(batch.deadline, (std::vector<double>{1, 2, 3, 4, 5}));
    EXPECT_EQ(batch.slack, (std::vector<double>{0.5, 1, 1.5, 2, 2.5}));
    EXPECT_EQ(batch.end, (std::vector<double>{2, 3, 4, 5, 6}));
    ASSERT_EQ(batch.delay.size(), 5 * ranks);
    double last = before;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const Sample sample = batch[i];
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            EXPECT_EQ(sample.timed[rank], rank);
            EXPECT_EQ(sample.delay[rank], static_cast<double>(10 * rank + i));
            EXPECT_EQ(sample.computed[rank], static_cast<double>(i + 1));
            EXPECT_EQ(sample.flag[rank], i == rank ? 0 : 1);
            EXPECT_EQ(sample.unsure[rank], i == 1 && rank == 1 ? 1 : 0);
            EXPECT_LE(sample.sync_entry[rank], sample.entry[rank]);
            EXPECT_LE(sample.entry[rank], sample.exit[rank]);
        }
        EXPECT_LE(last, sample.sync_entry[0]);
        last = sample.exit[0];
    }
}

TEST(Sampler, TimesTheRanksOfTheOperation) {
    const Communicator comm;
    const GlobalClock clock(comm, std::nullopt);
    Scripted synchronizer(comm);
    Computing operation({0});
    Sampler sampler(comm, clock, 0);
    const Batch batch = sampler.sample(synchronizer, operation, *timing_of("batch(calls=3)"), {0.0}, 1.0);
    if (comm.is_root()) {
        EXPECT_EQ(batch.calls, 6);
        EXPECT_EQ(batch.timed, std::vector<std::size_t>{0});
        EXPECT_EQ(batch.computed[0], 3.0);
    }
}

// The mean over some pairs of stamps: no less than the shortest of many.
TEST(Sampler, AStampCostsWhatTwoReadingsAreApart) {
    const Communicator comm;
    const GlobalClock clock(comm, std::nullopt);
    const double cost = measure_stamp_cost(comm, clock);
    const StampClock stamps = clock.stamps();
    double shortest = 1.0;
    for (int batch = 0; batch < 200; ++batch) { // a mean has a step that single readings may not
        const std::int64_t begin = stamps.read();
        std::int64_t end = begin;
        for (int i = 0; i < 100; ++i) {
            end = stamps.read();
        }
        shortest = std::min(shortest, (stamps.seconds(end) - stamps.seconds(begin)) / 100);
    }
    if (comm.is_root()) {
        EXPECT_GE(cost, 0.4 * shortest);
    }
    EXPECT_EQ(cost > 0.0, comm.is_root());
}

/// Events between the stamps and around them: R for a reading of the clock, else the letter of the caller.
std::string events;

std::int64_t read_and_tell(const void *) {
    events += 'R';
    return static_cast<std::int64_t>(events.size());
}

class Telling : public Operation {
public:
    void run() override { events += 'o'; }
};

class TellingSynchronizer : public Synchronizer {
public:
    bool start(double) override {
        events += 's';
        return true;
    }
};

TEST(Timings, ReadTheClockRightBeforeAndRightAfterTheCalls) {
    Downbeat_clock line{};
    line.read = read_and_tell;
    line.ticks = 1;
    line.global = 1000;
    line.tick = 0.5;
    const StampClock clock(line);
    Telling operation;
    TellingSynchronizer synchronizer;
    for (const auto &[scheme, expected] : {std::pair("per_call", "RoR"), std::pair("batch(calls=2)", "RooR"),
                                           std::pair("batch_synced(calls=2)", "RososR"), std::pair("window", "RoR")}) {
        events.clear();
        const Stamps stamps = timing_of(scheme)->run(operation, synchronizer, clock);
        EXPECT_EQ(events, expected);
        EXPECT_EQ(stamps.entry, 1) << scheme;
        EXPECT_EQ(stamps.exit, static_cast<std::int64_t>(events.size())) << scheme;
        EXPECT_DOUBLE_EQ(clock.seconds(stamps.entry), 1000e-9) << scheme;
        EXPECT_DOUBLE_EQ(clock.seconds(stamps.entry + 5), 1002.5e-9) << scheme;
    }
}

/// Reads the global clock in the operation.
class Reading : public Operation {
public:
    explicit Reading(const GlobalClock &clock) : clock_(clock) {}
    void run() override {
        if (times_.empty() || !within_) {
            times_.push_back(clock_.now());
        }
        within_ = true;
    }
    double take_computed() override {
        within_ = false;
        return times_.back();
    }

private:
    const GlobalClock &clock_;
    std::vector<double> times_; // of the first call of each sample
    bool within_ = false;
};

// Rank 1's clock gains 10 us between synchronizations, each of which takes them back. Whatever a sample synchronizes, a
// stamp is on the clock as it was then.
TEST(Sampler, StampsAreConvertedAsTheClockWasThen) {
    setenv("DOWNBEAT_VALIDATION", "offset=1e-3,skew=2e-4", 1);
    setenv("DOWNBEAT_SYNC", "skampi", 1);
    const Communicator comm;
    const GlobalClock clock(comm, std::nullopt);
    unsetenv("DOWNBEAT_VALIDATION");
    unsetenv("DOWNBEAT_SYNC");
    Synchronizing synchronizer(comm);
    Sampler sampler(comm, clock, 0);
    for (const char *const scheme : {"per_call", "batch_synced(calls=1)"}) {
        Reading operation(clock);
        std::vector<double> gaps(static_cast<std::size_t>(comm.size()), 1.0); // smallest from a stamp to the operation
        for (int i = 0; i < 5; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            const double before = clock.now();
            const Batch batch = sampler.sample(synchronizer, operation, *timing_of(scheme), {0.0}, 1e-6);
            const double after = clock.now();
            for (std::size_t rank = 0; rank < batch.entry.size(); ++rank) {
                EXPECT_LE(batch.entry[rank], batch.computed[rank]) << scheme << ' ' << rank;
                gaps[rank] = std::min(gaps[rank], batch.computed[rank] - batch.entry[rank]);
            }
            if (comm.is_root()) {
                EXPECT_LE(before, batch.sync_entry[0]);
                EXPECT_LE(batch.exit[0], after);
            }
        }
        for (std::size_t rank = 0; comm.is_root() && rank < gaps.size(); ++rank) {
            EXPECT_LT(gaps[rank], 2e-6) << scheme << ' ' << rank;
        }
    }
}

/// All on one processor, or on those they had.
class Crowded {
public:
    Crowded() {
        sched_getaffinity(0, sizeof before_, &before_);
        int first = 0;
        while (!CPU_ISSET(first, &before_)) {
            ++first;
        }
        MPI_Bcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(first, &one);
        sched_setaffinity(0, sizeof one, &one);
    }
    ~Crowded() { sched_setaffinity(0, sizeof before_, &before_); }

private:
    cpu_set_t before_{};
};

TEST(NeighborRoundTrip, IsATimeBetweenTwoRanks) {
    const Communicator comm;
    NeighborRoundTrip round_trip(comm);
    double shortest = 1.0;
    for (int i = 0; i < 200; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const double reading = round_trip.read();
        const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (!comm.is_root() || comm.size() == 1) {
            EXPECT_TRUE(std::isnan(reading));
        } else if (!std::isnan(reading)) { // the processor of one was taken away
            EXPECT_GT(reading, 0.0);
            EXPECT_LT(16 * reading, took); // the batch is a part of it
            shortest = std::min(shortest, reading);
        }
    }
    if (comm.is_root() && comm.size() > 1) {
        EXPECT_LT(shortest, 1.0);
    }
}

TEST(NeighborRoundTrip, OfRanksThatShareAProcessorIsNone) {
    const Communicator comm;
    NeighborRoundTrip round_trip(comm);
    const Crowded crowded;
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(std::isnan(round_trip.read()));
    }
}

/// While it lives, odd ranks stop for 2 ms every few, longer than a reading waits.
class Absent {
public:
    explicit Absent(int rank) : before_(std::signal(SIGALRM, [](int) { ::usleep(2000); })) {
        const itimerval often{{0, 2500}, {0, rank % 2 == 1 ? 100 : 0}};
        setitimer(ITIMER_REAL, &often, nullptr);
    }
    ~Absent() {
        const itimerval never{};
        setitimer(ITIMER_REAL, &never, nullptr);
        std::signal(SIGALRM, before_);
    }

private:
    void (*before_)(int);
};

TEST(NeighborRoundTrip, GivesUpAPartnerThatDoesNotAnswer) {
    const Communicator comm;
    NeighborRoundTrip round_trip(comm);
    const Absent absent(comm.rank());
    for (int i = 0; i < 200; ++i) {
        const double reading = round_trip.read();
        EXPECT_TRUE(std::isnan(reading) || (reading > 0.0 && reading < 500e-6));
    }
}

TEST(Sampler, DeadlinesAreThoseOfTheStartBeforeTheFirstCall) {
    const Communicator comm;
    const GlobalClock clock(comm, std::nullopt);
    Scripted synchronizer(comm);
    Computing operation({});
    Sampler sampler(comm, clock, 0);
    const Batch batch = sampler.sample(synchronizer, operation, *timing_of("batch_synced(calls=3)"), {0.0, 0.0}, 1.0);
    if (comm.is_root()) {
        EXPECT_EQ(batch.deadline[0], 1.0);
        EXPECT_GT(batch.deadline[1], 2.0);
    }
}

} // namespace
} // namespace bench

int main(int argc, char **argv) {
    // Clocks that may drift by 1e-3 and are never synchronized unasked.
    for (const auto &[name, value] : {std::pair("DOWNBEAT_SHARE", "never"), std::pair("DOWNBEAT_MAX_SKEW", "1e-3"),
                                      std::pair("DOWNBEAT_MAX_ERROR", "1e3"), std::pair("DOWNBEAT_MAX_AGE", "1e5")}) {
        setenv(name, value, 1);
    }
    testing::InitGoogleTest(&argc, argv);
    MPI_Init(&argc, &argv);
    const int status = RUN_ALL_TESTS();
    MPI_Finalize();
    return status;
}
