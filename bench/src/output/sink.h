#pragma once

#include "output/clock_agreement.h"
#include "output/context.h"
#include "output/dataset.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Results that are known at the end.
struct RunEnd {
    std::optional<ClockAgreement> agreement; // of a launch
    std::vector<std::string> warnings;
    std::string text; // for people, all of it
};

/// Values of variables with the same first dimension, from one of its indices on.
struct Rows {
    std::size_t first = 0;
    std::vector<std::pair<std::size_t, Values>> columns{}; // by the index of the variable
    bool partial = false;                                  // not all variables of the table: for netCDF alone
};

/// A file or standard output, at rank 0 alone. The constructor opens it, so that a file that cannot be written is
/// noticed before the measurement. All calls throw Error if writing fails.
class Sink {
public:
    virtual ~Sink() = default;

    /// Before the first row. `described` outlives the sink.
    virtual void open(const Context &context, const Dataset &described) = 0;

    virtual void row(const Rows &rows) = 0;

    /// After the last one.
    virtual void close(const RunEnd &end) = 0;
};

} // namespace bench
