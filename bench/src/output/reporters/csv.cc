#include "cells/cell_fields.h"
#include "output/reporters/reporter_registry.h"
#include "text/encoding.h"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

struct Element {
    std::size_t index;
    template <typename Values> std::string operator()(const Values &values) const { return csv_field(values[index]); }
};

struct Text {
    template <typename Value> std::string operator()(const Value &value) const { return csv_field(value); }
    std::string operator()(CellStatus status) const { return to_string(status); }
};

/// One element of a variable in long form: a column per dimension, empty if the variable lacks it.
std::string row_of(const Dataset &dataset, const Variable &variable, std::size_t element) {
    const std::vector<std::size_t> indices = unravel(dataset, variable, element);
    std::string text = variable.name;
    for (const Dimension &dimension : dataset.dimensions) {
        text += ",";
        const auto found = std::ranges::find(variable.dimensions, dimension.name);
        if (found != variable.dimensions.end()) {
            const std::size_t index = indices[static_cast<std::size_t>(found - variable.dimensions.begin())];
            const Variable *const coordinates = dataset.coordinates(dimension.name);
            text += coordinates == nullptr ? fmt::format("{}", index) : std::visit(Element{index}, coordinates->values);
        }
    }
    return fmt::format("{},{},{}", text, std::visit(Element{element}, variable.values), variable.unit);
}

/// One row per cell, units in the column names; or one per value of a dataset. The context is in the JSON and netCDF
/// files, except for the platform of a simulation.
class CsvReporter : public Reporter {
public:
    explicit CsvReporter(const std::string &path) : output_(path) {}

    void begin(const SamplingContext &context, const std::vector<Cell> &) override {
        std::string header = "cell";
        for (const CellField &field : cell_columns()) {
            header += "," + field.name + (field.unit.empty() ? "" : "_" + field.unit);
        }
        write_header(header, context);
    }

    void cell(const CellResult &result) override {
        std::string row = csv_field(static_cast<std::int64_t>(result.index));
        for (const CellField &field : cell_columns()) {
            row += "," + std::visit(Text{}, field.value(result));
        }
        output_.write(row + simulated_ + "\n");
    }

    void end(const RunEnd &) override { output_.finish(); }

    void findings(const Context &context, const Findings &found) override {
        std::string header = "variable,";
        for (const Dimension &dimension : found.data.dimensions) {
            header += dimension.name + ",";
        }
        write_header(header + "value,unit", context);
        std::string text;
        for (const Variable &variable : found.data.variables) {
            for (std::size_t i = 0; i < (is_coordinate(variable) ? 0 : found.data.size(variable)); ++i) {
                text += row_of(found.data, variable, i) + simulated_ + "\n";
            }
        }
        output_.finish(text);
    }

private:
    void write_header(const std::string &header, const Context &context) {
        simulated_ = context.simulated.empty() ? "" : "," + csv_field(context.simulated);
        output_.write(header + (simulated_.empty() ? "" : ",simulated") + "\n");
    }

    Output output_;
    std::string simulated_; // the last field of each row, if anything is
};

} // namespace

ReporterInfo reporters::csv() {
    return {.name = "csv",
            .description = "one row per cell; .csv",
            .suffix = ".csv",
            .on_stdout = true,
            .make = Make<CsvReporter>{}};
}

} // namespace bench
