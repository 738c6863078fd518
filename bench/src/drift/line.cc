#include "drift/line.h"

#include <cstddef>
#include <numeric>

namespace bench {

Line fit_line(std::span<const double> x, std::span<const double> y) {
    const auto count = static_cast<double>(x.size());
    const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / count;
    const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / count;
    double xx = 0.0;
    double xy = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    return {mean_x, mean_y, xy / xx};
}

} // namespace bench
