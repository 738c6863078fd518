#include "metric.h"
#include "names.h"
#include "netcdf_context.h"
#include "netcdf_file.h"
#include "reporter_registry.h"

#include <algorithm>
#include <fmt/format.h>
#include <netcdf.h>
#include <optional>

namespace bench {
namespace {

/// Every sample with every rank's entry and exit, and the summaries of the cells; docs/downbeat-bench.md lists the
/// variables. Brought to disk after every batch.
class NetcdfReporter : public Reporter {
public:
    explicit NetcdfReporter(const std::string &path) : file_(path) {}

    void begin(const SamplingContext &context, const std::vector<Cell> &cells) override {
        define(context, cells);
        file_.attribute(NC_GLOBAL, "title", std::string("Samples of MPI operations measured by downbeat-bench"));
        write_netcdf_context(file_, context, context_values(context));
        file_.end_definitions();
        write_names(context, cells);
        file_.sync();
    }

    void samples(const BatchReport &report) override {
        const Batch &batch = report.batch;
        const std::size_t count = batch.size();
        std::vector<std::int64_t> attempt(count);
        std::vector<signed char> valid(count);
        std::vector<signed char> verdict(count);
        for (std::size_t i = 0; i < count; ++i) {
            attempt[i] = report.first_attempt + static_cast<std::int64_t>(i);
            valid[i] = report.verdicts[i] == Verdict::valid ? 1 : 0;
            verdict[i] = static_cast<signed char>(report.verdicts[i]);
        }
        const std::vector<std::size_t> row = {samples_written_};
        const std::vector<std::size_t> rows = {count};
        file_.write(cell_index_, row, rows, std::vector<std::int64_t>(count, static_cast<std::int64_t>(report.cell)));
        file_.write(block_, row, rows, std::vector<std::int64_t>(count, static_cast<std::int64_t>(report.block)));
        file_.write(attempt_, row, rows, attempt);
        file_.write(valid_, row, rows, valid);
        file_.write(verdict_, row, rows, verdict);
        file_.write(deadline_, row, rows, batch.deadline);
        file_.write(slack_, row, rows, batch.slack);

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
        file_.write(calls_, {report.cell}, {1}, std::vector<std::int64_t>{batch.calls});
        samples_written_ += count;
        file_.sync();
    }

