// Output format csv.
#include "output/output.h"
#include "output/sink.h"
#include "text/words.h"

#include <fmt/format.h>

namespace bench {
namespace {

/// The text of a value; the name of a flag's value.
std::string csv_value(const Value &value, const Field &field) {
    if (!field.flags.empty()) {
        return field.flags.at(static_cast<std::size_t>(std::get<std::int64_t>(value)));
    }
    return std::visit([](const auto &typed) { return csv_field(typed); }, value);
}

/// Writes the tables of a dataset, separated by an empty line. Column names contain the units. The context is not
/// written, except for the simulated platform, which is the last column.
class CsvSink : public Sink {
public:
    explicit CsvSink(const std::string &path) : output_(path) {}

    void open(const Context &context, const Dataset &described) override {
        described_ = &described;
        model_ = context.platform_model.empty() ? "" : "," + csv_field(context.platform_model);
        output_.write(heading(described.tables().front()));
    }

    void row(const Rows &rows) override {
        if (rows.partial) {
            return;
        }
        const std::vector<std::string> &along = described_->variables[rows.columns.front().first].dimensions;
        std::string text;
        if (along != along_) {
            text = "\n" + heading(mapped(rows.columns, [](const auto &column) { return column.first; }));
        }
        for (std::size_t i = 0; i < size_of(rows.columns.front().second); ++i) {
            std::vector<std::string> fields = mapped(described_->labels(along, i, rows.first),
                                                     [](const Value &label) { return csv_value(label, {}); });
            for (const auto &[index, values] : rows.columns) {
                fields.push_back(csv_value(element(values, i), described_->variables[index]));
            }
            text += join(fields, ",") + model_ + "\n";
        }
        output_.write(text);
    }

    void close(const RunEnd &) override { output_.finish(); }

private:
    /// The line with the column names of a table. Begins the table.
    std::string heading(const std::vector<std::size_t> &table) {
        along_ = described_->variables[table.front()].dimensions;
        std::vector<std::string> names = along_;
        for (const std::size_t index : table) {
            const Variable &variable = described_->variables[index];
            names.push_back(variable.name + (variable.unit.empty() ? "" : "_" + variable.unit));
        }
        return join(names, ",") + (model_.empty() ? "" : fmt::format(",{}", model_attribute)) + "\n";
    }

    Output output_;
    const Dataset *described_ = nullptr;
    std::vector<std::string> along_; // dimensions of the current table
    std::string model_;              // last field of each row with its comma; "" on a real machine
};

} // namespace

Format formats::csv() {
    return {.name = "csv",
            .description = "one row per cell; .csv",
            .suffix = ".csv",
            .on_stdout = true,
            .make = Make<CsvSink>{}};
}

} // namespace bench
