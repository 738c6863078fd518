#pragma once

#include "output/context.h"
#include "run/algorithm_choices.h"
#include "run/asked_operations.h"
#include "run/command_line.h"
#include "text/component.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace bench {

/// The largest delay of an arrival pattern as the user gives it; one of the two is set.
struct AskedDelay {
    std::optional<double> seconds;
    std::optional<double> multiple; // of the time that the operation takes without delays

    bool operator==(const AskedDelay &) const = default;
};

/// The start of a sample, and the calls that its timestamps enclose.
struct AskedStart {
    Component synchronizer;
    Component timing;
};

/// Options that files record as they are; each has its row in `setting_attributes`.
struct SamplingSettings {
    long max_attempts = 20; // per valid sample wanted
    int observed = 0;       // rank
    bool permuted = false;  // arrival patterns, over the ranks
};

const std::vector<AttributeOf<SamplingSettings>> &setting_attributes();

/// The command line, checked: every name is known, every size fits every operation that takes sizes.
struct Options : CommonOptions, SamplingSettings {
    std::vector<AskedOperation> operations;
    std::vector<std::uint64_t> sizes; // bytes; OperationInfo::size_meaning says of what
    bool validate = false;            // results, before each block of samples
    std::vector<AskedStart> timings;
    AlgorithmChoices algorithms;
    std::vector<Component> patterns; // with one that delays, also the one that does not
    std::vector<AskedDelay> delays;  // for the patterns that delay
    StartLimits starts;              // which of them make a sample count
    Component stopping;
    Component warmup;
    std::string published;           // paper whose configuration counts where nothing else is asked for; "": none
    std::optional<double> tolerance; // seconds

    /// `library`: the tolerance in force, seconds.
    StartLimits start_limits(double library) const {
        StartLimits limits = starts;
        limits.late = limits.flags_count ? std::max(library, limits.late) : limits.late;
        return limits;
    }
};

/// The options, or the text that --help or --version asks for. Throws Error::usage. `ranks` is the size of the
/// communicator; no operation may have the name of a subcommand.
std::variant<Options, std::string> parse_options(int argc, char **argv, int ranks,
                                                 const std::vector<SubcommandName> &subcommands);

} // namespace bench
