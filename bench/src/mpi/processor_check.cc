// Measures the processor of a rank by short loops and sleeps (processor_check.h).
#include "mpi/processor_check.h"

#include "mpi/steady_time.h"
#include "rules/statistics.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bench {
namespace {

constexpr int repetitions = 21;            // of the loop of fixed work and of the sleep
constexpr double sleep_seconds = 1e-3;     // length of a sleep
constexpr long min_interruption_ns = 1000; // shorter gaps are no interruptions; as in Downbeat's run/noise.py
constexpr long window_ns = 20'000'000;     // length of a busy loop: several time slices of the scheduler
constexpr int windows = 10;                // number of busy loops
constexpr long loop_steps = 500'000;       // of the loop of fixed work, which takes about a millisecond

/// The fixed work: multiplications in a chain, where each needs the result of the preceding multiplication.
void work(long steps) {
    volatile std::uint64_t state = 1; // volatile: the compiler keeps the work
    std::uint64_t value = state;
    for (long step = 0; step < steps; ++step) {
        value = value * 6364136223846793005U + 1442695040888963407U;
    }
    state = value;
}

/// The duration of an action in seconds.
double timed(const auto &action) {
    const long begin = unsteered_nanoseconds();
    action();
    return static_cast<double>(unsteered_nanoseconds() - begin) * 1e-9;
}

/// The interruptions of a busy loop.
struct Interruptions {
    double count = 0.0;    // number
    double taken_ns = 0.0; // time that they took
    double total_ns = 0.0; // time of the busy loop
};

/// Reads the clock in a busy loop; a long gap between two readings is an interruption.
Interruptions find_interruptions() {
    Interruptions result;
    const long begin = unsteered_nanoseconds();
    long before = begin;
    while (before < begin + window_ns) {
        const long now = unsteered_nanoseconds();
        if (now - before > min_interruption_ns) {
            result.count += 1.0;
            result.taken_ns += static_cast<double>(now - before);
        }
        before = now;
    }
    result.total_ns = static_cast<double>(before - begin);
    return result;
}

} // namespace

ProcessorCheck check_processor() {
    std::vector<double> loops;
    std::vector<double> delays;
    for (int i = 0; i < repetitions; ++i) {
        loops.push_back(timed([] { work(loop_steps); }));
        delays.push_back(timed([] { sleep_for(sleep_seconds); }) - sleep_seconds);
    }
    double count = 0.0;
    double total_ns = 0.0;
    std::vector<double> shares; // of windows; the median ignores a process that runs only for a moment
    for (int i = 0; i < windows; ++i) {
        const Interruptions last = find_interruptions();
        count += last.count;
        total_ns += last.total_ns;
        shares.push_back(last.taken_ns / last.total_ns);
    }
    return {known_median(loops), known_median(delays), count / (total_ns * 1e-9), known_median(shares)};
}

} // namespace bench
