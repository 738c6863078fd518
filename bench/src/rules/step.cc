#include "rules/step.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace bench {
namespace {

constexpr double rounding = 1.0;    // ticks by which a multiple of the step may be off
constexpr double least_step = 8.0;  // ticks; of shorter steps most numbers are nearly multiples
constexpr double most_steps = 16.0; // in a difference, so that a step that is slightly off does not add up
constexpr int smallest_parts = 8;   // steps in the smallest difference, if reading takes that many
constexpr double on_grid = 0.98;    // share of the differences

/// The least squares step of differences that are nearly multiples of `guess`; 0 if they are not.
double fitted_step(std::span<const double> differences, double guess) {
    double products = 0.0;
    double squares = 0.0;
    for (const double difference : differences) {
        const double steps = std::round(difference / guess);
        products += difference * steps;
        squares += steps * steps;
    }
    const double step = products / squares;
    const auto off = std::ranges::count_if(
        differences, [&](double difference) { return std::abs(std::remainder(difference, step)) > rounding; });
    return static_cast<double>(off) <= (1.0 - on_grid) * static_cast<double>(differences.size()) ? step : 0.0;
}

} // namespace

double step_of(std::span<const double> differences) {
    std::vector<double> sorted;
    std::ranges::copy_if(differences, std::back_inserter(sorted), [](double difference) { return difference > 0.0; });
    if (sorted.empty()) {
        return 0.0;
    }
    std::ranges::sort(sorted);
    for (int parts = 1; parts <= smallest_parts && sorted.front() / parts >= least_step; ++parts) {
        const double guess = sorted.front() / parts;
        const auto end = std::upper_bound(sorted.begin(), sorted.end(), most_steps * guess);
        if (const double step = fitted_step({sorted.begin(), end}, guess); step > 0.0) {
            return step;
        }
    }
    return 1.0;
}

} // namespace bench
