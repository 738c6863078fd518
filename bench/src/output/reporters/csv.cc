#include "cells/cell_fields.h"
#include "output/output.h"
#include "output/reporters/reporter_registry.h"
#include "text/csv_field.h"

namespace bench {
namespace {

struct Text {
    template <typename Value> std::string operator()(const Value &value) const { return csv_field(value); }
    std::string operator()(CellStatus status) const { return to_string(status); }
};

/// One row per cell, units in the column names. The context is in the JSON and netCDF files, but
/// for the platform of a simulation.
class CsvReporter : public Reporter {
public:
    explicit CsvReporter(const std::string &path) : output_(path) {}

    void begin(const SamplingContext &context, const std::vector<Cell> &) override {
        std::string header = "cell";
        for (const CellField &field : cell_columns()) {
            header += "," + field.name + (field.unit.empty() ? "" : "_" + field.unit);
        }
        if (!context.simulated.empty()) {
            header += ",simulated";
            simulated_ = "," + csv_field(context.simulated);
        }
        output_.write(header + "\n");
    }

    void cell(const CellResult &result) override {
        std::string row = csv_field(static_cast<std::int64_t>(result.index));
        for (const CellField &field : cell_columns()) {
            row += "," + std::visit(Text{}, field.value(result));
        }
        output_.write(row + simulated_ + "\n");
    }

    void end(const RunEnd &) override { output_.finish(); }

private:
    Output output_;
    std::string simulated_; // the last field of each row, if anything is
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
