#include "cells/cell_fields.h"
#include "output/netcdf_file.h"
#include "output/reporters/reporter_registry.h"
#include "text/encoding.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <numeric>

namespace bench {
namespace {

constexpr std::size_t longest_found = 200; // what is longer of texts that are not known beforehand is cut off

using Numbers = std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<signed char>>;

/// A variable of samples.
struct SampleField {
    std::string name;
    std::string unit; // "" if there is none
    std::string meaning;
    NetcdfType type;
    bool per_rank;
    /// [sample] or [sample][rank]: an array of the batch, or a function.
    std::variant<std::vector<double> Batch::*, std::function<Numbers(const BatchReport &)>> values;
};

/// One value per sample, by its index in the batch.
template <typename Get> auto per_sample(Get get) {
    return [get](const BatchReport &report) -> Numbers {
        std::vector<decltype(get(report, std::size_t{}))> values(report.batch.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = get(report, i);
        }
        return values;
    };
}

const std::vector<SampleField> &sample_fields() {
    using Report = BatchReport;
    static const std::vector<SampleField> all = {
        {"cell_index", "", "cell that the sample belongs to", NetcdfType::int32, false,
         per_sample([](const Report &r, std::size_t) { return static_cast<std::int64_t>(r.cell); })},
        {"block", "", "position of the sample's block in the order of the launch", NetcdfType::int32, false,
         per_sample([](const Report &r, std::size_t) { return static_cast<std::int64_t>(r.block); })},
        {"canary", "s", "round trip of a cache line between neighboring ranks before the sample's block",
         NetcdfType::real64, false, per_sample([](const Report &r, std::size_t) { return r.canary; })},
        {"attempt", "", "number of the sample within its cell, in order", NetcdfType::int64, false,
         per_sample([](const Report &r, std::size_t i) { return r.first_attempt + static_cast<std::int64_t>(i); })},
        {"valid", "", "1 if the sample counts", NetcdfType::byte, false,
         per_sample([](const Report &r, std::size_t i) -> signed char { return r.verdicts[i] == Verdict::valid; })},
        {"deadline", "s", "common start on the global clock", NetcdfType::real64, false, &Batch::deadline},
        {"slack", "s", "time from the decision on the deadline to it", NetcdfType::real64, false, &Batch::slack},
        {"lateness", "s", "from the planned start of the latest rank to its entry into the operation",
         NetcdfType::real64, false, per_sample([](const Report &r, std::size_t i) { return lateness(r.batch[i]); })},
        {"verdict", "", "why the sample counts or not", NetcdfType::byte, false,
         per_sample([](const Report &r, std::size_t i) { return static_cast<signed char>(r.verdicts[i]); })},
        {"sync_entry", "s", "entry into the synchronizer, global clock", NetcdfType::real64, true, &Batch::sync_entry},
        {"entry", "s", "entry into the operation, global clock", NetcdfType::real64, true, &Batch::entry},
        {"exit", "s", "exit from the operation, global clock", NetcdfType::real64, true, &Batch::exit},
        {"delay", "s", "planned start after the common one, as asked for", NetcdfType::real64, true, &Batch::delay},
        {"flag", "", "0 if the synchronizer reported a failed start", NetcdfType::byte, true,
         [](const Report &r) { return std::vector<signed char>(r.batch.flag.begin(), r.batch.flag.end()); }},
        {"computed_time", "s", "computation between entry and exit, all calls", NetcdfType::real64, true,
         &Batch::computed},
    };
    return all;
}

/// Writes a cell's field.
struct FieldWriter {
    NetcdfFile &file;
    int variable;
    std::size_t cell;
    std::size_t longest; // text
    void operator()(const std::string &text) const { file.write_text(variable, cell, cut_off(text, longest)); }
    void operator()(CellStatus status) const {
        file.write(variable, {cell}, {1}, std::vector{static_cast<signed char>(status)});
    }
    template <typename Number> void operator()(Number number) const {
        file.write(variable, {cell}, {1}, std::vector{number});
    }
};

/// Every sample with every rank's entry and exit, and the summaries of the cells; docs/bench-files.md lists the
/// variables. Brought to disk after every batch. Or a dataset: its texts are characters with a dimension of their own,
/// which xarray makes strings of again.
class NetcdfReporter : public Reporter {
public:
    explicit NetcdfReporter(const std::string &path) : file_(path) {}

    void begin(const SamplingContext &context, const std::vector<Cell> &cells) override {
        define(context, cells);
        write_context("Samples of MPI operations measured by downbeat-bench", context, context_values(context));
        file_.end_definitions();
        write_plan(context, cells);
        file_.sync();
    }

