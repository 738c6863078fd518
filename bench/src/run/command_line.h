// Declares and parses command-line options. It is the only code that uses CLI11. Also the options that all subcommands
// have (CommonOptions), and help texts of registries.
#pragma once

#include "text/parse.h"
#include "text/words.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace bench {

/// Number of ranks while option --check runs without a launcher: higher than any rank on a command line.
constexpr int unknown_ranks = 1 << 30;

/// A command line. Every option is declared by a call with its names, the type of its value in the help text, the
/// variable for the value, valid values, and its meaning. The variable's initial value is the default, and the help
/// text shows it.
class CommandLine {
public:
    /// `name` is the command that the user types, e.g. "downbeat-bench clock".
    CommandLine(const std::string &description, const std::string &name);
    ~CommandLine();
    CommandLine(const CommandLine &) = delete;
    CommandLine &operator=(const CommandLine &) = delete;

    /// Declares an option, e.g. "-r,--repetitions". If it is on the command line, parse() calls `take` with its value.
    void option(const std::string &names, const std::string &type, const std::function<void(const std::string &)> &take,
                const std::string &meaning);
    /// Declares an option whose value the caller checks.
    void word(const std::string &names, const std::string &type, std::string &value, const std::string &meaning);
    /// Declares an option that may occur several times.
    void words(const std::string &names, const std::string &type, std::vector<std::string> &values,
               const std::string &meaning);
    /// Declares an option whose value is a number from `min` to `max`. `what` names the kind of a floating-point value
    /// in error messages.
    template <typename Number>
    void number(const std::string &names, const std::string &type, Number &value, Number min, Number max,
                const std::string &meaning, const std::string &what = "seconds") {
        option(
            names, type,
            [names, &value, min, max, what](const std::string &word) { value = parse(names, word, min, max, what); },
            fmt::format("{} [default {}]", meaning, value));
    }
    /// Declares an option whose value is a number from `min` to `max`, without a default.
    template <typename Number>
    void number(const std::string &names, const std::string &type, std::optional<Number> &value, Number min, Number max,
                const std::string &meaning) {
        option(
            names, type,
            [names, &value, min, max](const std::string &word) { value = parse(names, word, min, max, "seconds"); },
            meaning);
    }
    /// Declares an option without a value, which sets the variable to true.
    void flag(const std::string &names, bool &is_set, const std::string &meaning);
    /// Declares the words that belong to no option.
    void positional(const std::string &name, std::vector<std::string> &words, const std::string &meaning);
    /// Declares option --version, which prints the text.
    void version(const std::string &text);
    /// Sets the text at the end of the help text.
    void footer(const std::string &text);

    /// Parses the command line and sets the variables. Returns the text to print for --help or --version; else nullopt.
    /// Throws Error::usage if an option is unknown or a value is not valid.
    std::optional<std::string> parse(int argc, char **argv);

    /// True if the option, e.g. "--root", is on the command line.
    bool is_set(const std::string &option) const;

private:
    /// An option with a callback for its value.
    struct Callback {
        CLI::Option *option;
        std::string word; // CLI11 writes the value here
        std::function<void(const std::string &)> take;
    };

    /// The number that a word on the command line represents. Throws Error::usage with the long name of the option.
    template <typename Number>
    static Number parse(const std::string &names, const std::string &word, Number min, Number max,
                        const std::string &what) {
        return parse_number(names.substr(names.find("--")), word, min, max, what);
    }

    std::unique_ptr<CLI::App> app_;
    std::deque<Callback> callbacks_; // in the order of declaration; a deque does not move its elements
};

/// A subcommand: the first word of the command line, instead of operations.
struct SubcommandName {
    std::string name;        // the word
    std::string description; // for help texts
};

/// The options of runs and of all subcommands that measure.
struct CommonOptions {
    std::optional<std::uint64_t> seed; // empty: random
    std::vector<std::string> outputs;  // paths of result files
    std::string format = "table";      // format of standard output
    bool quiet = false;                // no progress on standard error

    /// Declares the options. `seed_meaning`: purpose of the seed, e.g. "seed for the order of the blocks"; "": nothing
    /// is random, and there is no option --seed.
    void declare(CommandLine &line, const std::string &seed_meaning);
    /// Throws Error::usage if no format has the suffix of an output, or standard output cannot have the format.
    /// `of_cells`: the results are cells; some formats exist only for cells.
    void check(bool of_cells = false) const;
};

/// Column of a help text in which descriptions begin, after the names of options and components.
constexpr std::size_t help_column = 28;

/// Names and descriptions of a registry's entries, a line each, for help texts.
template <typename Registry> std::string describe_entries(const Registry &registry) {
    return concatenated(registry, [](const auto &entry) {
        return fmt::format("  {:<{}}{}\n", entry.name, help_column - 2, fill(entry.description, help_column));
    });
}

} // namespace bench
