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
    enum class Kind { whole, real, duration, choice, text, component };
    Kind kind = Kind::text;
    double low = 0.0; // of numbers; of durations in seconds
    double high = 0.0;
    std::vector<std::string> choices;
    std::string word; // also valid, e.g. "rotating"; "" for none

    static ComponentValues whole(double low, double high) { return {Kind::whole, low, high, {}, ""}; }
    static ComponentValues real(double low, double high) { return {Kind::real, low, high, {}, ""}; }
    /// Written with its unit, e.g. 50us; 0 needs none.
    static ComponentValues duration(double low, double high) { return {Kind::duration, low, high, {}, ""}; }
    static ComponentValues choice(std::vector<std::string> choices) {
        return {Kind::choice, 0.0, 0.0, std::move(choices), ""};
    }
    /// A component of libdownbeat, which checks it.
    static ComponentValues component(std::string kind) { return {Kind::component, 0.0, 0.0, {std::move(kind)}, ""}; }
    /// Any text without commas and parentheses, e.g. the path of a file.
    static ComponentValues text() { return {Kind::text, 0.0, 0.0, {}, ""}; }

    ComponentValues or_word(std::string valid) const {
        ComponentValues values = *this;
        values.word = std::move(valid);
        return values;
    }

    /// "an integer from 1 to 100", for messages and lists.
    std::string describe() const;
};

struct ComponentParameter {
    std::string name;
    std::string value;   // the default, as it would be written; "auto" makes auto a valid value; "" must be given
    std::string meaning; // one line
    ComponentValues values;
};

/// Name and parameters: the first member of every registry entry of this kind.
struct ComponentInfo {
    std::string name;
    std::string description;
    std::string source = {}; // paper and section, or ""
    std::vector<ComponentParameter> parameters = {};
};

/// A component as a command line names it, "window(size=100us)": a name, and parameters in parentheses where they
/// differ from their defaults. The same grammar as the schemes of libdownbeat.
class Component {
public:
    Component() = default;
    /// Throws Error::usage, which names the problem and the valid values; `kind` is e.g. "synchronizer".
    Component(std::string_view kind, std::string_view text, const ComponentInfo &info);

    /// With unchecked text in its parentheses: word("parameters"). `name` is the component's name.
    static Component with_free_text(std::string_view kind, std::string_view text, const std::string &name);

    const std::string &name() const { return name_; }
    /// The shortest form, for files and tables. The same component always has the same text.
    const std::string &text() const { return text_; }

    /// The complete form, with every parameter, for readers.
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

/// Seconds of a duration that is written with its unit (ns, us, ms, s), e.g. "50us", or as "0". Throws Error::usage;
/// `what` is e.g. "--delay".
double parse_duration(std::string_view what, std::string_view text);

/// The name before the parentheses.
std::string component_name(std::string_view text);

/// The components of a comma-separated list of a registry's entries, in order. Throws Error::usage on an unknown name,
/// a bad parameter, or the same component twice.
template <typename Registry>
std::vector<Component> parse_components(std::string_view kind, std::string_view list, const Registry &registry) {
    std::vector<Component> components;
    std::vector<std::string> texts;
    for (const std::string &text : split_outside_parentheses(list)) {
        check_names(kind, {component_name(text)}, names_of(registry));
        components.emplace_back(kind, text, find_by_name(registry, component_name(text)));
        texts.push_back(components.back().text());
    }
    check_names(kind, texts, texts); // none twice
    return components;
}

/// One component of a registry. Throws as above.
template <typename Registry>
Component parse_component(std::string_view kind, std::string_view text, const Registry &registry) {
    std::vector<Component> components = parse_components(kind, text, registry);
    if (components.size() != 1) {
        throw Error::usage(std::string(kind) + " cannot be '" + std::string(text) + "'; give only one");
    }
    return components.front();
}

} // namespace bench
