// Parses and checks components (component.h). The grammar itself is that of libdownbeat (shared/component_text.h).
#include "text/component.h"

#include "component_text.h"
#include "text/parse.h"
#include "text/words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace bench {
namespace {

/// A unit of durations.
struct Unit {
    const char *name;
    double seconds; // in a unit
};

// The longer names first: "ms" ends in "s".
constexpr std::array<Unit, 4> units = {{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}}};

/// The finite number that `text` represents; empty if it represents none.
std::optional<double> to_number(std::string_view text) {
    const std::optional<double> number = read_number<double>(text);
    return number && std::isfinite(*number) ? number : std::nullopt;
}

/// The seconds of a duration, e.g. "50us" or "0"; empty if `text` is no duration.
std::optional<double> to_seconds(std::string_view text) {
    for (const Unit &unit : units) {
        if (text.ends_with(unit.name)) {
            const auto number = to_number(text.substr(0, text.size() - std::string_view(unit.name).size()));
            // Division by a power of ten that a double holds exactly rounds once: 50us is the double nearest to 50e-6.
            return number ? std::optional(*number / std::round(1.0 / unit.seconds)) : std::nullopt;
        }
    }
    return to_number(text) == 0.0 ? std::optional(0.0) : std::nullopt;
}

/// Writes a duration in the largest unit that gives an integer, so that equal durations have equal texts.
std::string write_seconds(double seconds) {
    if (seconds == 0.0) {
        return "0";
    }
    for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
        const double number = seconds * std::round(1.0 / unit->seconds);
        if (std::abs(number - std::round(number)) < 1e-9 * std::abs(number)) {
            return fmt::format("{:.0f}{}", std::round(number), unit->name);
        }
    }
    return fmt::format("{:.9g}ns", seconds * 1e9);
}

/// True if `text` is the parameter's special word or its "auto".
bool is_word(const ComponentParameter &parameter, const std::string &text) {
    return !text.empty() && (text == parameter.values.word || (text == "auto" && parameter.value == "auto"));
}

/// True if `text` is a value that the parameter may have.
bool is_valid(const ComponentParameter &parameter, const std::string &text) {
    const ComponentValues &values = parameter.values;
    if (is_word(parameter, text)) {
        return true;
    }
    const auto within = [&](std::optional<double> number) {
        return number && *number >= values.low && *number <= values.high;
    };
    switch (values.kind) {
    case ComponentValues::Kind::whole:
        return within(to_number(text)) && std::trunc(*to_number(text)) == *to_number(text);
    case ComponentValues::Kind::real:
        return within(to_number(text));
    case ComponentValues::Kind::duration:
        return within(to_seconds(text));
    case ComponentValues::Kind::choice:
        return contains(values.choices, text);
    case ComponentValues::Kind::text:
    case ComponentValues::Kind::component:
        return !text.empty();
    }
    return false;
}

/// The valid `text` in the form that equal values share: 1e3 becomes 1000, 0.05ms becomes 50us.
std::string canonical(const ComponentParameter &parameter, const std::string &text) {
    if (is_word(parameter, text)) {
        return text;
    }
    switch (parameter.values.kind) {
    case ComponentValues::Kind::whole:
        return fmt::format("{:.0f}", *to_number(text));
    case ComponentValues::Kind::real:
        return fmt::format("{}", *to_number(text));
    case ComponentValues::Kind::duration:
        return write_seconds(*to_seconds(text));
    default:
        return text;
    }
}

constexpr std::size_t message_size = 512; // bytes for an error message of component_text.h

/// The text within the parentheses of a component. Its `text` is null if there are no parentheses.
db_slice inside_of(std::string_view kind, std::string_view text) {
    db_slice name{};
    db_slice inside{};
    std::array<char, message_size> message{};
    if (db_split_component(db_slice_of(text.data(), text.size()), &name, &inside, message.data(), message.size()) !=
        0) {
        throw Error::usage(fmt::format("{} cannot be '{}': {}", kind, text, message.data()));
    }
    return inside;
}

/// Describes the valid values of a parameter, with "auto", for messages.
std::string describe_valid(const ComponentParameter &parameter) {
    return (parameter.value == "auto" ? "auto, or " : "") + parameter.values.describe();
}

} // namespace

