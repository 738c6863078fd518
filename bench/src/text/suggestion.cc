#include "text/suggestion.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <fmt/format.h>
#include <limits>

namespace bench {
namespace {

std::string form_of(std::string_view word) {
    std::string form(word);
    std::ranges::transform(form, form.begin(),
                           [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::tolower(c)); });
    return form.erase(0, std::min(form.find_first_not_of('_'), form.size()));
}

/// The form of a name that other benchmarks or MPI have.
std::string without_prefix(const std::string &form) {
    for (const std::string_view prefix : {"osu_", "mpi_", "imb_"}) {
        if (form.starts_with(prefix)) {
            return form == "osu_latency" ? "ping_pong" : form.substr(prefix.size());
        }
    }
    return form == "latency" ? "ping_pong" : form;
}

/// How many characters are added, left out, replaced or swapped with the next one.
std::size_t distance(std::string_view one, std::string_view other) {
    const std::size_t width = other.size() + 1;
    std::vector<std::size_t> steps((one.size() + 1) * width);
    for (std::size_t i = 0; i <= one.size(); ++i) {
        for (std::size_t j = 0; j <= other.size(); ++j) {
            std::size_t &here = steps[i * width + j];
            if (i == 0 || j == 0) {
                here = i + j;
                continue;
            }
            const std::size_t replaced = steps[(i - 1) * width + j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
            here = std::min({steps[(i - 1) * width + j] + 1, steps[i * width + j - 1] + 1, replaced});
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) {
                here = std::min(here, steps[(i - 2) * width + j - 2] + 1);
            }
        }
    }
    return steps.back();
}

} // namespace

std::string nearest(std::string_view word, const std::vector<std::string> &valid) {
    std::string best;
    std::size_t least = std::numeric_limits<std::size_t>::max();
    const std::string whole = form_of(word);
    for (const std::string &meant : {whole, without_prefix(whole)}) {
        for (const std::string &name : valid) {
            const std::string form = form_of(name);
            // The beginning of a name is meant rather than its end, and that rather than a name with two slips.
            const bool begins = meant.size() > 1 && form.starts_with(meant);
            const bool ends = meant.size() > 2 && form.ends_with("_" + meant);
            const std::size_t away = begins ? (form == meant ? 0 : 1) : ends ? 1 : distance(meant, form);
            if (away < least && (begins || ends || 3 * away <= form.size())) {
                least = away;
                best = name;
            }
        }
    }
    return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string> &valid, const std::string &all) {
    const std::string meant = nearest(word, valid);
    return meant.empty() ? fmt::format("choose one of {}", all) : fmt::format("did you mean '{}'?", meant);
}

std::string from_elsewhere(std::string_view word) {
    struct Elsewhere {
        std::string_view option, program, here;
    };
    static constexpr std::array table = {
#define ELSEWHERE(option, program, here) Elsewhere{option, program, here},
#include "options_elsewhere.h"
#undef ELSEWHERE
    };
    const auto *const found = std::ranges::find(table, word, &Elsewhere::option);
    if (found == table.end()) {
        return "";
    }
    return fmt::format("{}'s {} is {} here", found->program, found->option,
                       found->here == "RANKS" ? "an option of the launcher, e.g. mpirun -n 4," : found->here);
}

} // namespace bench
