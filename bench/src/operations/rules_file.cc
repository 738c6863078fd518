#include "operations/rules_file.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace bench {
namespace {

/// By number: COLLTYPE of ompi/mca/coll/base/coll_base_functions.h.
constexpr const char *collectives[] = {"allgather", "allgatherv", "allreduce", "alltoall",       "alltoallv",
                                       "alltoallw", "barrier",    "bcast",     "exscan",         "gather",
                                       "gatherv",   "reduce",     "scan",      "reduce_scatter", "reduce_scatter_block",
                                       "scatter",   "scatterv"};

/// The numbers of a file without its comments.
class Numbers {
public:
    explicit Numbers(std::istream &file) {
        for (std::string line; std::getline(file, line);) {
            text_ << line.substr(0, line.find('#')) << '\n';
        }
    }

    long next() {
        long number = 0;
        if (!(text_ >> number)) {
            throw std::invalid_argument("no number");
        }
        return number;
    }

private:
    std::stringstream text_;
};

} // namespace

bool has_rules(const std::string &path, const std::string &collective, long ranks) {
    std::ifstream file(path);
    if (!file) {
        return false;
    }
    const auto number = std::distance(std::begin(collectives), std::ranges::find(collectives, collective));
    Numbers numbers(file);
    try {
        bool found = false;
        for (long left = numbers.next(); left > 0; --left) {
            const bool wanted = numbers.next() == number;
            const long sizes = numbers.next();
            for (long size = 0; size < sizes; ++size) {
                // Each replaces the one before. The first is for fewer ranks as well.
                const bool reaches = (numbers.next() <= ranks) || size == 0;
                bool any = false;
                for (long rules = numbers.next(); rules > 0; --rules) {
                    numbers.next(); // bytes
                    any = numbers.next() != 0 || any;
                    numbers.next(); // fan in or out
                    numbers.next(); // segment
                }
                found = wanted && reaches ? any : found;
            }
        }
        return found;
    } catch (const std::invalid_argument &) {
        return true;
    }
}

} // namespace bench
