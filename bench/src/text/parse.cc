// Parses message sizes and pairs of ranks (parse.h).
#include "text/parse.h"

#include "text/error.h"
#include "text/words.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <fmt/format.h>
#include <limits>

namespace bench {
namespace {

constexpr std::string_view valid_forms =
    "use a size (8, 100, 64K; K, M, G are powers of 1024), a list (8,100,1M) or powers of two from:to (8:64K)";

/// The error for a word that is not a message size.
Error bad_size(std::string_view token) {
    return Error::usage(fmt::format("'{}' is not a message size; {}", token, valid_forms));
}

/// log2 of the factor of a suffix: 10 for "K", 20 for "M", 30 for "G". Throws Error::usage on another suffix.
unsigned shift_of_suffix(std::string_view suffix, std::string_view token) {
    constexpr std::string_view suffixes = "KMG";
    const std::size_t index = suffixes.find(suffix);
    if (suffix.size() != 1 || index == std::string_view::npos) {
        throw bad_size(token);
    }
    return 10 * (static_cast<unsigned>(index) + 1);
}

/// Parses a size. `text` is the piece of the user's `token` to parse; the error message shows the token.
std::uint64_t parse_size(std::string_view text, std::string_view token) {
    std::uint64_t size = 0;
    const char *const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, size);
    if (error != std::errc{} || size == 0) {
        throw bad_size(token);
    }
    if (rest != end) {
        const unsigned shift = shift_of_suffix({rest, static_cast<std::size_t>(end - rest)}, token);
        if (size > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
            throw bad_size(token);
        }
        size <<= shift;
    }
    return size;
}

/// The sizes of a word: of a size, or the powers of two of a range. Throws Error::usage.
std::vector<std::uint64_t> parse_range(std::string_view token) {
    const std::size_t colon = token.find(':');
    if (colon == std::string_view::npos) {
        return {parse_size(token, token)};
    }
    const std::uint64_t from = parse_size(token.substr(0, colon), token);
    const std::uint64_t to = parse_size(token.substr(colon + 1), token);
    if (!std::has_single_bit(from) || !std::has_single_bit(to)) {
        throw Error::usage(
            fmt::format("the ends of the range '{}' are not both powers of two; {}", token, valid_forms));
    }
    if (from > to) {
        throw Error::usage(fmt::format("the range '{}' is empty; put the smaller size first", token));
    }
    std::vector<std::uint64_t> sizes;
    for (int bit = std::countr_zero(from); bit <= std::countr_zero(to); ++bit) {
        sizes.push_back(std::uint64_t{1} << bit);
    }
    return sizes;
}

} // namespace

std::vector<std::uint64_t> parse_sizes(std::string_view text) {
    std::vector<std::uint64_t> sizes;
    for (const std::string &token : split(text)) {
        for (const std::uint64_t size : parse_range(token)) {
            if (contains(sizes, size)) {
                throw Error::usage(fmt::format("message size {} is given twice in '{}'; give it once", size, text));
            }
            sizes.push_back(size);
        }
    }
    return sizes;
}

namespace {

/// The error for a word that is not a pair of ranks.
Error bad_pair(const std::string &token, int ranks) {
    return Error::usage(
        fmt::format("--pairs cannot contain '{}'; use two different ranks from 0 to {}, e.g. 0:1", token, ranks - 1));
}

/// Parses a rank. `text` is the piece of the user's `token` to parse; the error message shows the token.
int parse_rank(const std::string &text, const std::string &token, int ranks) {
    const std::optional<int> rank = read_number<int>(text);
    if (!rank || *rank < 0 || *rank >= ranks) {
        throw bad_pair(token, ranks);
    }
    return *rank;
}

} // namespace

std::string describe_pair(const Pair &pair) { return fmt::format("{}:{}", pair.asker, pair.answerer); }

std::vector<Pair> parse_pairs(const std::string &text, int ranks) {
    if (ranks < 2) {
        throw Error::usage("a pair needs two ranks, but there is only one; start the program with the launcher of its "
                           "MPI library, e.g. mpirun -n 2");
    }
    std::vector<Pair> pairs;
    for (const std::string &token : split(text)) {
        const std::vector<std::string> ends = split(token, ':');
        if (ends.size() != 2) {
            throw bad_pair(token, ranks);
        }
        const Pair pair{parse_rank(ends[0], token, ranks), parse_rank(ends[1], token, ranks)};
        if (pair.asker == pair.answerer) {
            throw bad_pair(token, ranks);
        }
        if (contains(pairs, pair)) {
            throw Error::usage(fmt::format("pair '{}' is given twice in '{}'; give it once", token, text));
        }
        pairs.push_back(pair);
    }
    return pairs;
}

} // namespace bench
