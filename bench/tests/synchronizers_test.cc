// Decisions of synchronizers, on clocks of their own; tests/bench runs them on a machine.
#include "synchronizers/synchronizer.h"

#include "mpi/communicator.h"
#include "text/words.h"

#include <array>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <thread>

bool no_barrier = false; // whether MPI_Barrier returns at once

namespace {
int mpi_barriers = 0;

/// Ten broadcasts after the first, from rank 0's reading, which they bring, on.
struct Broadcasts {
    const bench::GlobalClock *clock = nullptr; // that they are checked with
    int count = 0;
    double value = 0.0;    // of the last
    bool open = false;     // the last has ended, and the clock may not have been read since
    double least = 0.0;    // seconds until they had ended, sum
    double most = 0.0;     // until the next call of MPI
    double gathered = 0.0; // when the last barrier had ended
    void close() {
        if (open && count > 1) {
            most += clock->now() - value;
        }
        open = false;
    }
};
Broadcasts seen;
} // namespace

// Between the synchronizers and MPI.
int MPI_Barrier(MPI_Comm comm) {
    ++mpi_barriers;
    seen.close();
    const int code = no_barrier ? MPI_SUCCESS : PMPI_Barrier(comm);
    seen.gathered = seen.clock != nullptr ? seen.clock->now() : 0.0;
    return code;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    const int code = PMPI_Bcast(buffer, count, type, root, comm);
    if (seen.clock != nullptr && ++seen.count <= 11) {
        std::this_thread::sleep_for(std::chrono::microseconds(300)); // makes readings of the clock short beside it
        seen.value = *static_cast<double *>(buffer);
        seen.least += seen.count > 1 ? seen.clock->now() - seen.value : 0.0;
        seen.open = true;
    }
    return code;
}

int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    seen.close();
    return PMPI_Allreduce(send, receive, count, type, op, comm);
}

namespace bench {
namespace {

/// A synchronizer with all that it needs.
class Made {
public:
    explicit Made(const std::string &text)
        : clock_(comm_, std::nullopt), harmonized_(comm_, clock_),
          component_(parse_component("synchronizer", text, all_synchronizers())) {
        check(MPI_Comm_dup(comm_.handle(), &messages_), "MPI_Comm_dup");
        check(MPI_Comm_dup(comm_.handle(), &barrier_), "MPI_Comm_dup");
        synchronizer_ = find_by_name(all_synchronizers(), component_.name())
                            .make({comm_, clock_, messages_, barrier_, harmonized_, component_});
    }
    ~Made() {
        synchronizer_.reset();
        MPI_Comm_free(&barrier_);
        MPI_Comm_free(&messages_);
    }
    Made(const Made &) = delete;
    Made &operator=(const Made &) = delete;

    Synchronizer *operator->() const { return synchronizer_.get(); }
    const GlobalClock &clock() const { return clock_; }
    const Communicator &comm() const { return comm_; }

