#pragma once

#include "output/context.h"
#include "rules/cell.h"
#include "samples.h"

namespace bench {

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
    context.max_attempts = 20;
    context.observed = 0;
    context.permuted = false;
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

} // namespace bench
