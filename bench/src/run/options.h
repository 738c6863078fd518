// The options of a run, i.e. of downbeat-bench without a subcommand.
#pragma once

#include "output/context.h"
#include "run/algorithm_choices.h"
#include "run/command_line.h"
#include "run/requested_operations.h"
#include "text/component.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace bench {

/// The largest delay of an arrival pattern in option --delay. Exactly one member is set.
struct RequestedDelay {
    std::optional<double> seconds;  // the delay, s
    std::optional<double> multiple; // the delay divided by the time of the operation without delays

    bool operator==(const RequestedDelay &) const = default;
};

/// A combination of synchronizer and timing scheme.
struct RequestedStart {
    Component synchronizer;
    Component timing;
};

/// Options that files record unchanged; each has a row in `setting_attributes`.
struct SamplingSettings {
    long max_attempts = 20; // a block ends after this number of attempts per valid sample that it needs
    int observed = 0;       // rank that metric latency_observed reports
    bool permuted = false;  // arrival patterns are permuted over the ranks
};

/// The attributes of files for SamplingSettings.
const std::vector<AttributeOf<SamplingSettings>> &setting_attributes();

/// The command line, checked: every name is known, every size fits every operation that takes sizes.
struct Options : CommonOptions, SamplingSettings {
    std::vector<RequestedOperation> operations;
    std::vector<std::uint64_t> sizes;    // bytes; for their meaning see OperationInfo::size_meaning
    bool validate = false;               // check results before each block of samples
    std::vector<RequestedStart> timings; // pairs of synchronizer and timing scheme to measure
    AlgorithmChoices algorithms;
    std::vector<Component> patterns;    // arrival patterns; always with pattern "none", for comparison
    std::vector<RequestedDelay> delays; // largest delays of the patterns other than "none"
    StartLimits starts;                 // options --late and --late-ranks; start_limits() completes them
    Component stopping;                 // stopping rule
    Component warmup;                   // warm-up rule
    std::string published;              // paper whose configuration gives defaults of other options; "": none
    std::optional<double> tolerance;    // lateness from which a start is rejected, s; empty: the library's setting

    /// The limits for starts. Without --late, the limit of lateness is the library's tolerance `library`, s. --late
    /// SECONDS replaces it, also by a smaller limit; with --late flags, the limit is infinite.
    StartLimits start_limits(double library) const {
        StartLimits limits = starts;
        if (limits.flags_count) { // without --late, limits.late is 0; with --late flags, infinity
            limits.late = std::max(library, limits.late);
        }
        return limits;
    }
};

/// Parses the options. Returns a text to print for --help or --version. Throws Error::usage. `ranks` is the size of the
/// communicator. `subcommands` are needed for the help text and for messages.
std::variant<Options, std::string> parse_options(int argc, char **argv, int ranks,
                                                 const std::vector<SubcommandName> &subcommands);

} // namespace bench