    void samples(const BatchReport &report) override {
        const std::size_t count = report.batch.size();
        for (const SampleField *field : fields_) {
            std::vector<std::size_t> start = {samples_written_};
            std::vector<std::size_t> extent = {count};
            if (field->per_rank) {
                start.push_back(0);
                extent.push_back(report.batch.ranks);
            }
            const auto write = [&](const auto &values) {
                file_.write(variables_.at(field->name), start, extent, values);
            };
            if (const auto *const series = std::get_if<0>(&field->values)) {
                write(report.batch.**series);
            } else {
                std::visit(write, std::get<1>(field->values)(report));
            }
        }
        // With these the samples of an interrupted run are usable.
        std::vector<signed char> timed(report.batch.ranks, 0);
        for (const std::size_t rank : report.batch.timed) {
            timed[rank] = 1;
        }
        file_.write(variables_.at("timed"), {report.cell, 0}, {1, report.batch.ranks}, timed);
        file_.write(variables_.at("calls"), {report.cell}, {1}, std::vector<std::int64_t>{report.batch.calls});
        samples_written_ += count;
        file_.sync();
    }

    void cell(const CellResult &result) override {
        for (const CellField &field : cell_columns()) {
            if (!field.planned) {
                write_field(field, result);
            }
        }
        file_.sync();
    }

    void end(const RunEnd &end) override {
        const ClockAgreement &agreement = end.agreement;
        file_.define_late([&] {
            file_.attribute(NetcdfFile::global, "clock_check", describe(agreement));
            file_.attribute(NetcdfFile::global, "clock_check_offset_s", agreement.offset);
            file_.attribute(NetcdfFile::global, "clock_check_allowed_s", agreement.allowed);
            file_.attribute(NetcdfFile::global, "clock_check_ranks_outside", std::int64_t{agreement.outside});
            file_.attribute(NetcdfFile::global, "clock_check_contradictions", std::int64_t{agreement.contradictions});
            file_.attribute(NetcdfFile::global, "warnings", join(end.warnings, "\n"));
        });
        file_.close();
    }

    void findings(const Context &context, const Findings &found) override {
        std::map<std::string, int> dimensions;
        for (const Dimension &dimension : found.data.dimensions) {
            dimensions[dimension.name] = file_.dimension(dimension.name, dimension.length);
        }
        for (const Variable &variable : found.data.variables) {
            define(variable, dimensions);
        }
        ContextValues values = context_values(context);
        values.insert(values.end(), found.data.attributes.begin(), found.data.attributes.end());
        write_context(found.data.title, context, values);
        file_.attribute(NetcdfFile::global, "warnings", join(found.warnings, "\n"));
        file_.end_definitions();
        for (const Variable &variable : found.data.variables) {
            write(found.data, variable);
        }
        file_.close();
    }

private:
    int define(const std::string &name, NetcdfType type, const std::vector<int> &dimensions, const std::string &meaning,
               const std::string &unit = "") {
        const int variable = variables_[name] = file_.variable(name, type, dimensions);
        file_.attribute(variable, "long_name", meaning);
        if (!unit.empty()) {
            file_.attribute(variable, "units", unit);
        }
        return variable;
    }

    void define(const Variable &variable, const std::map<std::string, int> &lengths) {
        std::vector<int> dimensions;
        for (const std::string &name : variable.dimensions) {
            dimensions.push_back(lengths.at(name));
        }
        constexpr NetcdfType types[] = {NetcdfType::real64, NetcdfType::int64, NetcdfType::text};
        const auto *const texts = std::get_if<std::vector<std::string>>(&variable.values);
        if (texts != nullptr) {
            std::size_t longest = 1;
            for (const std::string &text : *texts) {
                longest = std::max(longest, text.size());
            }
            dimensions.push_back(file_.dimension(variable.name + "_length", longest));
        }
        const int id =
            define(variable.name, types[variable.values.index()], dimensions, variable.meaning, variable.unit);
        if (texts != nullptr) {
            file_.attribute(id, "_Encoding", std::string("utf-8"));
        }
    }

    void write(const Dataset &dataset, const Variable &variable) {
        const int id = variables_.at(variable.name);
        if (const auto *const texts = std::get_if<std::vector<std::string>>(&variable.values)) {
            for (std::size_t row = 0; row < texts->size(); ++row) { // they have one dimension
                file_.write_text(id, row, (*texts)[row]);
            }
            return;
        }
        std::vector<std::size_t> count;
        for (const std::string &name : variable.dimensions) {
            count.push_back(dataset.length(name));
        }
        const std::vector<std::size_t> start(count.size(), 0);
        if (const auto *const numbers = std::get_if<std::vector<double>>(&variable.values)) {
            file_.write(id, start, count, *numbers);
        } else {
            file_.write(id, start, count, std::get<std::vector<std::int64_t>>(variable.values));
        }
    }

