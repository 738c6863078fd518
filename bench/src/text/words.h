// Helpers for texts and lists of names: splitting, checking names with suggestions, wrapping, UTF-8, CSV.
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

/// Joins names: "a, b, c".
std::string join(const std::vector<std::string> &names, std::string_view separator = ", ");

/// Splits a list. Empty elements are kept, so that the caller can refuse them.
std::vector<std::string> split(std::string_view list, char separator = ',');

/// Splits a comma-separated list, but not at commas within parentheses: "a(x=1,y=2),b" has two elements.
std::vector<std::string> split_outside_parentheses(std::string_view list);

/// Throws Error::usage if a name occurs twice. `what` is the kind of name in the message, e.g. "operation".
void check_no_duplicates(std::string_view what, const std::vector<std::string> &names);

/// Throws Error::usage if a name is not in `valid` or occurs twice.
void check_names(std::string_view what, const std::vector<std::string> &names, const std::vector<std::string> &valid);

/// Like std::ranges::contains of C++23.
template <typename Range, typename Value> bool contains(const Range &range, const Value &value) {
    return std::ranges::find(range, value) != std::ranges::end(range);
}

/// The results of calling `get`, a function or a pointer to a member, for each element.
template <typename Range, typename Get> auto mapped(const Range &range, Get get) {
    std::vector<std::decay_t<std::invoke_result_t<Get, decltype(*std::begin(range))>>> results;
    for (const auto &element : range) {
        results.push_back(std::invoke(get, element));
    }
    return results;
}

/// Concatenates the texts that `get` returns for the elements.
template <typename Range, typename Get> std::string concatenated(const Range &range, Get get) {
    return join(mapped(range, get), "");
}

/// The names of the entries of a registry.
template <typename Registry> std::vector<std::string> names_of(const Registry &registry) {
    return mapped(registry, [](const auto &entry) { return entry.name; });
}

/// The entry of a registry with this name. The name must exist: check_names has accepted it.
template <typename Registry> const auto &find_by_name(const Registry &registry, std::string_view name) {
    auto entry = registry.begin();
    while (entry->name != name) {
        ++entry;
    }
    return *entry;
}

/// Converts to the `make` function of a registry entry that constructs a Kind from the argument.
template <typename Kind> struct Make {
    template <typename Base, typename Argument> using Function = std::unique_ptr<Base> (*)(const Argument &argument);

    template <typename Base, typename Argument> operator Function<Base, Argument>() const {
        return [](const Argument &argument) -> std::unique_ptr<Base> { return std::make_unique<Kind>(argument); };
    }
};

/// The groups of each match of a regular expression (ECMAScript) in the text, as [match][group].
std::vector<std::vector<std::string>> match_groups(const std::string &text, const std::string &expression);

/// Columns of a terminal with its default size.
constexpr std::size_t terminal_width = 80;

/// Wraps text at the width of a terminal. Lines after the first are indented by `indent`; the caller has already
/// written `indent` columns of the first line.
std::string fill(const std::string &text, std::size_t indent);

/// The valid name that is similar to `word`, for a suggestion; "" if no name is. "allreduse", "osu_allreduce" and
/// "MPI_Allreduce" are similar to "allreduce".
std::string nearest(std::string_view word, const std::vector<std::string> &valid);

/// The end of an error message about an unknown name: "did you mean 'allreduce'?" or, without a similar name, "choose
/// one of " and `choices`.
std::string suggestion(std::string_view word, const std::vector<std::string> &valid, const std::string &choices);

/// The error message for an option of another benchmark, "OSU's -i is -r here"; "" for other words.
std::string explain_foreign_option(std::string_view word);

/// The index of the first byte that is a control character or not valid UTF-8; empty if the text is printable.
std::optional<std::size_t> find_unprintable(std::string_view text);

/// Escapes bytes that are not printable, e.g. as "\x1b". Keeps line breaks.
std::string printable(std::string_view text);

/// The longest prefix of at most `bytes` bytes that does not end within a UTF-8 character.
std::string_view utf8_prefix(std::string_view text, std::size_t bytes);

/// Writes a text as a CSV field: quoted if it contains characters that would end the field (RFC 4180), and after an
/// apostrophe if a spreadsheet would treat it as a formula.
std::string csv_field(const std::string &raw);
/// Writes a number as a CSV field. NaN becomes an empty field, which R and pandas read as missing.
std::string csv_field(double number);
std::string csv_field(std::int64_t number);

} // namespace bench
