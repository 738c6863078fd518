#pragma once

#include "error.h"
#include "names.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// What a parameter of a part may be.
struct PartValues {
    enum class Kind { whole, real, duration, choice, text };
    Kind kind = Kind::text;
    double low = 0.0; // of numbers; of durations in seconds
    double high = 0.0;
    std::vector<std::string> choices;
    std::string word; // valid as well: "rotating" beside numbers; "" for none

    static PartValues whole(double low, double high) { return {Kind::whole, low, high, {}, ""}; }
    static PartValues real(double low, double high) { return {Kind::real, low, high, {}, ""}; }
    /// Written with its unit, as 50us; 0 needs none.
    static PartValues duration(double low, double high) { return {Kind::duration, low, high, {}, ""}; }
    static PartValues choice(std::vector<std::string> choices) {
        return {Kind::choice, 0.0, 0.0, std::move(choices), ""};
    }
    /// Anything without commas and parentheses, as the path of a file.
    static PartValues text() { return {Kind::text, 0.0, 0.0, {}, ""}; }

    PartValues or_word(std::string valid) const {
        PartValues values = *this;
        values.word = std::move(valid);
        return values;
    }

    /// "1 to 100, whole", as messages and lists say it.
    std::string describe() const;
};

struct PartParameter {
    std::string name;
    std::string value;   // the default, as it would be written; "auto" makes auto a valid value; "" must be given
    std::string meaning; // one line
    PartValues values;
};

/// Something with a name and parameters: what every registry entry of this kind begins with.
struct PartInfo {
    std::string name;
    std::string description;
    std::string source; // paper and section; "" where there is none to name
    std::vector<PartParameter> parameters;
};

/// A part as a command line names it, "window(size=100us)": a name, and parameters in parentheses where they differ
/// from their defaults. The same grammar as the schemes of libdownbeat.
class Part {
public:
    Part() = default;
    /// Throws Error::usage, which names what is wrong and what would be valid; `kind` as "synchronizer".
    Part(std::string_view kind, std::string_view text, const PartInfo &info);

    /// With a text in its parentheses that is taken as it is: word("parameters"). `name` is what the part is called.
    static Part with_free_text(std::string_view kind, std::string_view text, const std::string &name);

    const std::string &name() const { return name_; }
    /// As short as it can be written: what files and tables call it. The same part always has the same text.
    const std::string &text() const { return text_; }

    /// With every parameter written out: what says all to a reader.
    const std::string &full_text() const { return full_text_; }

    bool is_auto(const std::string &parameter) const { return word(parameter) == "auto"; }
    long whole(const std::string &parameter) const;
    double real(const std::string &parameter) const;
    double seconds(const std::string &parameter) const;
    const std::string &word(const std::string &parameter) const { return values_.at(parameter); }

private:
    std::string name_;
    std::string text_;
    std::string full_text_;
    std::map<std::string, std::string> values_; // as written
};

/// Seconds of a duration that is written with its unit (ns, us, ms, s), as "50us", or as "0". Throws Error::usage;
/// `what` as "--delay".
double parse_duration(std::string_view what, std::string_view text);

/// The name that stands before the parentheses.
std::string part_name(std::string_view text);

/// The parts of a comma-separated list of a registry's entries, in order. Throws Error::usage on an unknown name, a bad
/// parameter, or the same part twice.
template <typename Registry>
std::vector<Part> parse_parts(std::string_view kind, std::string_view list, const Registry &registry) {
    std::vector<Part> parts;
    std::vector<std::string> texts;
    for (const std::string &text : split_outside_parentheses(list)) {
        check_names(kind, {part_name(text)}, names_of(registry));
        parts.emplace_back(kind, text, find_by_name(registry, part_name(text)));
        texts.push_back(parts.back().text());
    }
    check_names(kind, texts, texts); // none twice
    return parts;
}

/// One part of a registry. Throws as above.
template <typename Registry> Part parse_part(std::string_view kind, std::string_view text, const Registry &registry) {
    std::vector<Part> parts = parse_parts(kind, text, registry);
    if (parts.size() != 1) {
        throw Error::usage(std::string(kind) + " cannot be '" + std::string(text) + "'; valid is one of its names");
    }
    return parts.front();
}

} // namespace bench
