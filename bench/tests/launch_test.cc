// A whole launch of operations whose times are known: what it keeps of every sample, how many it takes, and what it
// makes of them. Expectations come from the command lines and the stamps, not from the code.
#include "run/launch.h"

#include "mpi/communicator.h"
#include "text/words.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <set>
#include <thread>

namespace {
int exscans = 0; // since a test began to count
} // namespace

// Between the operations and MPI: every seventh call takes 2 ms longer.
int MPI_Exscan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    if (exscans++ % 7 == 6) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return PMPI_Exscan(send, receive, count, type, op, comm);
}

namespace bench {
namespace {

struct Kept {
    std::size_t cell;
    std::size_t block;
    long first_attempt;
    Batch batch;
    std::vector<Verdict> verdicts;
};

/// Keeps all that a launch reports.
class Keeper : public LaunchListener {
public:
    explicit Keeper(std::vector<Kept> &kept) : kept_(kept) {}
    void samples(const BatchReport &report) override {
        kept_.push_back({report.cell, report.block, report.first_attempt, report.batch, report.verdicts});
    }

private:
    std::vector<Kept> &kept_;
};

Options options_of(const Communicator &comm, std::vector<std::string> words) {
    words.insert(words.begin(), "downbeat-bench");
    words.insert(words.end(), {"-q", "--seed", "3", "--max-attempts", "4"});
    std::vector<char *> arguments;
    for (std::string &word : words) {
        arguments.push_back(word.data());
    }
    return std::get<Options>(parse_options(static_cast<int>(arguments.size()), arguments.data(), comm.size(), {}));
}

/// The batches and results of a run of downbeat-bench with these arguments, at rank 0.
struct Measured {
    Measured(const Communicator &comm, const std::vector<std::string> &words) : clock(comm, std::nullopt) {
        const Options options = options_of(comm, words);
        const auto begin = std::chrono::steady_clock::now();
        Launch launch(comm, clock, options, 3);
        launch.prepare();
        cells = launch.cells();
        Keeper keeper(kept);
        results = launch.run({&keeper});
        std::ranges::sort(results, {}, &CellResult::index);
        seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        limits = options.start_limits(clock.tolerance());
    }

    std::vector<const Kept *> of(std::size_t cell) const {
        std::vector<const Kept *> found;
        for (const Kept &one : kept) {
            if (one.cell == cell) {
                found.push_back(&one);
            }
        }
        return found;
    }

