#pragma once

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
    double min;
    double max;
    double p5;
    double p95;
    double p99;
};

Summary summarize(std::vector<double> values);

/// The fields of a summary by the names that files use.
struct Statistic {
    std::string name;
    double Summary::*value;
};
const std::array<Statistic, 7> &statistics();

} // namespace bench
