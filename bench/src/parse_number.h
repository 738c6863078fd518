#pragma once

#include "error.h"

#include <charconv>
#include <fmt/format.h>
#include <string_view>
#include <type_traits>

namespace bench {

/// The number that an option has been given, between `least` and `most`. Throws Error::usage on anything else; CLI11's
/// own messages do not say what would be valid. Numbers with a fraction are seconds.
template <typename Number>
Number parse_number(std::string_view option, std::string_view text, Number least, Number most) {
    Number number{};
    const char *const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || rest != end || !(number >= least && number <= most)) {
        throw Error::usage(
            fmt::format("{} cannot be '{}'; valid are {} to {}{}", option, text, least, most,
                        std::is_integral_v<Number> ? ", whole numbers without suffix" : ", seconds, as 0.5e-6"));
    }
    return number;
}

} // namespace bench