    GlobalClock clock;
    std::vector<Cell> cells;
    std::vector<Kept> kept;
    std::vector<CellResult> results;
    StartLimits limits;
    double seconds = 0.0;
};

constexpr long warmup = 2;
constexpr long wanted = 12; // 2 in the first blocks, 1 in the others
constexpr double us = 1e-6;

/// Why a sample does not count, by its stamps and flags.
Verdict judged(const Sample &sample, double late) {
    bool flagged = false;
    bool failed = false;
    for (std::size_t rank = 0; rank < sample.entry.size(); ++rank) {
        flagged = flagged || sample.flag[rank] == 0;
        failed = failed || sample.flag[rank] == 0 || sample.entry[rank] - sample.delay[rank] - sample.deadline > late;
    }
    return flagged ? Verdict::late_flag : failed ? Verdict::late_entry : Verdict::valid;
}

/// Counts, verdicts and errors of a cell, from its batches.
void check_counts(const Measured &run, std::size_t cell) {
    const CellResult &result = run.results.at(cell);
    const std::string name = describe_cell(result.cell);
    std::map<Verdict, long> counts;
    std::map<std::size_t, long> valid; // by block
    std::map<std::size_t, long> attempts;
    ClockError error;
    double spent = 0.0;
    double sum = 0.0;
    long next = 0;
    for (const Kept *const kept : run.of(cell)) {
        const Batch &batch = kept->batch;
        ASSERT_EQ(kept->verdicts.size(), batch.size());
        EXPECT_EQ(kept->first_attempt, next) << name;
        next += static_cast<long>(batch.size());
        const bool first = attempts.count(kept->block) == 0;
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const bool warm = first && i < static_cast<std::size_t>(warmup);
            EXPECT_EQ(kept->verdicts[i], warm ? Verdict::warmup : judged(batch[i], run.limits.late)) << name;
            ++counts[kept->verdicts[i]];
            if (kept->verdicts[i] == Verdict::valid) {
                ++valid[kept->block];
                for (const std::size_t rank : batch.timed) {
                    sum += (batch.exit[i * batch.ranks + rank] - batch.entry[i * batch.ranks + rank]) /
                           static_cast<double>(batch.calls) / static_cast<double>(batch.timed.size());
                }
            }
            attempts[kept->block] += warm ? 0 : 1;
        }
        error = larger(error, {.bound = batch.error_bound, .expected = batch.expected_error});
        spent += *std::ranges::max_element(batch.exit) - *std::ranges::min_element(batch.sync_entry);
    }
    const auto blocks = static_cast<long>(attempts.size());
    EXPECT_EQ(result.blocks, blocks) << name;
    EXPECT_EQ(result.discarded, warmup * blocks) << name;
    EXPECT_EQ(counts[Verdict::warmup], warmup * blocks) << name;
    EXPECT_EQ(result.valid, counts[Verdict::valid]) << name;
    EXPECT_EQ(result.late_flag, counts[Verdict::late_flag]) << name;
    EXPECT_EQ(result.late_entry, counts[Verdict::late_entry]) << name;
    EXPECT_EQ(result.requested, wanted) << name;
    EXPECT_EQ(result.status, result.valid == wanted ? CellStatus::ok
                             : result.valid > 0     ? CellStatus::incomplete
                                                    : CellStatus::failed)
        << name;
    long missing = wanted;
    long number = 0;
    for (const auto &[block, tried] : attempts) {
        const long asked = number < 10 ? (number < wanted % 10 ? 2 : 1) : missing; // a block makes up at the end
        EXPECT_LE(valid[block], asked) << name << ", block " << number;
        EXPECT_LE(tried, 4 * asked) << name;
        EXPECT_TRUE(valid[block] == asked || tried == 4 * asked) << name << ", block " << number;
        missing -= valid[block];
        ++number;
    }
    EXPECT_EQ(result.error_bound, error.bound) << name;
    EXPECT_EQ(result.expected_error, error.expected) << name;
    EXPECT_GT(result.error_bound, 0.0) << name;
    EXPECT_GT(result.error_bound, result.expected_error) << name;
    // Half a second, and a bound that clocks may drift by, are more than two clocks differ by.
    EXPECT_GE(result.wall_time, spent * (1 - 2e-3)) << name;
    EXPECT_LE(result.wall_time, run.seconds) << name;
    if (result.valid > 0) {
        EXPECT_NEAR(result.metric("latency_avg").mean, sum / static_cast<double>(result.valid), 1e-12) << name;
    }
}

/// Every rank's time in the operation and planned delay, in all samples.
void check_times(const Measured &run, std::size_t cell, double first, double step, long calls, double late) {
    const std::string name = describe_cell(run.results.at(cell).cell);
    EXPECT_EQ(run.results.at(cell).calls, calls) << name;
    std::vector<double> shortest;
    for (const Kept *const kept : run.of(cell)) {
        shortest.resize(kept->batch.ranks, 1.0);
        for (std::size_t i = 0; i < kept->batch.size(); ++i) {
            const Sample sample = kept->batch[i];
            for (std::size_t rank = 0; rank < shortest.size(); ++rank) {
                EXPECT_DOUBLE_EQ(sample.delay[rank], rank + 1 == shortest.size() ? late : 0.0) << name;
                shortest[rank] = std::min(shortest[rank], sample.exit[rank] - sample.entry[rank]);
            }
        }
    }
    for (std::size_t rank = 0; rank < shortest.size(); ++rank) {
        const double expected = static_cast<double>(calls) * (first + step * static_cast<double>(rank));
        EXPECT_GE(shortest[rank], expected * (1 - 2e-3)) << name; // clocks that may drift by 1e-3
        EXPECT_LE(shortest[rank], expected * 1.25 + 5 * us) << name;
    }
}

// Few cells: where processes wait for their turn, every message takes its time.
TEST(Launch, KeepsCountsAndJudgesWhatItMeasures) {
    const Communicator comm;
    const Measured run(comm, {"synthetic(duration=80us,step=20us)", "--sync", "roundtime(lead=500us)", "--timing",
                              "batch(calls=3)", "--pattern", "one_late(rank=1)", "--delay", "100us", "--warmup", "2",
                              "-r", "12"});
    ASSERT_EQ(run.cells.size(), 2U);
    if (!comm.is_root()) {
        return;
    }
    ASSERT_EQ(run.results.size(), 2U);
    std::map<std::size_t, std::set<std::size_t>> cells_of_blocks;
    for (const Kept &kept : run.kept) {
        cells_of_blocks[kept.block].insert(kept.cell);
    }
    for (std::size_t round = 0; round < 10; ++round) { // each cell has a block in each
        std::set<std::size_t> both = cells_of_blocks[2 * round];
        EXPECT_EQ(both.size(), 1U);
        both.merge(cells_of_blocks[2 * round + 1]);
        EXPECT_EQ(both.size(), 2U);
    }
    for (std::size_t cell = 0; cell < 2; ++cell) {
        check_counts(run, cell);
        check_times(run, cell, 80 * us, 20 * us, 3, cell == 0 ? 0.0 : 100 * us);
    }
    EXPECT_LE(run.results[0].wall_time + run.results[1].wall_time, run.seconds);
    EXPECT_TRUE(std::isnan(run.results[0].overlap_min.share));
    if (run.results[0].valid > 0 && run.results[1].valid > 0) {
        EXPECT_FALSE(std::isnan(run.results[1].overlap_min.share));
    }
}

/// The runs of these arguments, which estimate the times of calls.
std::vector<CellRun> made(const Communicator &comm, const GlobalClock &clock, const Options &options) {
    return LaunchPlan(comm, clock, options, 3).cell_runs();
}

// No estimate is shorter than the call, and that of an undisturbed try is it; what rests on it follows exactly.
TEST(LaunchPlan, EstimatesWhatTheSlowestRankTakes) {
    const Communicator comm;
    const GlobalClock clock(comm, std::nullopt);
    const Options options = options_of(comm, {"synthetic(duration=150us,step=50us,compute=auto)", "--sync", "none",
                                              "--timing", "per_call,batch(calls=5),batch_synced(calls=5)", "--pattern",
                                              "one_late", "--delay", "0.5x,70us"});
    const double step = 50 * us * (comm.size() - 1);
    const double slowest = 150 * us + step;
    double least = 1.0; // most that an estimate is too long by, in the best try
    for (int i = 0; i < 10 && least > 0.4; ++i) {
        const std::vector<CellRun> runs = made(comm, clock, options);
        ASSERT_EQ(runs.size(), 18U); // the call without computation comes along
        double most = 0.0;
        int computing = 0;
        for (const CellRun &run : runs) {
            const std::string name = describe_cell(run.cell);
            // With computation the shorter of both is hidden, the 150 us: it takes what it computes and the step.
            const bool computes = run.cell.operation != run.cell.pure_operation;
            const double expected = computes ? slowest + step : slowest;
            EXPECT_GE(run.planned.time, expected * (1 - 2e-3)) << name; // clocks that may drift by 1e-3
            EXPECT_GE(run.cell.computation, computes ? slowest * (1 - 2e-3) : 0.0) << name;
            most = std::max({most, run.planned.time / expected - 1, run.cell.computation / slowest - 1});
            computing += computes ? 1 : 0;
            const std::vector<double> delays = {0.0, 0.5 * run.planned.time, 70 * us};
            EXPECT_DOUBLE_EQ(run.cell.delay, delays[run.index % 3]) << name;
            const bool batch = run.cell.timing == "batch(calls=5)"; // of several calls from one start
            EXPECT_DOUBLE_EQ(run.duration, run.cell.delay + (batch ? 5 : 1) * run.planned.time) << name;
        }
        EXPECT_EQ(computing, 9);
        MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, comm.handle());
        least = std::min(least, most);
    }
    EXPECT_LE(least, 0.4);
}

// Neither the mean nor the largest: a few slow calls do not count.
TEST(LaunchPlan, EstimatesByTheMedian) {
    const Communicator comm;
    const GlobalClock clock(comm, std::nullopt);
    const Options options = options_of(comm, {"exscan", "-m", "8", "--sync", "none"});
    double shortest = 1.0;
    for (int i = 0; i < 10 && shortest > 0.2e-3; ++i) {
        exscans = 0;
        shortest = std::min(shortest, made(comm, clock, options).front().planned.time); // the same on all ranks
    }
    EXPECT_LE(shortest, 0.2e-3); // of the 2 ms
}

} // namespace
} // namespace bench
