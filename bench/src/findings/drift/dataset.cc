#include "findings/drift/results.h"

#include <cmath>

namespace bench {
namespace {

template <typename Get> std::vector<double> single(const std::vector<DriftPair> &pairs, Get get) {
    std::vector<double> values;
    for (const DriftPair &pair : pairs) {
        values.push_back(get(pair));
    }
    return values;
}

template <typename Get> std::vector<double> collect(const std::vector<DriftPair> &pairs, Get get) {
    std::vector<double> values;
    for (const DriftPair &pair : pairs) {
        const std::vector<double> &component = get(pair);
        values.insert(values.end(), component.begin(), component.end());
    }
    return values;
}

} // namespace

Dataset drift_dataset(const Context &context, const DriftOptions &options, const std::vector<double> &started,
                      const std::vector<DriftPair> &pairs) {
    Dataset data;
    data.title = "Offsets between the local clocks of pairs of ranks over time, measured by downbeat-bench drift";
    data.attributes = {{"experiment", std::string("drift")},
                       {"duration_s", options.duration},
                       {"interval_s", options.interval},
                       {"estimator", options.estimator},
                       {"rounds", options.rounds}};
    data.dimensions = {{"pair", pairs.size()}, {"time", started.size()}};
    std::vector<std::string> names;
    std::vector<std::int64_t> askers;
    std::vector<std::int64_t> answerers;
    for (const DriftPair &pair : pairs) {
        names.push_back(describe(pair.series.pair));
        askers.push_back(pair.series.pair.asker);
        answerers.push_back(pair.series.pair.answerer);
    }
    const auto series = [&](std::vector<double> DriftSeries::*member) {
        return collect(pairs,
                       [member](const DriftPair &pair) -> const std::vector<double> & { return pair.series.*member; });
    };
    const auto derived = [&](std::vector<double> DriftPair::*member) {
        return collect(pairs, [member](const DriftPair &pair) -> const std::vector<double> & { return pair.*member; });
    };
    const auto number = [&](double DriftPair::*member) {
        return single(pairs, [member](const DriftPair &pair) { return pair.*member; });
    };
    const auto around = [&](double DriftPair::*member, double DriftPair::*error, double side) {
        return single(pairs, [=](const DriftPair &pair) { return pair.*member + side * pair.*error; });
    };
    const auto ppm = [&](double DriftPair::*member, double DriftPair::*period) {
        return single(pairs, [=](const DriftPair &pair) { return std::abs(pair.*member) / (pair.*period) * 1e6; });
    };
    data.variables = {
        {"pair", {"pair"}, "the two ranks, asker first", "", names},
        {"time", {"time"}, "start of this round of measurements, from the start of the first", "s", started},
        {"asker", {"pair"}, "rank that asked; times are on its clock", "", askers},
        {"answerer", {"pair"}, "rank that answered", "", answerers},
        {"at",
         {"pair", "time"},
         "time at which the offset holds, on the asker's local clock",
         "s",
         series(&DriftSeries::at)},
        {"offset",
         {"pair", "time"},
         "lead of the answerer's local clock over the asker's",
         "s",
         series(&DriftSeries::offset)},
        {"offset_bound", {"pair", "time"}, "bound of the error of offset", "s", series(&DriftSeries::bound)},
        {"rtt", {"pair", "time"}, "shortest round trip of the measurement", "s", series(&DriftSeries::rtt)},
        {"drift", {"pair", "time"}, "offset - first offset", "s", derived(&DriftPair::drift)},
        {"residual", {"pair", "time"}, "offset - least squares line", "s", derived(&DriftPair::residual)},
        {"duration", {"pair"}, "time from the first measurement to the last", "s", number(&DriftPair::duration)},
        {"skew", {"pair"}, "slope of the least squares line, relative", "1", number(&DriftPair::skew)},
        {"skew_low",
         {"pair"},
         "skew, lower end of its 95 % confidence interval",
         "1",
         around(&DriftPair::skew, &DriftPair::skew_error, -1.0)},
        {"skew_high", {"pair"}, "upper end of the same", "1", around(&DriftPair::skew, &DriftPair::skew_error, 1.0)},
        {"intercept",
         {"pair"},
         "offset of the line at time 0 of the asker's local clock",
         "s",
         number(&DriftPair::intercept)},
        {"intercept_low",
         {"pair"},
         "intercept, lower end of its 95 % confidence interval",
         "s",
         around(&DriftPair::intercept, &DriftPair::intercept_error, -1.0)},
        {"intercept_high",
         {"pair"},
         "upper end of the same",
         "s",
         around(&DriftPair::intercept, &DriftPair::intercept_error, 1.0)},
        {"r_squared",
         {"pair"},
         "share of the variance of offset explained by the line",
         "1",
         number(&DriftPair::explained_share)},
        {"drift_max", {"pair"}, "largest absolute drift", "s", number(&DriftPair::largest_drift)},
        {"drift_ppm",
         {"pair"},
         "largest absolute drift / duration",
         "1e-6",
         ppm(&DriftPair::largest_drift, &DriftPair::duration)},
        {"residual_max", {"pair"}, "largest absolute residual", "s", number(&DriftPair::largest_residual)},
        {"residual_rms", {"pair"}, "root mean square of the residuals", "s", number(&DriftPair::rms_residual)},
        {"residual_ppm",
         {"pair"},
         "largest absolute residual / duration",
         "1e-6",
         ppm(&DriftPair::largest_residual, &DriftPair::duration)},
        {"prediction_error",
         {"pair"},
         "last offset - prediction of the line through the first half",
         "s",
         number(&DriftPair::prediction_error)},
        {"prediction_period",
         {"pair"},
         "time from the end of the first half to the last measurement",
         "s",
         number(&DriftPair::prediction_period)},
        {"prediction_ppm",
         {"pair"},
         "absolute prediction_error / prediction_period",
         "1e-6",
         ppm(&DriftPair::prediction_error, &DriftPair::prediction_period)},
        {"uncorrected_error",
         {"pair"},
         "last offset - last offset of the first half",
         "s",
         number(&DriftPair::uncorrected_error)},
    };
    add_ranks(data, context);
    return data;
}

} // namespace bench