std::string ComponentValues::describe() const {
    if (!word.empty()) {
        ComponentValues without_auto = *this;
        without_auto.word.clear();
        return fmt::format("{}, or {}", word, without_auto.describe());
    }
    switch (kind) {
    case Kind::whole:
        return fmt::format("an integer from {} to {}", low, high);
    case Kind::real:
        return fmt::format("a number from {} to {}", low, high);
    case Kind::duration:
        return fmt::format("{} to {} with a unit (ns, us, ms, s)", write_seconds(low), write_seconds(high));
    case Kind::choice:
        return fmt::format("one of {}", join(choices));
    case Kind::component:
        return fmt::format("any of kind {}", choices.front());
    case Kind::text:
        break;
    }
    return "text without commas or parentheses";
}

Component::Component(std::string_view kind, std::string_view text, const ComponentInfo &info) : name_(info.name) {
    const auto refuse = [&](const std::string &reason) {
        return Error::usage(fmt::format("{} cannot be '{}': {}", kind, text, reason));
    };
    std::vector<std::string> names;
    std::vector<const char *> keys;
    for (const ComponentParameter &parameter : info.parameters) {
        names.push_back(parameter.name);
        keys.push_back(parameter.name.c_str());
    }
    keys.push_back(nullptr);
    std::vector<db_slice> values(info.parameters.size());
    db_slice unknown{};
    std::array<char, message_size> message{};
    if (db_read_values(inside_of(kind, text), keys.data(), values.data(), &unknown, message.data(), message.size()) !=
        0) {
        if (unknown.text == nullptr) {
            throw refuse(message.data());
        }
        const std::string name(unknown.text, unknown.length);
        throw refuse(names.empty()
                         ? fmt::format("{} takes no parameters", info.name)
                         : fmt::format("unknown parameter '{}'; {}", name, suggestion(name, names, join(names))));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        const ComponentParameter &parameter = info.parameters[i];
        if (values[i].text == nullptr) {
            continue;
        }
        const std::string value(values[i].text, values[i].length);
        if (!is_valid(parameter, value)) {
            const std::string meant = nearest(value, parameter.values.choices);
            throw refuse(fmt::format("{} cannot be '{}'; {}", parameter.name, value,
                                     meant.empty() ? "use " + describe_valid(parameter)
                                                   : fmt::format("did you mean '{}'?", meant)));
        }
        values_[parameter.name] = canonical(parameter, value);
    }
    std::vector<std::string> non_defaults;
    std::vector<std::string> texts;
    for (const ComponentParameter &parameter : info.parameters) {
        const auto match = values_.find(parameter.name);
        if (match == values_.end()) {
            if (parameter.value.empty()) {
                throw refuse(
                    fmt::format("parameter {} is required; use {}", parameter.name, describe_valid(parameter)));
            }
            values_[parameter.name] = canonical(parameter, parameter.value);
        } else if (parameter.value.empty() || match->second != canonical(parameter, parameter.value)) {
            non_defaults.push_back(parameter.name + "=" + match->second);
        }
        texts.push_back(parameter.name + "=" + values_.at(parameter.name));
    }
    full_text_ = texts.empty() ? name_ : fmt::format("{}({})", name_, join(texts, ","));
    text_ = non_defaults.empty() ? name_ : fmt::format("{}({})", name_, join(non_defaults, ","));
}

Component Component::with_free_text(std::string_view kind, std::string_view text, const std::string &name) {
    const db_slice inside = inside_of(kind, text);
    const std::string parameters(inside.text == nullptr ? "" : inside.text, inside.length);
    Component component;
    component.name_ = name;
    component.text_ = parameters.empty() ? name : fmt::format("{}({})", name, parameters);
    component.full_text_ = component.text_;
    component.values_["parameters"] = parameters;
    return component;
}

// The constructor has checked the values, so these conversions succeed.
long Component::whole(const std::string &parameter) const { return std::lround(real(parameter)); }

double Component::real(const std::string &parameter) const { return to_number(values_.at(parameter)).value(); }

double Component::seconds(const std::string &parameter) const { return to_seconds(values_.at(parameter)).value(); }

double parse_duration(std::string_view what, std::string_view text) {
    constexpr double max = 3600.0; // s; a longer duration is a typing error
    const std::optional<double> seconds = to_seconds(text);
    if (!seconds || !(*seconds >= 0.0 && *seconds <= max)) {
        throw Error::usage(fmt::format(
            "{} cannot be '{}'; use a duration up to {:g}s with a unit (ns, us, ms, s), e.g. 50us", what, text, max));
    }
    return *seconds;
}

std::string component_name(std::string_view text) { return std::string(text.substr(0, text.find('('))); }

} // namespace bench
