#include "output/datasets/dataset_writer.h"
#include "output/netcdf_context.h"
#include "output/netcdf_file.h"
#include "text/names.h"

#include <algorithm>
#include <map>
#include <netcdf.h>

namespace bench {
namespace {

/// Texts are characters with a dimension of their own, which xarray makes strings of again.
class NetcdfWriter : public DatasetWriter {
public:
    explicit NetcdfWriter(const std::string &path) : file_(path) {}

    void write(const Context &context, const Dataset &dataset, const std::vector<std::string> &warnings) override {
        for (const Dimension &dimension : dataset.dimensions) {
            dimensions_[dimension.name] = file_.dimension(dimension.name, dimension.length);
        }
        std::vector<int> variables;
        for (const Variable &variable : dataset.variables) {
            variables.push_back(define(variable));
        }
        file_.attribute(NC_GLOBAL, "title", dataset.title);
        ContextValues values = context_values(context);
        values.insert(values.end(), dataset.attributes.begin(), dataset.attributes.end());
        write_netcdf_context(file_, context, values);
        file_.attribute(NC_GLOBAL, "warnings", join(warnings, "\n"));
        file_.end_definitions();
        for (std::size_t i = 0; i < variables.size(); ++i) {
            put(dataset, dataset.variables[i], variables[i]);
        }
        file_.close();
    }

private:
    int define(const Variable &variable) {
        std::vector<int> dimensions;
        for (const std::string &name : variable.dimensions) {
            dimensions.push_back(dimensions_.at(name));
        }
        constexpr int types[] = {NC_DOUBLE, NC_INT64, NC_CHAR};
        const int type = types[variable.values.index()];
        if (const auto *texts = std::get_if<std::vector<std::string>>(&variable.values)) {
            std::size_t longest = 1;
            for (const std::string &text : *texts) {
                longest = std::max(longest, text.size());
            }
            dimensions.push_back(file_.dimension(variable.name + "_length", longest));
        }
        const int id = file_.variable(variable.name, type, dimensions);
        file_.attribute(id, "long_name", variable.meaning);
        if (!variable.unit.empty()) {
            file_.attribute(id, "units", variable.unit);
        }
        if (type == NC_CHAR) {
            file_.attribute(id, "_Encoding", std::string("utf-8"));
        }
        return id;
    }

    void put(const Dataset &dataset, const Variable &variable, int id) {
        const std::vector<std::size_t> start(variable.dimensions.size(), 0);
        std::vector<std::size_t> count;
        for (const std::string &name : variable.dimensions) {
            count.push_back(dataset.length(name));
        }
        if (const auto *texts = std::get_if<std::vector<std::string>>(&variable.values)) {
            for (std::size_t row = 0; row < texts->size(); ++row) { // they have one dimension
                file_.write_text(id, row, (*texts)[row]);
            }
        } else if (const auto *numbers = std::get_if<std::vector<double>>(&variable.values)) {
            file_.write(id, start, count, *numbers);
        } else {
            file_.write(id, start, count, std::get<std::vector<std::int64_t>>(variable.values));
        }
    }

    NetcdfFile file_;
    std::map<std::string, int> dimensions_;
};

} // namespace

DatasetWriterInfo dataset_writers::netcdf() {
    return {"netcdf", ".nc", [](const std::string &path) -> std::unique_ptr<DatasetWriter> {
                return std::make_unique<NetcdfWriter>(path);
            }};
}

} // namespace bench
