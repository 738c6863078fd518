#include "subcommands/drift/results.h"

#include <cmath>

namespace bench {

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
    const auto series = [&](std::vector<double> DriftSeries::*member) {
        return collect(pairs, [member](const DriftPair &pair) { return pair.series.*member; });
    };
    const auto around = [&](double DriftPair::*member, double DriftPair::*error, double side) {
        return collect(pairs, [=](const DriftPair &pair) { return pair.*member + side * pair.*error; });
    };
    const auto ppm = [&](double DriftPair::*member, double DriftPair::*period) {
        return collect(pairs, [=](const DriftPair &pair) { return std::abs(pair.*member) / (pair.*period) * 1e6; });
    };
    data.add("pair", {"pair"}, "the two ranks, asker first", "",
             collect(pairs, [](const DriftPair &pair) { return describe(pair.series.pair); }));
    data.add("time", {"time"}, "start of this round of measurements, from the start of the first", "s", started);
    data.add("asker", {"pair"}, "rank that asked; times are on its clock", "",
             collect(pairs, [](const DriftPair &pair) { return pair.series.pair.asker; }));
    data.add("answerer", {"pair"}, "rank that answered", "",
             collect(pairs, [](const DriftPair &pair) { return pair.series.pair.answerer; }));
    data.add("at", {"pair", "time"}, "time at which the offset holds, on the asker's local clock", "s",
             series(&DriftSeries::at));
    data.add("offset", {"pair", "time"}, "lead of the answerer's local clock over the asker's", "s",
             series(&DriftSeries::offset));
    data.add("offset_bound", {"pair", "time"}, "bound of the error of offset", "s", series(&DriftSeries::bound));
    data.add("rtt", {"pair", "time"}, "shortest round trip of the measurement", "s", series(&DriftSeries::rtt));
    data.add("drift", {"pair", "time"}, "offset - first offset", "s", collect(pairs, &DriftPair::drift));
    data.add("residual", {"pair", "time"}, "offset - least squares line", "s", collect(pairs, &DriftPair::residual));
    data.add("duration", {"pair"}, "time from the first measurement to the last", "s",
             collect(pairs, &DriftPair::duration));
    data.add("skew", {"pair"}, "slope of the least squares line, relative", "1", collect(pairs, &DriftPair::skew));
    data.add("skew_low", {"pair"}, "skew, lower end of its 95 % confidence interval", "1",
             around(&DriftPair::skew, &DriftPair::skew_error, -1.0));
    data.add("skew_high", {"pair"}, "upper end of the same", "1",
             around(&DriftPair::skew, &DriftPair::skew_error, 1.0));
    data.add("intercept", {"pair"}, "offset of the line at time 0 of the asker's local clock", "s",
             collect(pairs, &DriftPair::intercept));
    data.add("intercept_low", {"pair"}, "intercept, lower end of its 95 % confidence interval", "s",
             around(&DriftPair::intercept, &DriftPair::intercept_error, -1.0));
    data.add("intercept_high", {"pair"}, "upper end of the same", "s",
             around(&DriftPair::intercept, &DriftPair::intercept_error, 1.0));
    data.add("r_squared", {"pair"}, "share of the variance of offset explained by the line", "1",
             collect(pairs, &DriftPair::explained_share));
    data.add("drift_max", {"pair"}, "largest absolute drift", "s", collect(pairs, &DriftPair::largest_drift));
    data.add("drift_ppm", {"pair"}, "largest absolute drift / duration", "1e-6",
             ppm(&DriftPair::largest_drift, &DriftPair::duration));
    data.add("residual_max", {"pair"}, "largest absolute residual", "s", collect(pairs, &DriftPair::largest_residual));
    data.add("residual_rms", {"pair"}, "root mean square of the residuals", "s",
             collect(pairs, &DriftPair::rms_residual));
    data.add("residual_ppm", {"pair"}, "largest absolute residual / duration", "1e-6",
             ppm(&DriftPair::largest_residual, &DriftPair::duration));
    data.add("prediction_error", {"pair"}, "last offset - prediction of the line through the first half", "s",
             collect(pairs, &DriftPair::prediction_error));
    data.add("prediction_period", {"pair"}, "time from the end of the first half to the last measurement", "s",
             collect(pairs, &DriftPair::prediction_period));
    data.add("prediction_ppm", {"pair"}, "absolute prediction_error / prediction_period", "1e-6",
             ppm(&DriftPair::prediction_error, &DriftPair::prediction_period));
    data.add("uncorrected_error", {"pair"}, "last offset - last offset of the first half", "s",
             collect(pairs, &DriftPair::uncorrected_error));
    add_ranks(data, context);
    return data;
}

} // namespace bench
