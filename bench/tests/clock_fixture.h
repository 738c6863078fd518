#pragma once

#include "experiments/clock_results.h"

#include <limits>
#include <utility>
#include <vector>

namespace bench {

/// Three schemes, two repetitions, two waits and three ranks. The last rank is checked.
inline ClockResults clock_fixture() {
    ClockResults results;
    results.options.schemes = {"slow", "quick", "hca3(fit=500,over=2,offset=skampi(min=10,max=100),intercept=fit)"};
    results.options.waits = {0.0, 4.0};
    results.options.repetitions = 2;
    results.options.checked = {2};
    results.options.estimator = "skampi";
    results.truth = true;
    results.clock_domains = 3;
    results.barrier = {1e-6, 3e-6};
    const auto event = [](double wait, double error1, double error2, double bound) {
        const double none = std::numeric_limits<double>::quiet_NaN();
        return ClockEvent{wait,
                          {none, none, wait + 0.5},
                          {none, none, error2},
                          {none, none, 1e-8},
                          {0.0, bound, bound},
                          {0.0, bound / 2, bound / 2},
                          {0.0, error1, error2}};
    };
    const auto run = [](long position, double duration, double messages, std::vector<ClockEvent> events) {
        return ClockRun{position, duration, messages, std::move(events)};
    };
    results.first = {run(0, 1.5, 400, {event(0.0, 1e-8, 2e-8, 5e-8), event(4.0, -1e-7, 3e-7, 4e-7)}),
                     run(1, 1e-3, 30, {event(0.0, 1e-8, 2e-8, 5e-8), event(4.0, 2e-5, 3e-5, 4e-5)}),
                     run(2, 1e-3, 50, {event(0.0, 1e-8, 2e-8, 5e-8), event(4.0, 2e-5, 2.5e-5, 4e-5)})};
    results.runs = {{run(0, 1.0, 300, {event(0.0, 1e-8, 2e-8, 5e-8), event(4.0, -1e-7, 2e-7, 4e-7)}),
                     run(1, 2.0, 100, {event(0.0, 1e-8, -4e-8, 5e-8), event(4.25, 3e-7, -4e-7, 4e-7)})},
                    {run(1, 1e-5, 20, {event(0.0, 1e-8, 2e-8, 5e-8), event(4.0, 8e-6, 9e-6, 1e-5)}),
                     run(2, 3e-5, 20, {event(0.0, 3e-8, 2e-8, 5e-8), event(4.0, 8e-6, 11e-6, 1e-5)})},
                    {run(2, 4e-5, 40, {event(0.0, 1e-8, 2e-8, 5e-8), event(4.0, 8e-6, 9e-6, 2e-5)}),
                     run(0, 4e-5, 40, {event(0.0, 1e-8, 2e-8, 5e-8), event(4.0, 8e-6, 11e-6, 2e-5)})}};
    return results;
}

} // namespace bench
