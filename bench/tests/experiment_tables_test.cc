#include "drift/results.h"
#include "files.h"
#include "list/parts.h"
#include "rtt/results.h"

#include <gtest/gtest.h>
#include <numeric>

namespace bench {
namespace {

using ExperimentTables = Files;

TEST_F(ExperimentTables, Rtt) {
    RttOptions options;
    options.pairs = {{0, 1}, {2, 0}};
    options.count = 2000;
    options.resamples = 20;
    std::vector<RttPair> pairs;
    for (const Pair &pair : options.pairs) {
        // A triangle from 1 us upwards, in steps of a clock that ticks every 16 ns.
        std::vector<double> rtt;
        for (int i = 0; i < options.count; ++i) {
            rtt.push_back(1e-6 * (pair.asker + 1) + 16e-9 * ((i % 37) + (i % 41)));
        }
        pairs.push_back(study_rtts(pair, rtt, rtt, options.resamples, 7));
    }
    const std::string text = rtt_table(options, 7, pairs);
    expect_golden(text, "rtt.txt");
    expect_narrow(text);
}

TEST_F(ExperimentTables, Drift) {
    DriftOptions options;
    options.duration = 15.0;
    options.interval = 0.5;
    options.estimator = "skampi";
    std::vector<double> started;
    std::vector<DriftPair> pairs;
    for (const Pair &pair : {Pair{0, 1}, Pair{0, 12}}) {
        started.clear();
        DriftSeries series{pair, {}, {}, {}, {}};
        for (int i = 0; i <= 30; ++i) {
            const double time = 0.5 * i;
            started.push_back(time);
            series.at.push_back(time);
            series.offset.push_back(0.25 - 8e-6 * pair.answerer * time + 1e-9 * time * time);
        }
        pairs.push_back(study_drift(series));
    }
    const std::string text = drift_table(options, started, pairs);
    expect_golden(text, "drift.txt");
    expect_narrow(text);
}

std::vector<ListedKind> kinds() {
    return {
        {"scheme",
         "clock synchronization schemes",
         {{"hca3",
           "a summary so long that it does not fit on what is left of the line, and so goes on below where it began",
           "Hunold 2018",
           {{"fit", "500", "fit points", "", PartValues::whole(2, 1e6)},
            {"offset", "skampi", "estimator", "offset", {}}}}}},
        {"metric", "numbers drawn from a sample", {{"makespan", "to the last exit", "", {}}}}};
}

TEST_F(ExperimentTables, List) {
    const std::string text = list_table(kinds());
    expect_golden(text, "list.txt");
    expect_narrow(text);
}

TEST_F(ExperimentTables, ListAsJson) { expect_golden(list_json(kinds()), "list.json"); }

} // namespace
} // namespace bench
