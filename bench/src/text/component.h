// Components: what a command line names, with parameters in parentheses, e.g. "window(size=100us)". Synchronizers,
// operations, arrival patterns, stopping rules and output formats are components. A registry (a vector of entries that
// derive from ComponentInfo) lists the components of a kind and their parameters; Component parses and checks the text.
#pragma once

#include "text/error.h"
#include "text/words.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// The valid values of a parameter of a component.
struct ComponentValues {
    /// What a value is; the functions below make values of each kind.
    enum class Kind { whole, real, duration, choice, text, component };
    Kind kind = Kind::text;
    double low = 0.0;                 // smallest valid number; for durations in seconds
    double high = 0.0;                // largest valid number; for durations in seconds
    std::vector<std::string> choices; // valid texts of a choice; for Kind::component: the kind of libdownbeat component
    std::string word;                 // a word that is valid beside the values, e.g. "rotating"; "" for none

    /// An integer from `low` to `high`.
    static ComponentValues whole(double low, double high) { return {Kind::whole, low, high, {}, ""}; }
    /// A number from `low` to `high`.
    static ComponentValues real(double low, double high) { return {Kind::real, low, high, {}, ""}; }
    /// A duration is written with its unit, e.g. 50us; 0 needs no unit. `low` and `high` are seconds.
    static ComponentValues duration(double low, double high) { return {Kind::duration, low, high, {}, ""}; }
    /// One of the texts `choices`.
    static ComponentValues choice(std::vector<std::string> choices) {
        return {Kind::choice, 0.0, 0.0, std::move(choices), ""};
    }
    /// A component of libdownbeat ("scheme", "slack", ...); libdownbeat checks its text.
    static ComponentValues component(std::string kind) { return {Kind::component, 0.0, 0.0, {std::move(kind)}, ""}; }
    /// Any text without commas and parentheses, e.g. the path of a file.
    static ComponentValues text() { return {Kind::text, 0.0, 0.0, {}, ""}; }

    /// These values and the word `valid`.
    ComponentValues or_word(std::string valid) const {
        ComponentValues values = *this;
        values.word = std::move(valid);
        return values;
    }

    /// Describes the valid values for messages and lists: "an integer from 1 to 100".
    std::string describe() const;
};

/// A parameter that a component takes.
struct ComponentParameter {
    std::string name;
    std::string value;      // default as text; "auto": the word auto is valid, too; "": the parameter is required
    std::string meaning;    // one line of help
    ComponentValues values; // the valid values
};

/// Name, description and parameters of a component. Base of the registry entries.
struct ComponentInfo {
    std::string name;
    std::string description;
    std::string source = {}; // paper and section, or ""
    std::vector<ComponentParameter> parameters = {};
};

/// A parsed component. Parameters that are not in its text have their defaults. The grammar is that of the schemes of
/// libdownbeat.
class Component {
public:
    Component() = default;
    /// Parses `text`. Throws Error::usage with the problem and the valid values; `kind`, e.g. "synchronizer", begins
    /// the message.
    Component(std::string_view kind, std::string_view text, const ComponentInfo &info);

    /// Makes a component whose text in parentheses is not checked and available as word("parameters").
    static Component with_free_text(std::string_view kind, std::string_view text, const std::string &name);

    const std::string &name() const { return name_; }
    /// The name, with the parameters that differ from their defaults. Equal components have equal texts, so files and
    /// tables identify a component by it.
    const std::string &text() const { return text_; }

    /// The name with all parameters.
    const std::string &full_text() const { return full_text_; }

    /// True if the value of a parameter is the word "auto".
    bool is_auto(const std::string &parameter) const { return word(parameter) == "auto"; }
    /// The value of a parameter of kind whole, real or duration. The parameter must not be a word such as "auto".
    long whole(const std::string &parameter) const;
    double real(const std::string &parameter) const;
    double seconds(const std::string &parameter) const;
    /// The text of the value of a parameter of any kind.
    const std::string &word(const std::string &parameter) const { return values_.at(parameter); }

private:
    std::string name_;
    std::string text_;                          // see text()
    std::string full_text_;                     // see full_text()
    std::map<std::string, std::string> values_; // canonical text of each parameter, by name
};

/// Parses a duration with its unit (ns, us, ms, s), e.g. "50us", or "0". Returns seconds. Throws Error::usage; `what`,
/// e.g. "--delay", begins the message.
double parse_duration(std::string_view what, std::string_view text);

/// The name before the parentheses.
std::string component_name(std::string_view text);

/// Parses a comma-separated list of a registry's components. Throws Error::usage on an unknown name, a bad parameter,
/// or a component that occurs twice.
template <typename Registry>
std::vector<Component> parse_components(std::string_view kind, std::string_view list, const Registry &registry) {
    std::vector<Component> components;
    std::vector<std::string> texts;
    for (const std::string &text : split_outside_parentheses(list)) {
        check_names(kind, {component_name(text)}, names_of(registry));
        components.emplace_back(kind, text, find_by_name(registry, component_name(text)));
        texts.push_back(components.back().text());
    }
    check_no_duplicates(kind, texts);
    return components;
}

/// Parses the text of a single component. Throws Error::usage like parse_components.
template <typename Registry>
Component parse_component(std::string_view kind, std::string_view text, const Registry &registry) {
    std::vector<Component> components = parse_components(kind, text, registry);
    if (components.size() != 1) {
        throw Error::usage(std::string(kind) + " cannot be '" + std::string(text) + "'; give only one");
    }
    return components.front();
}

} // namespace bench
