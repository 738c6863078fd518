// Splits, checks, wraps and escapes texts (words.h).
#include "text/words.h"

#include "component_text.h"
#include "text/error.h"
#include "utf8_length.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <regex>
#include <string_view>
#include <utility>

namespace bench {

std::string join(const std::vector<std::string> &names, std::string_view separator) {
    return fmt::format("{}", fmt::join(names, separator));
}

std::vector<std::string> split(std::string_view list, char separator) {
    std::vector<std::string> components;
    for (;;) {
        const std::size_t end = list.find(separator);
        components.emplace_back(list.substr(0, end));
        if (end == std::string_view::npos) {
            return components;
        }
        list.remove_prefix(end + 1);
    }
}

std::vector<std::string> split_outside_parentheses(std::string_view list) {
    std::vector<std::string> components;
    db_slice remaining = db_slice_of(list.data(), list.size());
    for (db_slice word{}; db_next_word(&remaining, &word) != 0;) {
        components.emplace_back(word.text, word.length);
    }
    return components;
}

void check_no_duplicates(std::string_view what, const std::vector<std::string> &names) {
    for (auto name = names.begin(); name != names.end(); ++name) {
        if (std::find(names.begin(), name, *name) != name) {
            throw Error::usage(fmt::format("{} '{}' is given twice; give it once", what, *name));
        }
    }
}

void check_names(std::string_view what, const std::vector<std::string> &names, const std::vector<std::string> &valid) {
    for (const std::string &name : names) {
        if (!contains(valid, name)) {
            throw Error::usage(fmt::format("unknown {} '{}'; {}", what, name, suggestion(name, valid, join(valid))));
        }
    }
    check_no_duplicates(what, names);
}

std::vector<std::vector<std::string>> match_groups(const std::string &text, const std::string &expression) {
    const std::regex pattern(expression);
    std::vector<std::vector<std::string>> matches;
    for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
        matches.emplace_back();
        for (std::size_t group = 1; group < match->size(); ++group) {
            matches.back().push_back((*match)[group].str());
        }
    }
    return matches;
}

std::string fill(const std::string &text, std::size_t indent) {
    std::string result;
    std::size_t column = indent;
    std::size_t start = 0;
    while (start < text.size()) {
        const std::size_t end = std::min(text.find(' ', start), text.size());
        const std::size_t length = end - start;
        if (column > indent && column + 1 + length > terminal_width) {
            result += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (column > indent) {
            result += ' ';
            ++column;
        }
        result += text.substr(start, length);
        column += length;
        start = end + 1;
    }
    return result;
}

namespace {

/// Normalizes a name for comparison: lower case, '_' for '-', no leading '-'.
std::string normalized(std::string_view word) {
    std::string name(word);
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::tolower(c)); });
    return name.erase(0, std::min(name.find_first_not_of('_'), name.size()));
}

/// Translates a normalized name of another benchmark, MPI or a paper to downbeat-bench's name.
std::string translated(std::string name) {
    for (const std::string_view prefix : {"osu_", "mpi_", "imb_"}) {
        if (name.starts_with(prefix)) {
            name.erase(0, prefix.size());
            break;
        }
    }
    struct Translation {
        std::string_view foreign; // normalized
        std::string_view own;     // name in downbeat-bench
    };
    for (const auto &[foreign, own] : {Translation{"latency", "ping_pong"}, Translation{"dissemination", "bruck"},
                                       Translation{"t_avg", "latency_avg"}, Translation{"sigma", "exit_skew"}}) {
        if (name == foreign) {
            return std::string(own);
        }
    }
    return name;
}

/// The edit distance of two words (Damerau 1964): insertions, deletions, replacements, swaps of adjacent characters.
std::size_t distance(std::string_view a, std::string_view b) {
    const std::size_t width = b.size() + 1;
    std::vector<std::size_t> steps((a.size() + 1) * width); // distance of the first i characters of a and j of b
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            std::size_t &step = steps[i * width + j];
            if (i == 0 || j == 0) {
                step = i + j;
                continue;
            }
            const std::size_t replaced = steps[(i - 1) * width + j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            step = std::min({steps[(i - 1) * width + j] + 1, steps[i * width + j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                step = std::min(step, steps[(i - 2) * width + j - 2] + 1);
            }
        }
    }
    return steps.back();
}

} // namespace

