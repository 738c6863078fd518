#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace bench {

/// "a, b, c"
std::string join(const std::vector<std::string> &names, std::string_view separator = ", ");

/// The parts of a comma-separated list, empty ones included, so that the caller can refuse them.
std::vector<std::string> split(std::string_view list, char separator = ',');

/// The same, but commas within parentheses separate nothing: "a(x=1,y=2),b".
std::vector<std::string> split_outside_parentheses(std::string_view list);

/// Throws Error::usage unless every name is one of `valid` and none occurs twice; `what` is the kind, e.g. "operation".
void check_names(std::string_view what, const std::vector<std::string> &names, const std::vector<std::string> &valid);

/// As std::ranges::contains of C++23.
template <typename Range, typename Value> bool contains(const Range &range, const Value &value) {
    return std::ranges::find(range, value) != std::ranges::end(range);
}

/// The results of a function, or a member, of each element.
template <typename Range, typename Get> auto mapped(const Range &range, Get get) {
    std::vector<std::decay_t<std::invoke_result_t<Get, decltype(*std::begin(range))>>> results;
    for (const auto &element : range) {
        results.push_back(std::invoke(get, element));
    }
    return results;
}

/// The texts of elements, one after the other.
template <typename Range, typename Get> std::string concatenated(const Range &range, Get get) {
    return join(mapped(range, get), "");
}

/// The names of the entries of a registry.
template <typename Registry> std::vector<std::string> names_of(const Registry &registry) {
    return mapped(registry, [](const auto &entry) { return entry.name; });
}

/// The entry of a registry with this name, which check_names has accepted.
template <typename Registry> const auto &find_by_name(const Registry &registry, std::string_view name) {
    auto entry = registry.begin();
    while (entry->name != name) {
        ++entry;
    }
    return *entry;
}

/// The `make` of a registry's entry: a Kind of its argument.
template <typename Kind> struct Make {
    template <typename Base, typename Argument> using Function = std::unique_ptr<Base> (*)(const Argument &argument);

    template <typename Base, typename Argument> operator Function<Base, Argument>() const {
        return [](const Argument &argument) -> std::unique_ptr<Base> { return std::make_unique<Kind>(argument); };
    }
};

/// The groups of a regular expression (ECMAScript) for each match in the text, in order.
std::vector<std::vector<std::string>> match_groups(const std::string &text, const std::string &expression);

/// Columns of a terminal as it opens.
constexpr std::size_t terminal_width = 80;

/// Wraps words into lines as wide as a terminal with this indent; the first line is `indent` long already.
std::string fill(const std::string &text, std::size_t indent);

/// The valid name that was probably meant, "" if none is near: "allreduse", "osu_allreduce", "MPI_Allreduce".
std::string nearest(std::string_view word, const std::vector<std::string> &valid);

/// How an error about an unknown name ends: "did you mean 'allreduce'?", else "choose one of ", and all of them.
std::string suggestion(std::string_view word, const std::vector<std::string> &valid, const std::string &choices);

/// The error about a word that is an option of another benchmark, "OSU's -i is -r here"; "" for other words.
std::string from_elsewhere(std::string_view word);

/// The index of the first byte that is not valid UTF-8 or is a control character; nothing if all are printable. Texts
/// in files and tables pass, so that every reader can read them.
std::optional<std::size_t> find_unprintable(std::string_view text);

/// The text with such bytes made visible: "\x1b". Lines are kept.
std::string printable(std::string_view text);

/// A prefix of at most so many bytes that cuts no character.
std::string_view cut_off(std::string_view text, std::size_t bytes);

/// A text, quoted if it contains characters that would end the field (RFC 4180), after an apostrophe if a spreadsheet
/// would take it for a formula.
std::string csv_field(const std::string &raw);
/// A missing value (NaN) is an empty field, which R and pandas understand.
std::string csv_field(double number);
std::string csv_field(std::int64_t number);

} // namespace bench
