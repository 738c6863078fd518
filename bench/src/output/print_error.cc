#include "output/print_error.h"

#include "text/encoding.h"

#include <fmt/format.h>
#include <iostream>

namespace bench {

void print_error(const std::string &message) {
    // One write, so that lines of different ranks do not mix.
    std::cerr << fmt::format("downbeat-bench: {}\n", printable(message)) << std::flush;
}

} // namespace bench
