#include "output/datasets/dataset_writer.h"
#include "output/output.h"
#include "text/csv_field.h"
#include "text/names.h"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

struct Field {
    std::size_t element;
    template <typename Values> std::string operator()(const Values &values) const { return csv_field(values[element]); }
};

/// Long form: one row per value, a column per dimension, empty if the variable lacks it. The context is in the JSON and
/// netCDF files, but for the platform of a simulation.
class CsvWriter : public DatasetWriter {
public:
    explicit CsvWriter(const std::string &path) : output_(path) {}

    void write(const Context &context, const Dataset &dataset, const std::vector<std::string> &) override {
        std::vector<std::string> columns = {"variable"};
        for (const Dimension &dimension : dataset.dimensions) {
            columns.push_back(dimension.name);
        }
        columns.insert(columns.end(), {"value", "unit"});
        const std::string simulated = context.simulated.empty() ? "" : "," + csv_field(context.simulated);
        if (!simulated.empty()) {
            columns.emplace_back("simulated");
        }
        std::string text = join(columns, ",") + "\n";
        for (const Variable &variable : dataset.variables) {
            if (!is_coordinate(variable)) {
                for (std::size_t element = 0; element < dataset.size(variable); ++element) {
                    text += row(dataset, variable, element) + simulated + "\n";
                }
            }
        }
        output_.finish(text);
    }

private:
    static std::string row(const Dataset &dataset, const Variable &variable, std::size_t element) {
        const std::vector<std::size_t> indices = unravel(dataset, variable, element);
        std::string text = variable.name;
        for (const Dimension &dimension : dataset.dimensions) {
            text += ",";
            const auto found = std::find(variable.dimensions.begin(), variable.dimensions.end(), dimension.name);
            if (found != variable.dimensions.end()) {
                const std::size_t index = indices[static_cast<std::size_t>(found - variable.dimensions.begin())];
                const Variable *const coordinates = dataset.coordinates(dimension.name);
                text +=
                    coordinates == nullptr ? fmt::format("{}", index) : std::visit(Field{index}, coordinates->values);
            }
        }
        return fmt::format("{},{},{}", text, std::visit(Field{element}, variable.values), variable.unit);
    }

    Output output_;
};

} // namespace

DatasetWriterInfo dataset_writers::csv() {
    return {"csv", ".csv", [](const std::string &path) -> std::unique_ptr<DatasetWriter> {
                return std::make_unique<CsvWriter>(path);
            }};
}

} // namespace bench
