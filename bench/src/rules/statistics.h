#pragma once

#include "rules/intervals.h"

#include <array>
#include <span>
#include <string>
#include <vector>

namespace bench {

/// The quantile `p` (0 to 1) of sorted values by linear interpolation between closest ranks (definition 7 of Hyndman
/// and Fan 1996, the default of NumPy and R). NaN if there are none.
double quantile_of_sorted(std::span<const double> sorted, double p);

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

/// `values` in the order in which they were measured; without `blocks` in one. `step`: see median_interval.
Summary summarize(std::vector<double> values, BlockSizes blocks = {}, double step = 0.0);

/// The fields of a summary by the names that files use.
struct Statistic {
    std::string name;
    double Summary::*value;
    bool has_unit; // that of the values
};
const std::array<Statistic, 12> &statistics();

} // namespace bench
