#include "files.h"
#include "fixture.h"
#include "output/json_records.h"
#include "output/sinks/format.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

class Perfetto : public Files {
protected:
    /// The trace of batches of one cell.
    Json trace(const std::vector<FixtureBatch> &batches, long trace_samples) const {
        const std::string file = path("out.perfetto.json");
        const auto trace = find_format(file).make_trace(file);
        SamplingContext context = fixture_context();
        context.trace_samples = trace_samples;
        trace->begin(context, fixture_cells());
        long attempt = 0;
        for (const FixtureBatch &fixture : batches) {
            trace->samples({fixture.cell, 0, attempt, fixture.batch, fixture.verdicts, 0x1p-23});
            attempt += static_cast<long>(fixture.batch.size());
        }
        trace->end();
        return Json::parse(read(file));
    }

    static std::vector<Json> slices(const Json &trace, const std::string &category) {
        std::vector<Json> found;
        for (const Json &event : trace["traceEvents"]) {
            if (event["ph"] == "X" && event["cat"] == category) {
                found.push_back(event);
            }
        }
        return found;
    }
};

/// As Perfetto's importer of JSON traces reads a time.
std::int64_t read_time(const Json &time) { return static_cast<std::int64_t>(time.get<double>() * 1000.0); }

TEST_F(Perfetto, NoNanosecondIsLost) {
    constexpr std::int64_t minutes_ns = 600'000'000'000;
    Batch batch = samples(1, {}, {}, {}, {}, {});
    for (std::int64_t i = 0; i < 5000; ++i) {
        const auto entry = static_cast<double>(i % 2 * minutes_ns + i * 1001);
        batch.deadline.push_back(none);
        batch.slack.push_back(none);
        batch.end.push_back(none);
        batch.sync_entry.push_back((entry - 13.0) * 1e-9);
        batch.entry.push_back(entry * 1e-9);
        batch.exit.push_back((entry + static_cast<double>(i)) * 1e-9);
        batch.delay.push_back(0.0);
        batch.computed.push_back(0.0);
        batch.flag.push_back(1);
        batch.unsure.push_back(0);
    }
    const std::vector<Verdict> valid(batch.size(), Verdict::valid);
    const std::vector<Json> operations = slices(trace({{0, batch, valid}}, 5000), "operation");
    ASSERT_EQ(operations.size(), 5000U);
    for (std::int64_t i = 0; i < 5000; ++i) {
        const Json &operation = operations[static_cast<std::size_t>(i)];
        ASSERT_EQ(read_time(operation["ts"]), i % 2 * minutes_ns + i * 1001);
        ASSERT_EQ(read_time(operation["dur"]), i);
    }
}

TEST_F(Perfetto, ShowsTheFirstSamplesOfEachCellAndSaysHowManyItLeavesOut) {
    const FixtureBatch rejected = fixture_batches()[0]; // of cell 1, one valid, one not
    const FixtureBatch valid = fixture_batches()[2];    // of cell 1
    FixtureBatch warmup = rejected;
    warmup.verdicts = {Verdict::warmup, Verdict::warmup};
    const Json shown = trace({warmup, rejected, valid, valid}, 3);
    std::vector<int> numbers;
    for (const Json &operation : slices(shown, "operation")) {
        numbers.push_back(operation["args"]["sample"]);
    }
    EXPECT_EQ(numbers, (std::vector<int>{2, 2, 3, 3, 4, 4})); // two ranks
    EXPECT_EQ(shown["otherData"]["samples_left_out"], 1);
    EXPECT_EQ(shown["otherData"]["warmup_left_out"], 2);
}

} // namespace
} // namespace bench