    void write_context(const std::string &title, const Context &context, const ContextValues &values) {
        file_.attribute(NetcdfFile::global, "title", title);
        file_.attribute(NetcdfFile::global, "schema", std::string("downbeat-bench"));
        file_.attribute(NetcdfFile::global, "schema_version", std::int64_t{schema_version});
        for (const auto &[name, value] : values) {
            std::visit([&, &of = name](const auto &typed) { file_.attribute(NetcdfFile::global, of, typed); }, value);
        }
        for (const auto &[name, value] : context.clock) {
            file_.attribute(NetcdfFile::global, "clock_" + name, value);
        }
        file_.attribute(NetcdfFile::global, "environment", describe_environment(context));
        file_.attribute(NetcdfFile::global, "hosts", describe_hosts(context));
    }

    /// The meanings of a variable's numbers, in the form of the CF conventions (section 3.5).
    void define_flags(int variable, const std::vector<std::string> &names) {
        std::vector<signed char> values(names.size());
        std::iota(values.begin(), values.end(), static_cast<signed char>(0));
        file_.attribute(variable, "flag_values", values);
        file_.attribute(variable, "flag_meanings", join(names, " "));
    }

    /// `length`: the dimension of texts.
    void define(const CellField &field, int cell, int length) {
        constexpr NetcdfType types[] = {NetcdfType::text, NetcdfType::int64, NetcdfType::real64, NetcdfType::byte};
        std::vector<int> dimensions = {cell};
        if (field.type == FieldType::text) {
            dimensions.push_back(length);
        }
        const int variable =
            define(field.name, types[static_cast<std::size_t>(field.type)], dimensions, field.meaning, field.unit);
        if (field.type == FieldType::status) {
            define_flags(variable, cell_status_names());
        }
    }

    void define(const SamplingContext &context, const std::vector<Cell> &cells) {
        const int sample = file_.dimension("sample", NetcdfFile::unlimited);
        const int rank = file_.dimension("rank", context.ranks.size());
        const int cell = file_.dimension("cell", cells.size());
        const int name = file_.dimension("name_len", longest_name(context, cells));
        const int found = file_.dimension("found_len", longest_found);
        const bool compute = std::ranges::any_of(cells, [](const Cell &one) { return one.computation > 0.0; });
        for (const SampleField &field : sample_fields()) {
            if (field.name == "computed_time" && !compute) {
                continue;
            }
            fields_.push_back(&field);
            const std::vector<int> dimensions = field.per_rank ? std::vector{sample, rank} : std::vector{sample};
            const int variable = define(field.name, field.type, dimensions, field.meaning, field.unit);
            if (field.name == "verdict") {
                define_flags(variable, verdict_names());
            }
        }
        for (const CellField &field : cell_columns()) {
            define(field, cell, field.planned ? name : found);
        }
        define("timed", NetcdfType::byte, {cell, rank}, "1 if the rank's time in the operation is its latency");
        define("host", NetcdfType::text, {rank, name}, "host of the rank");
        define("cpuset", NetcdfType::text, {rank, name}, "processors that the rank may run on");
    }

    void write_field(const CellField &field, const CellResult &result) {
        const std::size_t longest = field.planned ? std::string::npos : longest_found;
        std::visit(FieldWriter{file_, variables_.at(field.name), result.index, longest}, field.value(result));
    }

    void write_plan(const SamplingContext &context, const std::vector<Cell> &cells) {
        for (std::size_t i = 0; i < cells.size(); ++i) {
            CellResult planned{};
            planned.index = i;
            planned.cell = cells[i];
            for (const CellField &field : cell_fields()) {
                if (field.planned) {
                    write_field(field, planned);
                }
            }
        }
        for (std::size_t i = 0; i < context.ranks.size(); ++i) {
            file_.write_text(variables_.at("host"), i, context.ranks[i].host);
            file_.write_text(variables_.at("cpuset"), i, context.ranks[i].cpuset);
        }
    }

    static std::size_t longest_name(const Context &context, const std::vector<Cell> &cells) {
        std::size_t longest = 1;
        for (const Cell &cell : cells) {
            CellResult planned{};
            planned.cell = cell;
            for (const CellField &field : cell_fields()) {
                if (field.planned && field.type == FieldType::text) {
                    longest = std::max(longest, std::get<std::string>(field.value(planned)).size());
                }
            }
        }
        for (const RankPlace &place : context.ranks) {
            longest = std::max({longest, place.host.size(), place.cpuset.size()});
        }
        return longest;
    }

    NetcdfFile file_;
    std::size_t samples_written_ = 0;
    std::vector<const SampleField *> fields_;
    std::map<std::string, int> variables_; // ids by name
};

} // namespace

ReporterInfo reporters::netcdf() {
    return {.name = "netcdf",
            .description = "every sample with every rank's entry and exit, file only; .nc",
            .suffix = ".nc",
            .make = Make<NetcdfReporter>{}};
}

} // namespace bench
