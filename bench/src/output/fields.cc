// The fields of cells and samples: name, unit, meaning and value of everything that a launch writes to files. Functions
// of sink.h.
#include "output/sink.h"

#include "rules/metric.h"

#include <fmt/format.h>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>

namespace bench {
namespace {

/// Makes a field of cells. `get` is a member or a function of Cell, which is known before the measurement (the field is
/// planned), or of CellResult.
template <typename Get>
CellField field(const std::string &name, const std::string &unit, const std::string &meaning, Get get,
                const Column &column = {}) {
    constexpr bool planned = std::is_invocable_v<Get, const Cell &>;
    const auto value = [get](const CellResult &result) {
        if constexpr (planned) {
            return std::invoke(get, result.cell);
        } else {
            return std::invoke(get, result);
        }
    };
    return {FieldOf<CellResult>(name, unit, meaning, value, column), planned};
}

/// The field with names of its values, which are numbers.
CellField with_flags(CellField field, const std::vector<std::string> &flags) {
    field.flags = flags;
    return field;
}

/// The fields of each statistic of each metric, "makespan_p95".
std::vector<CellField> summary_fields() {
    std::vector<CellField> fields;
    for (std::size_t m = 0; m < all_metrics().size(); ++m) {
        const Metric &metric = all_metrics()[m];
        const MetricTraits &traits = metric.traits;
        for (const Statistic &statistic : statistics()) {
            Column in_table;
            if (!traits.group.empty() || !traits.heading.empty()) {
                in_table = {.group = traits.group,
                            .heading = traits.heading.empty() ? statistic.name : traits.heading,
                            .legend = metric.meaning};
            }
            fields.push_back(field(
                fmt::format("{}_{}", metric.name, statistic.name), statistic.has_unit ? "s" : "",
                fmt::format("{} over valid samples of: {}", statistic.name, metric.meaning),
                [m, value = statistic.value](const CellResult &result) { return result.metrics.at(m).*value; },
                in_table));
        }
    }
    return fields;
}

/// Makes a function that computes a value for each sample of a batch: `get(report, index of the sample)`.
template <typename Get> auto per_sample(Get get) {
    return [get](const BatchReport &report) -> Values {
        std::vector<Stored<decltype(get(report, std::size_t{}))>> values(report.batch.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<Stored<decltype(get(report, i))>>(get(report, i));
        }
        return values;
    };
}

/// Makes a function that returns an array of the batch.
auto array(std::vector<double> Batch::*series) {
    return [series](const BatchReport &report) -> Values { return std::span(report.batch.*series); };
}

} // namespace

const std::vector<CellField> &cell_fields() {
    using Result = CellResult;
    static const std::vector<CellField> declared = {
        field("operation", "", "MPI operation", &Cell::operation),
        field("algorithm", "", "algorithm of the MPI library for the operation", &Cell::algorithm),
        field("size", "byte", "message size; 0 if the operation has none", &Cell::size),
        field("size_meaning", "", "meaning of the message size", &Cell::size_meaning),
        field("datatype", "", "datatype, and operator of a reduction", &Cell::datatype),
        field("synchronizer", "", "synchronizer that ran before each sample", &Cell::synchronizer),
        field("barrier_algorithm", "", "algorithm of the MPI library for the synchronizer's MPI_Barrier",
              &Cell::barrier_algorithm),
        field("timing", "", "timing scheme: which calls a sample's timestamps enclose", &Cell::timing),
        field("pattern", "", "arrival pattern", &Cell::pattern),
        field("largest_delay", "s", "largest delay of the pattern, as requested", &Cell::delay, {"", "delay"}),
        field("computation", "s", "planned computation during the operation, per call", &Cell::computation),
        with_flags(field("status", "", "ok, incomplete, failed or wrong", &Result::status), cell_status_names()),
        field("requested", "", "valid samples that a complete cell needs", &Result::requested),
        field("valid_count", "", "valid samples", &Result::valid),
        field("rejected", "", "samples that were rejected and repeated", &Result::rejected),
        field("late_flag", "", "rejected: the synchronizer reported a late start", &Result::late_flag),
        field("late_entry", "", "rejected: entered later than the tolerance after the deadline, not reported",
              &Result::late_entry),
        field("overrun", "", "rejected: started on time, but ended after the synchronizer's window", &Result::overrun),
        field("blocks", "", "blocks with measured samples", &Result::blocks),
        field("canary_low", "s",
              "smallest round trip of a cache line between neighboring ranks, before and after the blocks; nan if not "
              "measured",
              &Result::round_trip_low),
        field("canary_high", "s", "largest round trip of a cache line, before and after the blocks",
              &Result::round_trip_high),
        field("slope", "", "latency_avg of the last half of a block over that of its first, less 1: median over blocks",
              &Result::slope),
        field("discarded", "", "warm-up samples", &Result::discarded),
        field("unsettled", "", "blocks whose warm-up reached its limit before latencies settled", &Result::unsettled),
        field("calls", "", "calls of the operation per sample; metrics are per call", &Result::calls),
        field("validated", "", "calls whose results were checked", &Result::validated),
        field("wrong", "", "checked calls with wrong results", &Result::wrong),
        field("error", "", "first wrong result, and its rank", &Result::error),
        field("error_bound", "s", "largest error bound of the global clock", &Result::error_bound, {"", "bound"}),
        field("expected_error", "s", "largest expected error of the global clock, one standard deviation",
              &Result::expected_error),
        field("lateness_max", "s", "largest lateness of a rank's start in the valid samples; nan without a deadline",
              &Result::lateness),
        field("slack_median", "s", "median of slack over valid samples", &Result::slack),
        field("wall_time", "s", "time spent on the cell, including warm-up and rejected samples", &Result::wall_time),
        field("mean_of_means", "s", "mean over ranks of the mean over valid samples of the time in the operation",
              &Result::mean_of_means),
        field("max_of_means", "s", "largest over ranks of the mean over valid samples of the time in the operation",
              &Result::max_of_means),
        field("min_of_means", "s", "smallest over ranks of the mean over valid samples of the time in the operation",
              &Result::min_of_means),
        field("overlap_benefit_median", "", "delay overlap benefit (Niethammer 2016, Eq. 5), from medians",
              [](const Result &r) { return r.overlap_median.benefit; },
              {"", "benefit", ColumnKind::ratio,
               "(t0 + delay - t) / t (Niethammer 2016, Eq. 5), of medians; t0, t: global time without and with delay; "
               "t - "
               "delay is after last"}),
        field(
            "overlap_share_median", "", "hidden time / the shorter of operation and delay, from medians",
            [](const Result &r) { return r.overlap_median.share; },
            {"", "hidden", ColumnKind::ratio, "(t0 + delay - t) / the shorter of t0 and delay; 1: hidden completely"}),
        field("overlap_benefit_min", "", "delay overlap benefit, from minima",
              [](const Result &r) { return r.overlap_min.benefit; }),
        field("overlap_share_min", "", "hidden time / the shorter of operation and delay, from minima",
              [](const Result &r) { return r.overlap_min.share; }),
        field("computed", "s", "actual computation during the operation, per call: mean over valid samples and ranks",
              &Result::computed, {"", "compute"}),
        field("overlap_osu", "", "overlap of operation and computation as OSU defines it",
              [](const Result &r) { return r.computation_overlap.osu; },
              {"overlap", "OSU", ColumnKind::ratio,
               "1 - (with - compute) / alone, not below 0, of latency: as osu_i* define it"}),
        field("overlap_imb", "", "overlap of operation and computation as IMB-NBC defines it",
              [](const Result &r) { return r.computation_overlap.imb; },
              {"overlap", "IMB", ColumnKind::ratio,
               "(alone + compute - with) / the shorter of alone and compute, from 0 to 1, of latency, as IMB-NBC"}),
        field("overlap_window", "",
              "overlap of operation and computation, from times between the common start and the last exit",
              [](const Result &r) { return r.computation_overlap.window; },
              {"overlap", "window", ColumnKind::ratio,
               "the same of makespan, not cut off: 1 where the shorter of the two is hidden completely"}),
    };
    return declared;
}

const std::vector<CellField> &cell_columns() {
    static const std::vector<CellField> declared = [] {
        std::vector<CellField> columns = cell_fields();
        const std::vector<CellField> summaries = summary_fields();
        columns.insert(columns.end(), summaries.begin(), summaries.end());
        return columns;
    }();
    return declared;
}

const std::vector<SampleField> &sample_fields() {
    using Report = BatchReport;
    using Index = std::size_t;
    constexpr auto count = FieldType::count;
    constexpr auto flag = FieldType::flag;
    constexpr auto number = FieldType::number;
    static const std::vector<SampleField> declared = [] {
        std::vector<SampleField> fields = {
            {{{"cell_index", "", "cell that the sample belongs to", count},
              per_sample([](const Report &r, Index) { return r.cell; })}},
            {{{"block", "", "position of the sample's block in the order of the launch", count},
              per_sample([](const Report &r, Index) { return r.block; })}},
            {{{"canary", "s", "round trip of a cache line between neighboring ranks before the sample's block", number},
              per_sample([](const Report &r, Index) { return r.round_trip; })}},
            {{{"attempt", "", "number of the sample within its cell, in order", count},
              per_sample([](const Report &r, Index i) { return r.first_attempt + static_cast<long>(i); })}},
            {{{"valid", "", "1 if the sample counts", flag},
              per_sample([](const Report &r, Index i) { return r.verdicts[i] == Verdict::valid; })}},
            {{{"deadline", "s", "common start on the global clock", number}, array(&Batch::deadline)}},
            {{{"begin", "s", "first entry into the operation, global clock", number},
              per_sample([](const Report &r, Index i) { return first_entry(r.batch[i]); })}},
            {{{"slack", "s", "time from the decision on the deadline to it", number}, array(&Batch::slack)}},
            {{{"lateness", "s", "from the planned start of the latest rank to its entry into the operation", number},
              per_sample([](const Report &r, Index i) { return lateness(r.batch[i]); })}},
            {{{"verdict", "", "why the sample counts or not", flag, {}, verdict_names()},
              per_sample([](const Report &r, Index i) { return static_cast<int>(r.verdicts[i]); })}},
            {{{"sync_entry", "s", "entry into the synchronizer, global clock", number}, array(&Batch::sync_entry)},
             true},
            {{{"entry", "s", "entry into the operation, global clock", number}, array(&Batch::entry)}, true},
            {{{"exit", "s", "exit from the operation, global clock", number}, array(&Batch::exit)}, true},
            {{{"delay", "s", "planned start after the common one, as asked for", number}, array(&Batch::delay)}, true},
            {{{"flag", "", "0 if the synchronizer reported a failed start", flag},
              [](const Report &r) -> Values {
                  return std::vector<std::int64_t>(r.batch.flag.begin(), r.batch.flag.end());
              }},
             true},
            {{{"computed_time", "s", "computation between entry and exit, all calls", number}, array(&Batch::computed)},
             true}};
        for (const Metric &metric : all_metrics()) {
            fields.push_back({{metric.field(), per_sample([value = metric.value](const Report &r, Index i) {
                                   return value(r.batch[i]);
                               })}});
        }
        return fields;
    }();
    return declared;
}

} // namespace bench
