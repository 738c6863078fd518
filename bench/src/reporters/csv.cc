#include "metric.h"
#include "names.h"
#include "reporter_registry.h"
#include "text_output.h"

#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

// What does not exist is an empty field, as R and pandas read it.
std::string field(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

// A part with several parameters has commas in its text.
std::string quote(const std::string &text) { return text.find(',') == std::string::npos ? text : '"' + text + '"'; }

/// One row per cell, units in the column names. The context is in the JSON and netCDF files.
class CsvReporter : public Reporter {
public:
    explicit CsvReporter(const std::string &path) : output_(path) {}

    void begin(const SamplingContext &, const std::vector<Cell> &) override {
        std::vector<std::string> columns = {"cell",
                                            "operation",
                                            "algorithm",
                                            "size",
                                            "size_meaning",
                                            "datatype",
                                            "synchronizer",
                                            "barrier_algorithm",
                                            "timing",
                                            "pattern",
                                            "delay_s",
                                            "computation_s",
                                            "status",
                                            "requested",
                                            "valid",
                                            "rejected",
                                            "late_flag",
                                            "late_entry",
                                            "discarded",
                                            "calls",
                                            "validated",
                                            "wrong",
                                            "error_bound_s",
                                            "slack_s",
                                            "wall_time_s",
                                            "mean_of_means_s",
                                            "max_of_means_s",
                                            "overlap_benefit_median",
                                            "overlap_share_median",
                                            "overlap_benefit_min",
                                            "overlap_share_min",
                                            "computed_s",
                                            "overlap_osu",
                                            "overlap_imb",
                                            "overlap_window"};
        for (const Metric &metric : all_metrics()) {
            for (const Statistic &statistic : statistics()) {
                columns.push_back(metric.name + "_" + statistic.name + (statistic.has_unit ? "_" + metric.unit : ""));
            }
        }
        output_.write(join(columns, ",") + "\n");
    }

    void cell(const CellResult &result) override {
        const Cell &cell = result.cell;
        std::vector<std::string> fields = {fmt::format("{}", result.index),
                                           quote(cell.operation),
                                           cell.algorithm,
                                           fmt::format("{}", cell.size),
                                           quote(cell.size_meaning),
                                           quote(cell.datatype),
                                           quote(cell.synchronizer),
                                           cell.barrier_algorithm,
                                           quote(cell.timing),
                                           quote(cell.pattern),
                                           field(cell.delay),
                                           field(cell.computation),
                                           to_string(result.status)};
        for (const long count : {result.requested, result.valid, result.rejected(), result.late_flag, result.late_entry,
                                 result.discarded, result.calls, result.validated, result.wrong}) {
            fields.push_back(fmt::format("{}", count));
        }
        for (const double value :
             {result.error_bound, result.slack, result.wall_time, result.mean_of_means, result.max_of_means,
              result.overlap_median.benefit, result.overlap_median.share, result.overlap_min.benefit,
              result.overlap_min.share, result.computed, result.computation_overlap.osu, result.computation_overlap.imb,
              result.computation_overlap.window}) {
            fields.push_back(field(value));
        }
        for (const Summary &summary : result.metrics) {
            for (const Statistic &statistic : statistics()) {
                fields.push_back(field(summary.*statistic.value));
            }
        }
        output_.write(join(fields, ",") + "\n");
    }

    void end(const RunEnd &) override {}

private:
    TextOutput output_;
};

} // namespace

ReporterInfo reporters::csv() {
    return {.name = "csv",
            .description = "one row per cell; .csv",
            .suffix = ".csv",
            .on_stdout = true,
            .shows_warnings = false,
            .is_trace = false,
            .make = [](const std::string &path) -> std::unique_ptr<Reporter> {
                return std::make_unique<CsvReporter>(path);
            }};
}

} // namespace bench
