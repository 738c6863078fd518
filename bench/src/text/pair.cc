#include "text/pair.h"

#include "text/error.h"
#include "text/names.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace bench {
namespace {

Error bad_pair(const std::string &token, int ranks) {
    return Error::usage(
        fmt::format("--pairs cannot contain '{}'; use two different ranks from 0 to {}, e.g. 0:1", token, ranks - 1));
}

int parse_rank(const std::string &text, const std::string &token, int ranks) {
    int rank = -1;
    const char *const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, rank);
    if (error != std::errc{} || rest != end || rank < 0 || rank >= ranks) {
        throw bad_pair(token, ranks);
    }
    return rank;
}

} // namespace

std::string describe(const Pair &pair) { return fmt::format("{}:{}", pair.asker, pair.answerer); }

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
        if (std::find(pairs.begin(), pairs.end(), pair) != pairs.end()) {
            throw Error::usage(fmt::format("pair '{}' is given twice in '{}'; give it once", token, text));
        }
        pairs.push_back(pair);
    }
    return pairs;
}

} // namespace bench
