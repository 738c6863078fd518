#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

namespace bench {

/// The quantile `p` (0 to 1) of sorted values by linear interpolation between closest ranks (definition 7 of Hyndman
/// and Fan 1996, the default of NumPy and R). NaN if there are none.
double quantile_of_sorted(std::span<const double> sorted, double p);

/// An interval for the median.
struct MedianInterval {
    double low;
    double high;
    double effective; // number of independent values that the values are worth
};

/// By order statistics (no distribution assumed), with the number of values replaced by what they are worth under a
/// first-order autoregressive process, n (1 - r1) / (1 + r1), r1 their autocorrelation at lag 1 where positive.
/// `values` in the order in which they were measured; `confidence` 0 to 1. Values and `effective` are NaN, NaN, 0 if
/// there are none; with few values the interval is all of their range, and its confidence lower.
MedianInterval median_interval(std::span<const double> values, double confidence);

/// An interval for the mean.
struct MeanInterval {
    double mean;
    double half;      // of the interval's width; NaN where the values are worth no more than one
    double effective; // see MedianInterval
};

/// By Student's distribution, with the number of values replaced as above, for the interval's width and for the degrees
/// of freedom. NaN, NaN, 0 if there are none.
MeanInterval mean_interval(std::span<const double> values, double confidence);

/// By how many standard deviations the number of runs above and below the median lies off what independent values would
/// have (Wald and Wolfowitz 1940); values at the median are left out. Negative where there are few runs, as under a
/// trend; 0 where all values are alike.
double runs_deviation(std::span<const double> values);

/// NaN throughout where there was no value.
struct Summary {
    double mean;
    double median;
    double median_low; // 95 % confidence interval of the median, see median_interval
    double median_high;
    double effective; // see MedianInterval
    double min;
    double max;
    double p5;
    double p25;
    double p75;
    double p95;
    double p99;
};

/// `values` in the order in which they were measured.
Summary summarize(std::vector<double> values);

/// The fields of a summary by the names that files use.
struct Statistic {
    std::string name;
    double Summary::*value;
    bool has_unit; // that of the values
};
const std::array<Statistic, 12> &statistics();

} // namespace bench
