#include "output/format.h"

#include "output/output.h"
#include "text/error.h"

#include <filesystem>
#include <fmt/format.h>

namespace bench {

const std::vector<Format> &all_formats() {
    static const std::vector<Format> all = {
        formats::table(), formats::csv(), formats::json(), formats::netcdf(), formats::osu(),
    };
    return all;
}

const Format &find_format(const std::string &path, bool of_cells) {
    if (path.ends_with(".perfetto.json") || path.ends_with(".otf2")) {
        throw Error::usage(
            fmt::format("'{}': timelines are exported; write a file .nc, then run: downbeat export FILE.nc "
                        "--to perfetto or otf2",
                        path));
    }
    const std::string file = std::filesystem::path(path).filename();
    std::vector<std::string> valid;
    const Format *found = nullptr;
    for (const Format &entry : all_formats()) {
        if (entry.suffix.empty() || (!of_cells && entry.of_cells_alone)) {
            continue;
        }
        valid.push_back(entry.suffix);
        if (file.size() > entry.suffix.size() && file.ends_with(entry.suffix)) {
            found = &entry;
        }
    }
    if (found == nullptr) {
        throw Error::usage(
            fmt::format("the file type of '{}' is unknown; use one of the suffixes {}", path, join(valid)));
    }
    return *found;
}

std::vector<std::string> printed_formats(bool of_cells) {
    std::vector<std::string> names;
    for (const Format &format : all_formats()) {
        if (format.on_stdout && (of_cells || !format.of_cells_alone)) {
            names.push_back(format.name);
        }
    }
    return names;
}

Sinks open_sinks(const std::vector<std::string> &files, const std::string &format) {
    Sinks sinks;
    for (const std::string &path : files) {
        sinks.push_back(find_format(path).make(path));
    }
    sinks.push_back(find_by_name(all_formats(), format).make(standard_output));
    return sinks;
}

void write_dataset(Sink &sink, const Context &context, const Dataset &data, const RunEnd &end) {
    sink.open(context, data);
    const auto borrowed = [&](std::size_t index) -> Values {
        const Values &values = data.variables[index].values;
        const auto *const numbers = std::get_if<std::vector<double>>(&values);
        return numbers == nullptr ? values : Values(std::span(*numbers));
    };
    for (std::size_t i = 0; i < data.variables.size(); ++i) {
        if (is_coordinate(data.variables[i])) {
            sink.row({0, {{i, borrowed(i)}}, true});
        }
    }
    for (const std::vector<std::size_t> &table : data.tables()) {
        Rows rows;
        for (const std::size_t index : table) {
            rows.columns.emplace_back(index, borrowed(index));
        }
        sink.row(rows);
    }
    sink.close(end);
}

} // namespace bench
