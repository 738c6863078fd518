#include "cells/cell_fields.h"
#include "metrics/sample_times.h"
#include "output/netcdf_context.h"
#include "output/netcdf_file.h"
#include "output/reporters/reporter_registry.h"
#include "text/names.h"
#include "text/utf8.h"

#include <algorithm>
#include <map>
#include <netcdf.h>
#include <numeric>
#include <optional>

namespace bench {
namespace {

constexpr std::size_t longest_found = 200; // what is longer of texts that are not known beforehand is cut off

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
/// variables. Brought to disk after every batch.
class NetcdfReporter : public Reporter {
public:
    explicit NetcdfReporter(const std::string &path) : file_(path) {}

    void begin(const SamplingContext &context, const std::vector<Cell> &cells) override {
        define(context, cells);
        file_.attribute(NC_GLOBAL, "title", std::string("Samples of MPI operations measured by downbeat-bench"));
        write_netcdf_context(file_, context, context_values(context));
        file_.end_definitions();
        write_plan(context, cells);
        file_.sync();
    }

    void samples(const BatchReport &report) override {
        const Batch &batch = report.batch;
        const std::size_t count = batch.size();
        std::vector<std::int64_t> attempt(count);
        std::vector<signed char> valid(count);
        std::vector<signed char> verdict(count);
        std::vector<double> lateness(count);
        for (std::size_t i = 0; i < count; ++i) {
            attempt[i] = report.first_attempt + static_cast<std::int64_t>(i);
            valid[i] = report.verdicts[i] == Verdict::valid ? 1 : 0;
            verdict[i] = static_cast<signed char>(report.verdicts[i]);
            lateness[i] = bench::lateness(batch[i]);
        }
        const std::vector<std::size_t> row = {samples_written_};
        const std::vector<std::size_t> rows = {count};
        file_.write(cell_index_, row, rows, std::vector<std::int64_t>(count, static_cast<std::int64_t>(report.cell)));
        file_.write(block_, row, rows, std::vector<std::int64_t>(count, static_cast<std::int64_t>(report.block)));
        file_.write(canary_, row, rows, std::vector<double>(count, report.canary));
        file_.write(attempt_, row, rows, attempt);
        file_.write(valid_, row, rows, valid);
        file_.write(verdict_, row, rows, verdict);
        file_.write(deadline_, row, rows, batch.deadline);
        file_.write(slack_, row, rows, batch.slack);
        file_.write(lateness_, row, rows, lateness);

        const std::vector<std::size_t> matrix = {samples_written_, 0};
        const std::vector<std::size_t> extent = {count, batch.ranks};
        file_.write(sync_entry_, matrix, extent, batch.sync_entry);
        file_.write(entry_, matrix, extent, batch.entry);
        file_.write(exit_, matrix, extent, batch.exit);
        file_.write(delay_, matrix, extent, batch.delay);
        if (computed_samples_) {
            file_.write(*computed_samples_, matrix, extent, batch.computed);
        }
        file_.write(flag_, matrix, extent, std::vector<signed char>(batch.flag.begin(), batch.flag.end()));
        // With these the samples of a run that is cut short can be made use of.
        std::vector<signed char> timed(batch.ranks, 0);
        for (const std::size_t rank : batch.timed) {
            timed[rank] = 1;
        }
        file_.write(timed_, {report.cell, 0}, {1, batch.ranks}, timed);
        file_.write(columns_.at("calls"), {report.cell}, {1}, std::vector<std::int64_t>{batch.calls});
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
        file_.late_attribute("clock_check", describe(agreement));
        file_.late_attribute("clock_check_offset_s", agreement.offset);
        file_.late_attribute("clock_check_allowed_s", agreement.allowed);
        file_.late_attribute("clock_check_ranks_outside", std::int64_t{agreement.outside});
        file_.late_attribute("clock_check_contradictions", std::int64_t{agreement.contradictions});
        file_.late_attribute("warnings", join(end.warnings, "\n"));
        file_.close();
    }

private:
    int define_variable(const std::string &name, int type, const std::vector<int> &dimensions,
                        const std::string &meaning, const std::string &unit = "") {
        const int variable = file_.variable(name, type, dimensions);
        file_.attribute(variable, "long_name", meaning);
        if (!unit.empty()) {
            file_.attribute(variable, "units", unit);
        }
        return variable;
    }

    /// What the numbers of a variable mean, as the CF conventions (section 3.5) have it.
    void define_flags(int variable, const std::vector<std::string> &names) {
        std::vector<signed char> values(names.size());
        std::iota(values.begin(), values.end(), static_cast<signed char>(0));
        file_.attribute(variable, "flag_values", values);
        file_.attribute(variable, "flag_meanings", join(names, " "));
    }

