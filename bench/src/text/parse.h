#pragma once

#include "text/error.h"

#include <charconv>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace bench {

/// The number that is the whole text; nothing if it is something else.
template <typename Number> std::optional<Number> read_number(std::string_view text) {
    Number number{};
    const char *const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

/// The number that an option has been given, between `least` and `most`. Throws Error::usage on anything else; CLI11's
/// own messages do not name the valid values. `what`: of a number with a fraction.
template <typename Number>
Number parse_number(std::string_view option, std::string_view text, Number least, Number most,
                    std::string_view what = "seconds") {
    const std::optional<Number> number = read_number<Number>(text);
    if (!number || !(*number >= least && *number <= most)) {
        throw Error::usage(fmt::format("{} cannot be '{}'; use {} from {} to {} without {}", option, text,
                                       std::is_integral_v<Number> ? "an integer" : what, least, most,
                                       std::is_integral_v<Number> ? "suffix" : "unit"));
    }
    return *number;
}

/// Message sizes in bytes from text such as "8:64K" (the powers of two from 8 to 65536), "8,100,1M" or both mixed, in
/// the order given. K, M and G are factors of 1024. Throws Error::usage on anything else, on 0 and on a size given
/// twice.
std::vector<std::uint64_t> parse_sizes(std::string_view text);

/// Two ranks that compare their clocks.
struct Pair {
    int asker;
    int answerer;

    bool operator==(const Pair &) const = default;
};

/// "0:1"
std::string describe_pair(const Pair &pair);

/// Pairs from text such as "0:1,0:2", asker first. Throws Error::usage on anything else, on ranks that are not below
/// `ranks`, and on a pair given twice.
std::vector<Pair> parse_pairs(const std::string &text, int ranks);

} // namespace bench
