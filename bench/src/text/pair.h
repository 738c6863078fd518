#pragma once

#include <string>
#include <vector>

namespace bench {

/// Two ranks that compare their clocks.
struct Pair {
    int asker;
    int answerer;

    bool operator==(const Pair &) const = default;
};

/// "0:1"
std::string describe(const Pair &pair);

/// Pairs from text such as "0:1,0:2", asker first. Throws Error::usage on anything else, on ranks that are not below
/// `ranks`, and on a pair given twice.
std::vector<Pair> parse_pairs(const std::string &text, int ranks);

} // namespace bench