    void cell(const CellResult &result) override {
        const std::vector<std::size_t> row = {result.index};
        const std::vector<std::size_t> one = {1};
        const auto put_count = [&](int variable, long value) {
            file_.write(variable, row, one, std::vector<std::int64_t>{value});
        };
        const auto put = [&](int variable, double value) { file_.write(variable, row, one, std::vector{value}); };
        file_.write(status_, row, one, std::vector{static_cast<signed char>(result.status)});
        put_count(valid_count_, result.valid);
        put_count(late_flag_, result.late_flag);
        put_count(late_entry_, result.late_entry);
        put_count(rejected_, result.rejected());
        put_count(discarded_, result.discarded);
        put_count(requested_, result.requested);
        put(error_bound_, result.error_bound);
        put(slack_median_, result.slack);
        put(wall_time_, result.wall_time);
        put(mean_of_means_, result.mean_of_means);
        put(max_of_means_, result.max_of_means);
        put(overlap_benefit_median_, result.overlap_median.benefit);
        put(overlap_share_median_, result.overlap_median.share);
        put(overlap_benefit_min_, result.overlap_min.benefit);
        put(overlap_share_min_, result.overlap_min.share);
        put(computed_, result.computed);
        put(overlap_osu_, result.computation_overlap.osu);
        put(overlap_imb_, result.computation_overlap.imb);
        put(overlap_window_, result.computation_overlap.window);
        put_count(validated_, result.validated);
        put_count(wrong_, result.wrong);
        std::size_t summary = 0;
        for (const Summary &metric : result.metrics) {
            for (const Statistic &statistic : statistics()) {
                put(summaries_[summary++], metric.*statistic.value);
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

    void define(const SamplingContext &context, const std::vector<Cell> &cells) {
        const int sample = file_.unlimited_dimension("sample");
        const int rank = file_.dimension("rank", context.ranks.size());
        const int cell = file_.dimension("cell", cells.size());
        const int name = file_.dimension("name_len", longest_name(context, cells));

        cell_index_ = define_variable("cell_index", NC_INT, {sample}, "cell that the sample belongs to");
        block_ =
            define_variable("block", NC_INT, {sample}, "position of the sample's block in the order of the launch");
        attempt_ = define_variable("attempt", NC_INT64, {sample}, "number of the sample within its cell, in order");
        valid_ = define_variable("valid", NC_BYTE, {sample}, "1 if the sample's synchronization held on all ranks");
        deadline_ = define_variable("deadline", NC_DOUBLE, {sample}, "common start on the global clock", "s");
        slack_ = define_variable("slack", NC_DOUBLE, {sample}, "time from the decision on the deadline to it", "s");
        verdict_ = define_variable("verdict", NC_BYTE, {sample}, "why the sample counts or not");
        file_.attribute(verdict_, "flag_values", std::vector<signed char>{0, 1, 2, 3});
        file_.attribute(verdict_, "flag_meanings", std::string("valid late_flag late_entry warmup"));
        sync_entry_ =
            define_variable("sync_entry", NC_DOUBLE, {sample, rank}, "entry into the synchronizer, global clock", "s");
        entry_ = define_variable("entry", NC_DOUBLE, {sample, rank}, "entry into the operation, global clock", "s");
        exit_ = define_variable("exit", NC_DOUBLE, {sample, rank}, "exit from the operation, global clock", "s");
        delay_ = define_variable("delay", NC_DOUBLE, {sample, rank}, "planned start after the common one, as asked for",
                                 "s");
        flag_ = define_variable("flag", NC_BYTE, {sample, rank}, "0 if the synchronizer reported a late start");

        if (std::any_of(cells.begin(), cells.end(), [](const Cell &one) { return one.computation > 0.0; })) {
            computed_samples_ = define_variable("computed_time", NC_DOUBLE, {sample, rank},
                                                "computation between entry and exit, all calls", "s");
        }

        operation_ = define_variable("operation", NC_CHAR, {cell, name}, "MPI operation");
        algorithm_ = define_variable("algorithm", NC_CHAR, {cell, name}, "of the MPI library, for the operation");
        datatype_ = define_variable("datatype", NC_CHAR, {cell, name}, "datatype, and operator of a reduction");
        synchronizer_ = define_variable("synchronizer", NC_CHAR, {cell, name}, "what synchronized before each sample");
        barrier_algorithm_ = define_variable("barrier_algorithm", NC_CHAR, {cell, name},
                                             "of the MPI library, for the MPI_Barrier of the synchronizer");
        timing_ = define_variable("timing", NC_CHAR, {cell, name}, "what the stamps of a sample enclose");
        pattern_ = define_variable("pattern", NC_CHAR, {cell, name}, "arrival pattern");
        largest_delay_ = define_variable("largest_delay", NC_DOUBLE, {cell}, "of the pattern, as asked for", "s");
        calls_ = define_variable("calls", NC_INT64, {cell}, "calls of the operation per sample; metrics are per call");
        size_ = define_variable("size", NC_INT64, {cell}, "message size, 0 if the operation has none", "byte");
        size_meaning_ = define_variable("size_meaning", NC_CHAR, {cell, name}, "what the bytes of the size are");
        requested_ =
            define_variable("requested", NC_INT64, {cell}, "valid samples without which the cell is incomplete");
        valid_count_ = define_variable("valid_count", NC_INT64, {cell}, "valid samples");
        rejected_ = define_variable("rejected", NC_INT64, {cell}, "samples whose synchronization failed; repeated");
        discarded_ = define_variable("discarded", NC_INT64, {cell}, "samples of the warm-up");
        late_flag_ = define_variable("late_flag", NC_INT64, {cell}, "of these, reported by the synchronizer");
        late_entry_ =
            define_variable("late_entry", NC_INT64, {cell},
                            "of these, not reported, but entered later than the tolerance after the deadline");
        status_ = define_variable("status", NC_BYTE, {cell}, "whether the cell could be measured");
        file_.attribute(status_, "flag_values", std::vector<signed char>{0, 1, 2, 3});
        file_.attribute(status_, "flag_meanings", std::string("ok incomplete failed wrong"));
        error_bound_ =
            define_variable("error_bound", NC_DOUBLE, {cell}, "largest error bound of the global clock", "s");
        slack_median_ = define_variable("slack_median", NC_DOUBLE, {cell}, "median of slack over valid samples", "s");
        const auto define_number = [&](const char *variable, const char *meaning, const char *unit) {
            return define_variable(variable, NC_DOUBLE, {cell}, meaning, unit);
        };
        wall_time_ = define_number("wall_time", "spent on the cell, warm-up and rejected samples included", "s");
        mean_of_means_ = define_number("mean_of_means",
                                       "mean over ranks of the mean over valid samples of the time in "
                                       "the operation",
                                       "s");
        max_of_means_ = define_number("max_of_means",
                                      "largest over ranks of the mean over valid samples of the time in "
                                      "the operation",
                                      "s");
        overlap_benefit_median_ =
            define_number("overlap_benefit_median", "delay overlap benefit, Niethammer 2016, Eq. 5, of medians", "");
        overlap_share_median_ =
            define_number("overlap_share_median", "hidden time / the shorter of operation and delay, of medians", "");
        overlap_benefit_min_ = define_number("overlap_benefit_min", "delay overlap benefit, of minima", "");
        overlap_share_min_ = define_number("overlap_share_min", "hidden time / the shorter, of minima", "");
        computation_ = define_number("computation", "computation beside the operation per call, as planned", "s");
        computed_ = define_number("computed", "the same as it was, mean over valid samples and ranks", "s");
        overlap_osu_ = define_number("overlap_osu", "overlap of operation and computation as OSU defines it", "");
        overlap_imb_ = define_number("overlap_imb", "overlap of operation and computation as IMB-NBC defines it", "");
        overlap_window_ =
            define_number("overlap_window",
                          "overlap of operation and computation, of times from the common start to the last exit", "");
        validated_ = define_variable("validated", NC_INT64, {cell}, "calls whose results were looked at");
        wrong_ = define_variable("wrong", NC_INT64, {cell}, "of these, calls with wrong results");
        for (const Metric &metric : all_metrics()) {
            for (const Statistic &statistic : statistics()) {
                summaries_.push_back(
                    define_variable(fmt::format("{}_{}", metric.name, statistic.name), NC_DOUBLE, {cell},
                                    fmt::format("{} over valid samples of: {}", statistic.name, metric.description),
                                    statistic.has_unit ? metric.unit : ""));
            }
        }
        timed_ =
            define_variable("timed", NC_BYTE, {cell, rank}, "1 if the rank's time in the operation is its latency");
        host_ = define_variable("host", NC_CHAR, {rank, name}, "host of the rank");
        cpuset_ = define_variable("cpuset", NC_CHAR, {rank, name}, "processors that the rank may run on");
    }

    void write_names(const SamplingContext &context, const std::vector<Cell> &cells) {
        for (std::size_t i = 0; i < cells.size(); ++i) {
            file_.write_text(operation_, i, cells[i].operation);
            file_.write_text(algorithm_, i, cells[i].algorithm);
            file_.write_text(barrier_algorithm_, i, cells[i].barrier_algorithm);
            file_.write_text(datatype_, i, cells[i].datatype);
            file_.write_text(synchronizer_, i, cells[i].synchronizer);
            file_.write(size_, {i}, {1}, std::vector{static_cast<std::int64_t>(cells[i].size)});
            file_.write_text(timing_, i, cells[i].timing);
            file_.write_text(pattern_, i, cells[i].pattern);
            file_.write(largest_delay_, {i}, {1}, std::vector{cells[i].delay});
            file_.write_text(size_meaning_, i, cells[i].size_meaning);
            file_.write(computation_, {i}, {1}, std::vector{cells[i].computation});
        }
        for (std::size_t i = 0; i < context.ranks.size(); ++i) {
            file_.write_text(host_, i, context.ranks[i].host);
            file_.write_text(cpuset_, i, context.ranks[i].cpuset);
        }
    }

    static std::size_t longest_name(const Context &context, const std::vector<Cell> &cells) {
        std::size_t longest = 1;
        for (const Cell &cell : cells) {
            longest = std::max({longest, cell.operation.size(), cell.datatype.size(), cell.synchronizer.size(),
                                cell.timing.size(), cell.pattern.size(), cell.algorithm.size(),
                                cell.barrier_algorithm.size(), cell.size_meaning.size()});
        }
        for (const RankPlace &place : context.ranks) {
            longest = std::max({longest, place.host.size(), place.cpuset.size()});
        }
        return longest;
    }

    NetcdfFile file_;
    std::size_t samples_written_ = 0;
    // Variable ids, named as the variables.
    int cell_index_ = 0, block_ = 0, attempt_ = 0, valid_ = 0, deadline_ = 0, slack_ = 0;
    int verdict_ = 0, sync_entry_ = 0, entry_ = 0, exit_ = 0, delay_ = 0, flag_ = 0;
    int timing_ = 0, pattern_ = 0, largest_delay_ = 0, calls_ = 0, discarded_ = 0, wall_time_ = 0;
    int mean_of_means_ = 0, max_of_means_ = 0;
    int overlap_benefit_median_ = 0, overlap_share_median_ = 0, overlap_benefit_min_ = 0, overlap_share_min_ = 0;
    int operation_ = 0, algorithm_ = 0, barrier_algorithm_ = 0, datatype_ = 0, synchronizer_ = 0, size_ = 0,
        requested_ = 0, valid_count_ = 0, rejected_ = 0;
    int late_flag_ = 0, late_entry_ = 0, status_ = 0, error_bound_ = 0, slack_median_ = 0;
    int size_meaning_ = 0, computation_ = 0, computed_ = 0, overlap_osu_ = 0, overlap_imb_ = 0, overlap_window_ = 0;
    int validated_ = 0, wrong_ = 0, timed_ = 0;
    std::optional<int> computed_samples_; // where a cell computes
    int host_ = 0, cpuset_ = 0;
    std::vector<int> summaries_; // metric by metric, statistic by statistic
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
