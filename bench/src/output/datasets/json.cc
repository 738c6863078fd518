#include "output/datasets/dataset_writer.h"
#include "output/json_records.h"
#include "output/output.h"

namespace bench {
namespace {

Json element(const Variable &variable, std::size_t index) {
    return std::visit([index](const auto &values) { return Json(values[index]); }, variable.values);
}

/// JSON lines: the context with what the variables mean, then one record per row of each table, the end with the
/// warnings. A file without the last was cut short.
class JsonWriter : public DatasetWriter {
public:
    explicit JsonWriter(const std::string &path) : output_(path) {}

    void write(const Context &context, const Dataset &dataset, const std::vector<std::string> &warnings) override {
        ContextValues values = context_values(context);
        values.insert(values.end(), dataset.attributes.begin(), dataset.attributes.end());
        Json head = json_context(context, values);
        head["title"] = dataset.title;
        for (const Variable &variable : dataset.variables) {
            head["variables"][variable.name] = json_variable(variable.dimensions, variable.unit, variable.meaning);
        }
        output_.write(json_line(head));
        for (const std::vector<const Variable *> &table : dataset.tables()) {
            write_table(dataset, table);
        }
        Json end = json_record("end");
        end["warnings"] = warnings;
        output_.finish(json_line(end));
    }

private:
    void write_table(const Dataset &dataset, const std::vector<const Variable *> &table) {
        const Variable &first = *table.front();
        std::string lines;
        for (std::size_t i = 0; i < dataset.size(first); ++i) {
            Json row = json_record("row");
            row["dimensions"] = first.dimensions;
            const std::vector<std::size_t> indices = unravel(dataset, first, i);
            for (std::size_t d = 0; d < indices.size(); ++d) {
                const Variable *const coordinates = dataset.coordinates(first.dimensions[d]);
                row[first.dimensions[d]] =
                    coordinates == nullptr ? Json(indices[d]) : element(*coordinates, indices[d]);
            }
            for (const Variable *variable : table) {
                row[variable->name] = element(*variable, i);
            }
            lines += json_line(row);
        }
        output_.write(lines);
    }

    Output output_;
};

} // namespace

DatasetWriterInfo dataset_writers::json() {
    return {"json", ".json", [](const std::string &path) -> std::unique_ptr<DatasetWriter> {
                return std::make_unique<JsonWriter>(path);
            }};
}

} // namespace bench
