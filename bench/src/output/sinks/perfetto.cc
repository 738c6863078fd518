#include "output/json_records.h"
#include "output/output.h"
#include "output/sinks/format.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace bench {
namespace {

// All tracks are threads of one process of the trace, so that viewers show them one below the other.
constexpr int process = 1;
constexpr int deadline_track = 1;
constexpr int first_rank_track = 2;

/// Nanoseconds as the format's microseconds. Perfetto takes them times 1000 and drops the fraction,
/// which makes 1000 ns of 1.001; the next number above does not lose that nanosecond.
double format_time(std::int64_t ns) {
    const double us = static_cast<double>(ns) / 1000.0;
    return static_cast<std::int64_t>(us * 1000.0) == ns ? us : std::nextafter(us, std::numeric_limits<double>::max());
}

Json event(const char *phase, const std::string &name, int track) {
    return {{"ph", phase}, {"name", name}, {"pid", process}, {"tid", track}};
}

Json track_name(const std::string &name, int track) {
    Json json = event("M", "thread_name", track);
    json["args"] = {{"name", name}};
    return json;
}

Json slice(const std::string &name, const char *category, int track, double begin, double end) {
    const std::int64_t begin_ns = nanoseconds(begin);
    Json json = event("X", name, track);
    json["cat"] = category;
    json["ts"] = format_time(begin_ns);
    json["dur"] = format_time(nanoseconds(end) - begin_ns);
    return json;
}

/// The ranks' timelines on the global clock, for ui.perfetto.dev: the Trace Event Format of Chrome, JSON. One track per
/// rank with slices for synchronizer and operation, and one with the deadlines.
class PerfettoWriter : public TraceWriter {
public:
    explicit PerfettoWriter(const std::string &path) : output_(path) {}

    void begin(const SamplingContext &context, const std::vector<Cell> &cells) override {
        selection_.begin(context.trace_samples, cells.size());
        cells_ = cells;
        Json name = event("M", "process_name", deadline_track);
        name["args"] = {{"name", context.simulated.empty() ? "downbeat-bench" : "downbeat-bench, simulated"}};
        output_.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" + name.dump());
        write(track_name("deadline", deadline_track));
        for (std::size_t rank = 0; rank < context.ranks.size(); ++rank) {
            write(track_name(fmt::format("rank {} on {}", rank, context.ranks[rank].host), track(rank)));
        }
        output_.write(lines_);
        lines_.clear();
        about_ = {{"command_line", context.command_line}, {"date", context.date}, {"version", context.version}};
        if (!context.simulated.empty()) {
            about_["simulated"] = context.simulated;
        }
    }

    void samples(const BatchReport &report) override {
        for (const std::size_t i : selection_.take(report)) {
            write_sample(report, i);
        }
        output_.write(lines_);
        lines_.clear();
    }

    void end() override {
        about_["samples_left_out"] = selection_.left_out();
        about_["warmup_left_out"] = selection_.warmup();
        output_.finish(fmt::format("\n],\"otherData\":{}}}\n", about_.dump()));
    }

private:
    static int track(std::size_t rank) { return first_rank_track + static_cast<int>(rank); }

    void write_sample(const BatchReport &report, std::size_t i) {
        const Sample sample = report.batch[i];
        const Cell &cell = cells_[report.cell];
        const Json number = {{"cell", report.cell},
                             {"sample", report.first_attempt + static_cast<long>(i)},
                             {"verdict", to_string(report.verdicts[i])}};
        const bool has_deadline = !std::isnan(sample.deadline);
        if (has_deadline) {
            Json deadline = event("i", describe(cell), deadline_track);
            deadline["s"] = "t"; // shown on its own track alone
            deadline["cat"] = "deadline";
            deadline["ts"] = format_time(nanoseconds(sample.deadline));
            deadline["args"] = number;
            write(deadline);
        }
        for (std::size_t rank = 0; rank < report.batch.ranks; ++rank) {
            Json synchronizer = slice(describe_synchronizer(cell), "synchronizer", track(rank), sample.sync_entry[rank],
                                      sample.entry[rank]);
            synchronizer["args"] = number;
            synchronizer["args"]["flag"] = sample.flag[rank];
            synchronizer["args"]["planned_delay_ns"] = nanoseconds(sample.delay[rank]);
            write(synchronizer);

            Json operation = slice(describe(cell), "operation", track(rank), sample.entry[rank], sample.exit[rank]);
            operation["args"] = number;
            operation["args"]["planned_delay_ns"] = nanoseconds(sample.delay[rank]);
            if (has_deadline) {
                operation["args"]["entry_after_deadline_ns"] = nanoseconds(sample.entry[rank] - sample.deadline);
            }
            write(operation);
        }
    }

    void write(const Json &json) { lines_ += ",\n" + json.dump(); }

    Output output_;
    TraceSelection selection_;
    std::vector<Cell> cells_;
    Json about_;
    std::string lines_; // not yet written
};

} // namespace

Format formats::perfetto() {
    return {.name = "perfetto",
            .description = "the ranks' timelines, for ui.perfetto.dev, file only; .perfetto.json",
            .suffix = ".perfetto.json",
            .of_cells_alone = true,
            .make_trace = Make<PerfettoWriter>{}};
}

} // namespace bench
