// Output format netcdf: all variables of a dataset, with every sample of a launch (docs/data.md).
#include "output/netcdf_file.h"
#include "output/sink.h"
#include "text/words.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace bench {
namespace {

/// The length of the variable's texts in the file, bytes: that of the longest text, and at least 1.
std::size_t text_length(const Variable &variable) {
    std::size_t longest = std::max<std::size_t>(variable.text_length, 1);
    if (const auto *const texts = std::get_if<std::vector<std::string>>(&variable.values)) {
        for (const std::string &text : *texts) {
            longest = std::max(longest, text.size());
        }
    }
    return longest;
}

/// Writes each row to the file at once. Texts are arrays of characters with an additional dimension; xarray turns them
/// into strings.
class NetcdfSink : public Sink {
public:
    explicit NetcdfSink(const std::string &path) : file_(path) {}

    void open(const Context &context, const Dataset &described) override {
        described_ = &described;
        for (const Dimension &dimension : described.dimensions) {
            dimensions_[dimension.name] = file_.dimension(dimension.name, dimension.length);
        }
        for (const Variable &variable : described.variables) {
            const bool is_absent = variable.in == Variable::In::rows || variable.in == Variable::In::text;
            ids_.push_back(is_absent ? -1 : define(variable));
        }
        constexpr int global = NetcdfFile::global;
        file_.attribute(global, "title", described.title);
        file_.attribute(global, "schema", std::string("downbeat-bench"));
        file_.attribute(global, "schema_version", std::int64_t{schema_version});
        write_attributes(described.attributes);
        for (const auto &[name, value] : context.clock) {
            file_.attribute(global, "clock_" + name, value);
        }
        file_.attribute(global, "environment", describe_environment(context));
        file_.attribute(global, "hosts", describe_hosts(context));
        file_.end_definitions();
    }

    void row(const Rows &rows) override {
        for (const auto &[index, values] : rows.columns) {
            if (ids_[index] >= 0) {
                write(index, rows.first, values);
            }
        }
        file_.sync();
    }

    void close(const RunEnd &end) override {
        file_.define_late([&] {
            if (end.agreement) {
                write_attributes(values_of(agreement_attributes(), *end.agreement));
            }
            file_.attribute(NetcdfFile::global, "warnings", join(end.warnings, "\n"));
        });
        file_.close();
    }

private:
    void write_attributes(const ContextValues &values) {
        for (const auto &[name, value] : values) {
            std::visit([&, &of = name](const auto &typed) { file_.attribute(NetcdfFile::global, of, typed); }, value);
        }
    }

    /// Defines a variable with its attributes. Returns its id.
    int define(const Variable &variable) {
        std::vector<int> along =
            mapped(variable.dimensions, [this](const std::string &name) { return dimensions_.at(name); });
        if (variable.type == FieldType::text) {
            const std::size_t length = text_length(variable);
            const std::string name = "text_" + std::to_string(length) + "_len"; // shared by texts of one length
            if (!dimensions_.contains(name)) {
                dimensions_[name] = file_.dimension(name, length);
            }
            along.push_back(dimensions_.at(name));
        }
        // In the order of FieldType.
        constexpr NetcdfType types[] = {NetcdfType::text, NetcdfType::int64, NetcdfType::real64, NetcdfType::byte};
        const int id = file_.variable(variable.name, types[static_cast<std::size_t>(variable.type)], along);
        file_.attribute(id, "long_name", variable.meaning);
        if (!variable.unit.empty()) {
            file_.attribute(id, "units", variable.unit);
        }
        if (variable.type == FieldType::text) {
            file_.attribute(id, "_Encoding", std::string("utf-8"));
        }
        for (const auto &[name, value] : variable.attributes) {
            if (const auto *const text = std::get_if<std::string>(&value)) {
                file_.attribute(id, name, *text);
            } else {
                file_.attribute(id, name, std::int64_t{std::get<long>(value)});
            }
        }
        if (!variable.flags.empty()) { // in the form of the CF conventions (section 3.5)
            std::vector<signed char> numbers(variable.flags.size());
            std::iota(numbers.begin(), numbers.end(), static_cast<signed char>(0));
            file_.attribute(id, "flag_values", numbers);
            file_.attribute(id, "flag_meanings", join(variable.flags, " "));
        }
        return id;
    }

    /// Writes rows of variable `index` of the dataset, from row `first` on.
    void write(std::size_t index, std::size_t first, const Values &values) {
        const Variable &variable = described_->variables[index];
        const int id = ids_[index];
        if (const auto *const texts = std::get_if<std::vector<std::string>>(&values)) {
            for (std::size_t row = 0; row < texts->size(); ++row) { // texts have a single dimension
                file_.write_text(id, first + row, utf8_prefix((*texts)[row], text_length(variable)));
            }
            return;
        }
        const std::vector<std::string> inner(variable.dimensions.begin() + 1, variable.dimensions.end());
        const std::size_t in_row = described_->size(inner);
        std::vector<std::size_t> start(variable.dimensions.size(), 0);
        std::vector<std::size_t> count = {in_row == 0 ? 0 : size_of(values) / in_row};
        start[0] = first;
        for (const std::string &name : inner) {
            count.push_back(described_->length(name));
        }
        if (const auto *const integers = std::get_if<std::vector<std::int64_t>>(&values)) {
            if (variable.type == FieldType::flag) {
                file_.write(id, start, count, std::vector<signed char>(integers->begin(), integers->end()));
            } else {
                file_.write(id, start, count, *integers);
            }
        } else if (const auto *const span = std::get_if<std::span<const double>>(&values)) {
            file_.write(id, start, count, *span);
        } else {
            file_.write(id, start, count, std::get<std::vector<double>>(values));
        }
    }

    NetcdfFile file_;
    const Dataset *described_ = nullptr;
    std::map<std::string, int> dimensions_; // ids by name
    std::vector<int> ids_;                  // of the variables; -1: not in the file
};

} // namespace

Format formats::netcdf() {
    return {.name = "netcdf",
            .description = "every sample with every rank's entry and exit, file only; .nc",
            .suffix = ".nc",
            .make = Make<NetcdfSink>{}};
}

} // namespace bench
