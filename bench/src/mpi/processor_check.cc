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
constexpr long window = 20'000'000;  // ns; several time slices of the scheduler
constexpr int windows = 10;          // of a busy loop
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

struct Interruptions {
    double count = 0.0;
    double taken = 0.0; // ns
    double total = 0.0; // ns, of the busy loop
};

Interruptions find_interruptions() {
    Interruptions result;
    const long begin = unsteered_nanoseconds();
    long before = begin;
    while (before < begin + window) {
        const long now = unsteered_nanoseconds();
        if (now - before > shortest) {
            result.count += 1.0;
            result.taken += static_cast<double>(now - before);
        }
        before = now;
    }
    result.total = static_cast<double>(before - begin);
    return result;
}

} // namespace

ProcessorCheck check_processor() {
    std::vector<double> loops;
    std::vector<double> delays;
    for (int i = 0; i < repetitions; ++i) {
        loops.push_back(timed([] { work(loop_steps); }));
        delays.push_back(timed([] { sleep_for(nap); }) - nap);
    }
    double count = 0.0;
    double total = 0.0;
    std::vector<double> shares; // a process that comes and goes takes few of the windows
    for (int i = 0; i < windows; ++i) {
        const Interruptions last = find_interruptions();
        count += last.count;
        total += last.total;
        shares.push_back(last.taken / last.total);
    }
    return {known_median(loops), known_median(delays), count / (total * 1e-9), known_median(shares)};
}

} // namespace bench
