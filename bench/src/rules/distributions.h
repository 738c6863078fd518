#pragma once

namespace bench {

/// The quantile of the standard normal distribution.
double normal_quantile(double p);

/// The quantile of Student's distribution with so many degrees of freedom, 1 at least; `p` 0.5 or more.
double student_quantile(double p, long freedom);

} // namespace bench