std::string nearest(std::string_view word, const std::vector<std::string> &valid) {
    std::string best;
    std::size_t smallest = std::numeric_limits<std::size_t>::max();
    const std::string typed = normalized(word);
    for (const std::string &meant : {typed, translated(typed)}) {
        for (const std::string &name : valid) {
            const std::string form = normalized(name);
            // A word that begins or ends a name counts as one typing error away from it. The word must be at most a
            // third of the name's length away.
            const bool begins = meant.size() > 1 && form.starts_with(meant);
            const bool ends = meant.size() > 2 && form.ends_with("_" + meant);
            std::size_t errors = 0;
            if (form != meant) {
                errors = begins || ends ? 1 : distance(meant, form);
            }
            if (errors < smallest && (begins || ends || 3 * errors <= form.size())) {
                smallest = errors;
                best = name;
            }
        }
    }
    return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string> &valid, const std::string &choices) {
    const std::string meant = nearest(word, valid);
    return meant.empty() ? fmt::format("choose one of {}", choices) : fmt::format("did you mean '{}'?", meant);
}

std::string explain_foreign_option(std::string_view word) {
    struct ForeignOption {
        std::string_view option;     // as the other program spells it
        std::string_view program;    // that has the option
        std::string_view equivalent; // option of downbeat-bench; "RANKS": an option of the MPI launcher
    };
    static constexpr std::array table = {
#define EQUIVALENT(option, program, here) ForeignOption{option, program, here},
#include "equivalent_options.h"
#undef EQUIVALENT
    };
    const auto *const foreign = std::ranges::find(table, word, &ForeignOption::option);
    if (foreign == table.end()) {
        return "";
    }
    return fmt::format("{}'s {} is {} here", foreign->program, foreign->option,
                       foreign->equivalent == "RANKS" ? "an option of the launcher, e.g. mpirun -n 4,"
                                                      : foreign->equivalent);
}

namespace {

/// True for the second and later bytes of a UTF-8 character.
bool is_continuation(char c) { return (static_cast<std::uint8_t>(c) & 0xc0U) == 0x80U; }

} // namespace

std::optional<std::size_t> find_unprintable(std::string_view text) {
    for (std::size_t position = 0; position < text.size();) {
        const std::size_t length = utf8_length(text.data() + position, text.size() - position);
        if (length == 0) {
            return position;
        }
        position += length;
    }
    return std::nullopt;
}

std::string printable(std::string_view text) {
    std::string result;
    while (const std::optional<std::size_t> position = find_unprintable(text)) {
        const char bad = text[*position];
        result += text.substr(0, *position);
        result += bad == '\n' ? "\n" : fmt::format("\\x{:02x}", static_cast<std::uint8_t>(bad));
        text.remove_prefix(*position + 1);
    }
    return result.append(text);
}

std::string_view utf8_prefix(std::string_view text, std::size_t bytes) {
    if (text.size() <= bytes) {
        return text;
    }
    while (bytes > 0 && is_continuation(text[bytes])) {
        --bytes;
    }
    return text.substr(0, bytes);
}

std::string csv_field(const std::string &raw) {
    // A spreadsheet would evaluate such a text as a formula (OWASP, "CSV Injection").
    const bool formula = !raw.empty() && std::string_view("=+-@\t\r").find(raw.front()) != std::string_view::npos;
    const std::string text = formula ? "'" + raw : raw;
    if (text.find_first_of(",\"\r\n") == std::string::npos) {
        return text;
    }
    std::string result = "\"";
    for (const char c : text) {
        result += c == '"' ? "\"\"" : std::string(1, c);
    }
    return result + "\"";
}

std::string csv_field(double number) { return std::isnan(number) ? "" : fmt::format("{}", number); }

std::string csv_field(std::int64_t number) { return fmt::format("{}", number); }

} // namespace bench
