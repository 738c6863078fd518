#pragma once

#include "command_line.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace bench {

/// The command line, checked: every name is known, every size fits every operation that takes sizes.
struct Options : CommonOptions {
    std::vector<std::string> operations;
    std::vector<std::uint64_t> sizes; // bytes per process
    std::vector<std::string> synchronizers;
    long repetitions = 1000; // valid samples per cell
    long max_attempts = 20;  // per valid sample wanted
    long warmup = 20;        // attempts before every block
    int root = 0;
    std::optional<double> tolerance; // seconds
};

/// The options, or the text that --help or --version asks for. Throws Error::usage. `ranks` is the size of the
/// communicator.
std::variant<Options, std::string> parse_options(int argc, char **argv, int ranks);

} // namespace bench
