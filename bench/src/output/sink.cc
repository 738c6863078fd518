// The registry of output formats, and the dataset of a launch (sink.h).
#include "output/sink.h"

#include "output/output.h"
#include "text/error.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <span>
#include <utility>

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
    const Format *match = nullptr;
    for (const Format &entry : all_formats()) {
        if (entry.suffix.empty() || (!of_cells && entry.only_for_cells)) {
            continue;
        }
        valid.push_back(entry.suffix);
        if (file.size() > entry.suffix.size() && file.ends_with(entry.suffix)) {
            match = &entry;
        }
    }
    if (match == nullptr) {
        throw Error::usage(
            fmt::format("the file type of '{}' is unknown; use one of the suffixes {}", path, join(valid)));
    }
    return *match;
}

std::vector<std::string> printed_formats(bool of_cells) {
    std::vector<std::string> names;
    for (const Format &format : all_formats()) {
        if (format.on_stdout && (of_cells || !format.only_for_cells)) {
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
    // The values of a variable, without copying numbers.
    const auto borrowed = [&](std::size_t index) -> Values {
        const Values &values = data.variables[index].values;
        const auto *const numbers = std::get_if<std::vector<double>>(&values);
        return numbers == nullptr ? values : Values(std::span(*numbers));
    };
    for (std::size_t i = 0; i < data.variables.size(); ++i) {
        if (is_coordinate(data.variables[i])) {
            sink.row({.first = 0, .columns = {{i, borrowed(i)}}, .partial = true});
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

namespace {

constexpr std::size_t max_text_length = 200; // netCDF needs a length before the texts are known; longer texts are cut

/// The description of a launch's results.
Dataset describe_launch(const SamplingContext &context, const std::vector<Cell> &cells) {
    Dataset data;
    data.title = "Samples of MPI operations measured by downbeat-bench";
    data.attributes = context_values(context);
    data.dimensions = {{"sample", unlimited}, {"cell", cells.size()}};
    add_ranks(data, context);
    for (Variable &variable : data.variables) {
        variable.in = Variable::In::netcdf;
    }
    std::erase_if(data.variables, is_coordinate);
    const bool computes = std::ranges::any_of(cells, [](const Cell &cell) { return cell.computation > 0.0; });
    for (const SampleField &field : sample_fields()) {
        if (field.name != "computed_time" || computes) {
            data.add(field,
                     field.per_rank ? std::vector<std::string>{"sample", "rank"} : std::vector<std::string>{"sample"},
                     {});
            data.variables.back().in = Variable::In::netcdf;
        }
    }
    data.add({"timed", "", "1 if the rank's time in the operation is its latency", FieldType::flag}, {"cell", "rank"},
             {});
    data.variables.back().in = Variable::In::netcdf;
    std::vector<CellResult> planned;
    for (const Cell &cell : cells) {
        planned.emplace_back().cell = cell;
    }
    for (const CellField &field : cell_columns()) {
        if (field.planned) {
            data.add<CellResult>({field}, {"cell"}, planned);
        } else {
            data.add(field, {"cell"}, {});
            data.variables.back().text_length = max_text_length;
            // netCDF has no statistics of metrics, because it has every sample.
            if (&field >= &cell_columns()[cell_fields().size()]) {
                data.variables.back().in = Variable::In::rows;
            }
        }
    }
    return data;
}

} // namespace

LaunchWriter::LaunchWriter(Sinks sinks, const SamplingContext &context, const std::vector<Cell> &cells)
    : sinks_(std::move(sinks)), described_(describe_launch(context, cells)) {
    for (const auto &sink : sinks_) {
        sink->open(context, described_);
    }
    Rows known{.partial = true}; // values that are known before the run: planned fields, ranks and their hosts
    for (std::size_t i = 0; i < described_.variables.size(); ++i) {
        if (size_of(described_.variables[i].values) > 0) {
            known.columns.emplace_back(i, described_.variables[i].values);
        }
    }
    write(known);
    timed_ = index_of("timed");
    calls_ = index_of("calls");
    first_sample_field_ = index_of(sample_fields().front().name);
}

void LaunchWriter::samples(const BatchReport &report) {
    // Written before the samples, because readers of an interrupted run need them to interpret samples.
    std::vector<std::int64_t> timed(report.batch.ranks, 0);
    for (const std::size_t rank : report.batch.timed) {
        timed[rank] = 1;
    }
    write({.first = report.cell,
           .columns = {{timed_, timed}, {calls_, std::vector<std::int64_t>{report.batch.calls}}},
           .partial = true});
    Rows rows{.first = samples_written_, .partial = true};
    std::size_t index = first_sample_field_;
    for (const SampleField &field : sample_fields()) {
        if (described_.variables[index].name == field.name) { // false for computed_time if no cell computes
            rows.columns.emplace_back(index++, field.values(report));
        }
    }
    write(rows);
    samples_written_ += report.batch.size();
}

void LaunchWriter::cell(const CellResult &result) {
    Rows rows{.first = result.index};
    for (const CellField &field : cell_columns()) {
        rows.columns.emplace_back(index_of(field.name), field.values(result));
    }
    write(rows);
}

void LaunchWriter::end(const RunEnd &end) {
    for (const auto &sink : sinks_) {
        sink->close(end);
    }
}

void LaunchWriter::write(const Rows &rows) {
    for (const auto &sink : sinks_) {
        sink->row(rows);
    }
}

std::size_t LaunchWriter::index_of(const std::string &name) const {
    return static_cast<std::size_t>(&find_by_name(described_.variables, name) - described_.variables.data());
}

} // namespace bench
