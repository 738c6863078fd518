#pragma once

#include "experiments/clock_results.h"
#include "output/context.h"
#include "output/sink.h"
#include "rules/cell.h"
#include "rules/metric.h"
#include "rules/stopping_rule.h"
#include "text/words.h"

#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace bench {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// Deadlines and slacks per sample; the others [sample][rank]. Ranks call the synchronizer one unit before they enter,
/// and without delays.
inline Batch samples(std::size_t ranks, std::vector<double> deadline, std::vector<double> slack,
                     std::vector<double> entry, std::vector<double> exit, std::vector<std::uint8_t> flag,
                     double unit = 1.0) {
    Batch batch;
    batch.ranks = ranks;
    batch.deadline = std::move(deadline);
    batch.slack = std::move(slack);
    batch.sync_entry = entry;
    for (double &time : batch.sync_entry) {
        time -= 1.0;
    }
    batch.entry = std::move(entry);
    batch.exit = std::move(exit);
    for (std::vector<double> *times : {&batch.deadline, &batch.slack, &batch.sync_entry, &batch.entry, &batch.exit}) {
        for (double &time : *times) {
            time *= unit;
        }
    }
    batch.end.assign(batch.deadline.size(), none);
    batch.delay.assign(batch.entry.size(), 0.0);
    batch.computed.assign(batch.entry.size(), 0.0);
    batch.timed.resize(ranks);
    std::iota(batch.timed.begin(), batch.timed.end(), 0);
    batch.flag = std::move(flag);
    batch.unsure.assign(batch.flag.size(), 0);
    return batch;
}

/// Stopping rule fixed(samples=...).
inline std::unique_ptr<StoppingRule> wanting(long samples) {
    const Component component =
        parse_component("rule", fmt::format("fixed(samples={})", samples), all_stopping_rules());
    return find_by_name(all_stopping_rules(), "fixed").make(component);
}

/// A batch of one sample.
inline Batch one_sample(double deadline, const std::vector<double> &entry, const std::vector<double> &exit,
                        const std::vector<std::uint8_t> &flag) {
    return samples(entry.size(), {deadline}, {none}, entry, exit, flag);
}

/// A launch of two ranks whose numbers are exact in binary and decimal: cell 0 under the barrier, 1 under harmonize
/// with a rejected sample, 2 without any valid one.
inline SamplingContext fixture_context() {
    SamplingContext context;
    context.version = "0.1.0";
    context.revision = "abc";
    context.compiler = "GNU 12.2.0";
    context.date = "2026-01-02T03:04:05Z";
    context.command_line = "downbeat-bench bcast -m 8";
    context.mpi_library = "Open MPI v4.1.4, package: x";
    context.mpi_standard = "3.1";
    context.ranks = {{"node1", "0", 1}, {"node1", "1", 1}};
    context.hosts = {{"node1", 2, 2, 0.25, "performance", "CPU X", "no"}};
    context.clock = {{"clock", "tsc"}, {"sync", "hca3_offset"}};
    context.error_bound = 0.0;
    context.expected_error = 0.0;
    context.clock_resolution = 10e-9;
    context.environment = {{"DOWNBEAT_CLOCK", "tsc"}};
    context.stopping = "fixed(samples=2)";
    context.warmup = "fixed";
    context.settings = {{"max_attempts", 20L}, {"observed_rank", 0L}, {"patterns_permuted", 0L}};
    context.tolerance = 0.5e-6;
    context.stamp_cost = 16e-9;
    context.starts.late = context.tolerance;
    context.seed = 7;
    context.outputs = {"out.nc"};
    return context;
}

inline std::vector<Cell> fixture_cells() {
    return {{"bcast", 8, "MPI_BYTE", "mpi_barrier"},
            {"bcast", 8, "MPI_BYTE", "harmonize"},
            {"barrier", 0, "none", "mpi_barrier"},
            {"barrier", 0, "none", "harmonize"}};
}

/// A clock that is off by an eighth of a microsecond, and may be by a quarter.
inline ClockAgreement fixture_agreement() { return judge_clocks({{{{0.125e-6, 0.125e-6}}, 0.125e-6}}); }

struct FixtureBatch {
    std::size_t cell;
    Batch batch;
    std::vector<Verdict> verdicts;
};

inline std::vector<FixtureBatch> fixture_batches() {
    const double us = 0x1p-20; // about a microsecond, exact in binary
    const auto batch = [us](std::vector<double> deadline, std::vector<double> slack, std::vector<double> entry,
                            std::vector<double> exit, std::vector<std::uint8_t> flag) {
        return samples(2, std::move(deadline), std::move(slack), std::move(entry), std::move(exit), std::move(flag),
                       us);
    };
    return {{1,
             batch({16, 32}, {4, 4}, {16, 16, 32, 40}, {18, 20, 34, 44}, {1, 1, 1, 1}),
             {Verdict::valid, Verdict::late_entry}},
            {0,
             batch({none, none}, {none, none}, {64, 65, 80, 81}, {68, 69, 84, 87}, {1, 1, 1, 1}),
             {Verdict::valid, Verdict::valid}},
            {1, batch({96}, {2}, {96, 96}, {98, 98}, {1, 1}), {Verdict::valid}},
            {2,
             batch({none, none}, {none, none}, {128, 128, 160, 160}, {130, 130, 162, 162}, {1, 1, 1, 1}),
             {Verdict::valid, Verdict::valid}},
            {3,
             batch({192, 256}, {1, 1}, {193, 192, 257, 256}, {194, 194, 258, 258}, {0, 1, 0, 1}),
             {Verdict::late_flag, Verdict::late_flag}}};
}

constexpr const char *fixture_warning = "something was seen: it matters; do this";

/// A writer of one format to one file.
inline LaunchWriter writer_of(const Format &format, const std::string &file, const std::vector<Cell> &cells,
                              const SamplingContext &context = fixture_context()) {
    Sinks sinks;
    sinks.push_back(format.make(file));
    return {std::move(sinks), context, cells};
}

/// The end of a launch with what the format says to people.
inline RunEnd end_of(const Format &format, const SamplingContext &context, const std::vector<CellResult> &results,
                     const std::vector<std::string> &warnings = {}) {
    RunEnd end{fixture_agreement(), warnings, ""};
    if (format.text != nullptr) {
        end.text = format.text(context, results, end);
    }
    return end;
}

/// Writes the launch of fixture.h, without the cells of some synchronizer if one is named.
inline void write_fixture(const Format &format, const std::string &file, const std::string &without = "",
                          const SamplingContext &context = fixture_context()) {
    const std::vector<Cell> cells = fixture_cells();
    LaunchWriter writer = writer_of(format, file, cells, context);
    std::vector<CellRecord> records;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        records.emplace_back(i, cells[i]);
    }
    std::size_t block = 0;
    for (const FixtureBatch &fixture : fixture_batches()) {
        CellRecord &record = records[fixture.cell];
        writer.samples({fixture.cell, block++, record.recorded(), fixture.batch, fixture.verdicts, 0x1p-23});
        record.add(fixture.batch, fixture.verdicts);
    }
    std::vector<CellResult> results;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (cells[i].synchronizer != without) {
            results.push_back(records[i].result(*wanting(2)));
            writer.cell(results.back());
        }
    }
    writer.end(end_of(format, context, results, {fixture_warning}));
}

/// The formats that are not traces.
inline std::vector<Format> written_formats() {
    std::vector<Format> formats = all_formats();
    std::erase_if(formats, [](const Format &format) { return format.make == nullptr; });
    return formats;
}

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