    /// From one start to the next, in a series of two that fit. No rank waits for a start with a delay far in the past.
    double window() const {
        synchronizer_->prepare({2, 1e-6});
        synchronizer_->start(-2000.0);
        const double first = synchronizer_->last_start().deadline;
        synchronizer_->start(-1000.0);
        return synchronizer_->last_start().deadline - first;
    }

private:
    Communicator comm_;
    GlobalClock clock_;
    HarmonizedComms harmonized_;
    Component component_;
    MPI_Comm messages_ = MPI_COMM_NULL;
    MPI_Comm barrier_ = MPI_COMM_NULL;
    std::unique_ptr<Synchronizer> synchronizer_;
};

/// A series of five windows; the first says nothing. A rank whose delay falls from call to call takes that much time,
/// one whose delay rises arrives that much earlier.
void run_series(const Made &made, bool missed) {
    made->prepare({5, 1e-6});
    for (const double step : {0.0, 1.0, 2.0, 3.0, 4.0}) {
        made->start(missed ? -1000.0 * (1.0 + step) : -1000.0 * (5.0 - step));
    }
}

TEST(Window, FollowsWhatTheSlowestRankNeededInTheSeriesBefore) {
    const Made made("window(size=1ms,growth=3,share=0.5)");
    run_series(made, false);
    EXPECT_NEAR(made.window(), 1e-3, 1e-9);
    run_series(made, made.comm().rank() == made.comm().size() - 1);
    EXPECT_NEAR(made.window(), 3e-3, 1e-9);
    run_series(made, made.comm().is_root());
    EXPECT_NEAR(made.window(), 3e-3, 1e-9); // that of window() fitted, that of run_series() did not
    EXPECT_NEAR(made.window(), 1e-3, 1e-9);
}

// Ten mean broadcasts after rank 0 decides, which is after the barrier that all enter.
TEST(Window, BeginsWhenAllHaveHeardOfIt) {
    const Made made("window(size=1ms)");
    seen = {.clock = &made.clock()};
    for (int i = 0; i < 3; ++i) {
        made->prepare({1, 1e-6});
        const double after = made.clock().now();
        std::array<double, 2> lags = {seen.least, seen.most}; // sums of ten
        PMPI_Allreduce(MPI_IN_PLACE, lags.data(), 2, MPI_DOUBLE, MPI_MAX, made.comm().handle());
        const double gathered = seen.gathered;
        made->start(-1000.0);
        if (made.comm().is_root()) {
            EXPECT_GE(made->last_start().deadline, gathered + lags[0]);
            EXPECT_LE(made->last_start().deadline, after + lags[1]);
        }
    }
    seen = {};
}

TEST(Window, HasAnEndWhereSamplesAreRepeated) {
    const Made keep("window(size=1ms)");
    EXPECT_NEAR(keep.window(), 1e-3, 1e-9);
    EXPECT_TRUE(std::isnan(keep->last_start().end));
    EXPECT_TRUE(std::isnan(keep->last_start().slack));
    const Made repeat("window(size=1ms,overrun=repeat)");
    EXPECT_NEAR(repeat.window(), 1e-3, 1e-9);
    EXPECT_NEAR(repeat->last_start().end - repeat->last_start().deadline, 1e-3, 1e-9);
}

TEST(Window, SeriesAreAsLongAsClocksMayGoUnwatched) {
    const Made made("window(size=1ms)");
    made.window();
    EXPECT_EQ(made->longest_series(1e-6, 0.0505), 50);
    EXPECT_EQ(made->longest_series(1.0, 0.0505), 50); // the size was asked for
    EXPECT_EQ(made->longest_series(1e-6, 1.0), 100);
    EXPECT_EQ(made->longest_series(1e-6, 0.0), 1);
    const Made found("window");
    EXPECT_EQ(found->longest_series(5e-3, 0.1), 9); // twice the call, and 10 us
}

TEST(Window, AdvisesALargerOne) {
    const Made made("window(size=1ms)");
    made.window();
    EXPECT_EQ(made->advice(), "a window larger than 1e+03 us, e.g. window(size=10000us); at most one rank per "
                              "processor, an idle machine");
    const Made fixed("window(size=1ms,growth=1)");
    fixed.window();
    EXPECT_EQ(fixed->advice(), "a window larger than 1e+03 us, e.g. window(size=10000us), or one that grows, e.g. "
                               "growth=2; at most one rank per processor, an idle machine");
}

TEST(RoundTime, StartsAfterItsLeadAndTheDelayOfTheRank) {
    const Made made("roundtime(lead=2ms)");
    made->prepare({1, 1e-6});
    const double before = made.clock().now();
    made->start(3e-3);
    const double after = made.clock().now();
    const Start start = made->last_start();
    EXPECT_EQ(start.slack, 2e-3);
    EXPECT_GE(after, start.deadline + 3e-3 - 1e-9);
    if (made.comm().is_root()) {
        EXPECT_GE(start.deadline, before + 2e-3);
    }
    double deadline = start.deadline;
    check(MPI_Bcast(&deadline, 1, MPI_DOUBLE, 0, made.comm().handle()), "MPI_Bcast");
    EXPECT_EQ(start.deadline, deadline);
    EXPECT_EQ(made->advice(),
              "a start more than 2e+03 us after the decision, e.g. roundtime(lead=20000us); at most one "
              "rank per processor, an idle machine");
}

// The lag of a broadcast, less the time between two readings of the clock, is what this file saw of it.
TEST(RoundTime, WaitsForAsManyMeanBroadcastsAsAsked) {
    for (const double factor : {1.0, 5.0, 50.0}) {
        const Made made(fmt::format("roundtime(factor={:g})", factor));
        seen = {.clock = &made.clock()};
        made->prepare({1, 1e-6});
        made->start(0.0);
        const double slack = made->last_start().slack;
        std::array<double, 2> lags = {seen.least, seen.most};
        seen = {};
        MPI_Allreduce(MPI_IN_PLACE, lags.data(), 2, MPI_DOUBLE, MPI_MAX, made.comm().handle());
        EXPECT_GT(slack, 0.0);
        EXPECT_GE(slack, factor * lags[0] / 10);
        EXPECT_LE(slack, factor * lags[1] / 10);
        made->prepare({1, 1e-6}); // measures no more
        made->start(0.0);
        EXPECT_EQ(made->last_start().slack, slack);
        EXPECT_NE(made->advice().find(fmt::format("e.g. roundtime(factor={:g}); ", 10 * factor)), std::string::npos);
    }
}

TEST(RoundTime, HasABudgetWhereOneIsAskedFor) {
    EXPECT_EQ(Made("roundtime")->budget(), std::nullopt);
    EXPECT_EQ(Made("roundtime(budget=3s)")->budget(), 3.0);
    EXPECT_EQ(Made("window")->budget(), std::nullopt);
}

TEST(Synchronizers, CallMpiBarrierAsOftenAsTheySay) {
    for (const auto &[text, count] :
         {std::pair("none", 0), std::pair("mpi_barrier", 1), std::pair("mpi_barrier(count=7)", 7),
          std::pair("double_mpi_barrier", 2), std::pair("bruck", 0), std::pair("tree", 0), std::pair("central", 0),
          std::pair("roundtime", 1), std::pair("roundtime(lead=1ms)", 0), std::pair("harmonize", 0),
          std::pair("harmonize(after=double_mpi_barrier)", 2)}) {
        const Made made(text);
        made->prepare({1, 1e-6});
        mpi_barriers = 0;
        made->start(0.0);
        EXPECT_EQ(mpi_barriers, count) << text;
        const Component component = parse_component("synchronizer", text, all_synchronizers());
        EXPECT_EQ(find_by_name(all_synchronizers(), component.name()).calls_mpi_barrier(component), count > 0) << text;
    }
}

TEST(Synchronizers, BarriersDelayARankAfterThem) {
    const Made made("none");
    const double before = made.clock().now();
    EXPECT_TRUE(made->start(2e-3));
    EXPECT_GE(made.clock().now(), before + 2e-3 - 1e-9);
    EXPECT_TRUE(std::isnan(made->last_start().deadline));
}

TEST(Synchronizers, HaveTheseParametersAndRanges) {
    std::vector<std::string> found;
    for (const SynchronizerInfo &info : all_synchronizers()) {
        for (const ComponentParameter &one : info.parameters) {
            if (one.values.high > 0.0) {
                found.push_back(fmt::format("{}.{}={} from {:g} to {:g}", info.name, one.name, one.value,
                                            one.values.low, one.values.high));
            }
        }
    }
    EXPECT_EQ(found, (std::vector<std::string>{
                         "mpi_barrier.count=1 from 1 to 1e+06", "window.size=auto from 1e-09 to 1000",
                         "window.growth=2 from 1 to 1000", "window.share=0.25 from 0 to 1",
                         "roundtime.budget=auto from 1e-06 to 1e+06", "roundtime.factor=3 from 0 to 1e+06",
                         "roundtime.lead=auto from 1e-06 to 1000"}));
}

} // namespace
} // namespace bench
