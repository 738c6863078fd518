#include "mpi/processor_check.h"

#include "mpi/steady_time.h"
#include "rules/statistics.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bench {
namespace {

constexpr int repetitions = 21;
constexpr double nap = 1e-3;         // seconds
constexpr long shortest = 1000;      // ns: run/noise.py of Downbeat's Python has the same
constexpr long busy = 200'000'000;   // ns
constexpr long loop_steps = 500'000; // about a millisecond

/// Multiplications in a chain: each needs the result of the last.
void work(long steps) {
    volatile std::uint64_t state = 1;
    std::uint64_t value = state;
    for (long step = 0; step < steps; ++step) {
        value = value * 6364136223846793005U + 1442695040888963407U;
    }
    state = value;
}

double timed(const auto &action) {
    const long begin = unsteered_nanoseconds();
    action();
    return static_cast<double>(unsteered_nanoseconds() - begin) * 1e-9;
}

double count_interruptions() {
    const long begin = unsteered_nanoseconds();
    long before = begin;
    long interruptions = 0;
    while (before < begin + busy) {
        const long now = unsteered_nanoseconds();
        interruptions += now - before > shortest ? 1 : 0;
        before = now;
    }
    return static_cast<double>(interruptions) / (static_cast<double>(before - begin) * 1e-9);
}

} // namespace

ProcessorCheck check_processor() {
    std::vector<double> loops;
    std::vector<double> delays;
    for (int i = 0; i < repetitions; ++i) {
        loops.push_back(timed([] { work(loop_steps); }));
        delays.push_back(timed([] { sleep_for(nap); }) - nap);
    }
    return {known_median(loops), known_median(delays), count_interruptions()};
}

} // namespace bench
