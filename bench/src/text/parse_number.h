#pragma once

#include "text/error.h"

#include <charconv>
#include <fmt/format.h>
#include <string_view>
#include <type_traits>

namespace bench {

/// The number that an option has been given, between `least` and `most`. Throws Error::usage on anything else; CLI11's
/// own messages do not name the valid values. `what`: of a number with a fraction.
template <typename Number>
Number parse_number(std::string_view option, std::string_view text, Number least, Number most,
                    std::string_view what = "seconds") {
    Number number{};
    const char *const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || rest != end || !(number >= least && number <= most)) {
        throw Error::usage(fmt::format("{} cannot be '{}'; use {} from {} to {} without {}", option, text,
                                       std::is_integral_v<Number> ? "an integer" : what, least, most,
                                       std::is_integral_v<Number> ? "suffix" : "unit"));
    }
    return number;
}

} // namespace bench