    /// `length`: the dimension of texts.
    int define_field(const CellField &field, int cell, int length) {
        constexpr int types[] = {NC_CHAR, NC_INT64, NC_DOUBLE, NC_BYTE};
        std::vector<int> dimensions = {cell};
        if (field.type == FieldType::text) {
            dimensions.push_back(length);
        }
        const int variable = define_variable(field.name, types[static_cast<std::size_t>(field.type)], dimensions,
                                             field.meaning, field.unit);
        if (field.type == FieldType::status) {
            define_flags(variable, cell_status_names());
        }
        return variable;
    }

    void define(const SamplingContext &context, const std::vector<Cell> &cells) {
        const int sample = file_.unlimited_dimension("sample");
        const int rank = file_.dimension("rank", context.ranks.size());
        const int cell = file_.dimension("cell", cells.size());
        const int name = file_.dimension("name_len", longest_name(context, cells));
        const int found = file_.dimension("found_len", longest_found);

        cell_index_ = define_variable("cell_index", NC_INT, {sample}, "cell that the sample belongs to");
        block_ =
            define_variable("block", NC_INT, {sample}, "position of the sample's block in the order of the launch");
        canary_ =
            define_variable("canary", NC_DOUBLE, {sample},
                            "round trip of a cache line between neighboring ranks before the sample's block", "s");
        attempt_ = define_variable("attempt", NC_INT64, {sample}, "number of the sample within its cell, in order");
        valid_ = define_variable("valid", NC_BYTE, {sample}, "1 if the sample counts");
        deadline_ = define_variable("deadline", NC_DOUBLE, {sample}, "common start on the global clock", "s");
        slack_ = define_variable("slack", NC_DOUBLE, {sample}, "time from the decision on the deadline to it", "s");
        lateness_ = define_variable("lateness", NC_DOUBLE, {sample},
                                    "from the planned start of the latest rank to its entry into the operation", "s");
        verdict_ = define_variable("verdict", NC_BYTE, {sample}, "why the sample counts or not");
        define_flags(verdict_, verdict_names());
        sync_entry_ =
            define_variable("sync_entry", NC_DOUBLE, {sample, rank}, "entry into the synchronizer, global clock", "s");
        entry_ = define_variable("entry", NC_DOUBLE, {sample, rank}, "entry into the operation, global clock", "s");
        exit_ = define_variable("exit", NC_DOUBLE, {sample, rank}, "exit from the operation, global clock", "s");
        delay_ = define_variable("delay", NC_DOUBLE, {sample, rank}, "planned start after the common one, as asked for",
                                 "s");
        flag_ = define_variable("flag", NC_BYTE, {sample, rank}, "0 if the synchronizer reported a failed start");

        if (std::any_of(cells.begin(), cells.end(), [](const Cell &one) { return one.computation > 0.0; })) {
            computed_samples_ = define_variable("computed_time", NC_DOUBLE, {sample, rank},
                                                "computation between entry and exit, all calls", "s");
        }

        for (const CellField &field : cell_columns()) {
            columns_[field.name] = define_field(field, cell, field.planned ? name : found);
        }
        timed_ =
            define_variable("timed", NC_BYTE, {cell, rank}, "1 if the rank's time in the operation is its latency");
        host_ = define_variable("host", NC_CHAR, {rank, name}, "host of the rank");
        cpuset_ = define_variable("cpuset", NC_CHAR, {rank, name}, "processors that the rank may run on");
    }

    void write_field(const CellField &field, const CellResult &result) {
        const std::size_t longest = field.planned ? std::string::npos : longest_found;
        std::visit(FieldWriter{file_, columns_.at(field.name), result.index, longest}, field.value(result));
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
            file_.write_text(host_, i, context.ranks[i].host);
            file_.write_text(cpuset_, i, context.ranks[i].cpuset);
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
    // Variable ids, named as the variables.
    int cell_index_ = 0, block_ = 0, canary_ = 0, attempt_ = 0, valid_ = 0, deadline_ = 0, slack_ = 0, lateness_ = 0;
    int verdict_ = 0, sync_entry_ = 0, entry_ = 0, exit_ = 0, delay_ = 0, flag_ = 0, timed_ = 0;
    std::optional<int> computed_samples_; // where a cell computes
    int host_ = 0, cpuset_ = 0;
    std::map<std::string, int> columns_; // of cells
};

} // namespace

ReporterInfo reporters::netcdf() {
    return {.name = "netcdf",
            .description = "every sample with every rank's entry and exit, file only; .nc",
            .suffix = ".nc",
            .on_stdout = false,
            .shows_warnings = false,
            .is_trace = false,
            .make = [](const std::string &path) -> std::unique_ptr<Reporter> {
                return std::make_unique<NetcdfReporter>(path);
            }};
}

} // namespace bench
