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

/// One row per cell, units in the column names. The context is in the JSON and netCDF files.
class CsvReporter : public Reporter {
public:
    explicit CsvReporter(const std::string &path) : output_(path) {}

    void begin(const SamplingContext &, const std::vector<Cell> &) override {
        std::vector<std::string> columns = {"cell",       "operation",     "size",   "datatype", "synchronizer",
                                            "status",     "requested",     "valid",  "rejected", "late_flag",
                                            "late_entry", "error_bound_s", "slack_s"};
        for (const Metric &metric : all_metrics()) {
            for (const Statistic &statistic : statistics()) {
                columns.push_back(fmt::format("{}_{}_{}", metric.name, statistic.name, metric.unit));
            }
        }
        output_.write(join(columns, ",") + "\n");
    }

    void cell(const CellResult &result) override {
        const Cell &cell = result.cell;
        std::string row = fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}", result.index, cell.operation, cell.size,
                                      cell.datatype, cell.synchronizer, to_string(result.status), result.requested,
                                      result.valid, result.rejected(), result.late_flag, result.late_entry,
                                      field(result.error_bound), field(result.slack));
        for (const Summary &summary : result.metrics) {
            for (const Statistic &statistic : statistics()) {
                row += "," + field(summary.*statistic.value);
            }
        }
        output_.write(row + "\n");
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
            .make = [](const std::string &path) -> std::unique_ptr<Reporter> {
                return std::make_unique<CsvReporter>(path);
            }};
}

} // namespace bench
