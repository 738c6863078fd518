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

/// With --check, without a launcher: more ranks than any option can name.
constexpr int unknown_ranks = 1 << 30;

/// Each option is declared once: names, type of its word in the help text, where its value goes, what is valid, and
/// what it means. The value that it has before is the default, which the help text shows. The only place that uses
/// CLI11.
class CommandLine {
public:
    /// `name` as the user calls it, "downbeat-bench clock".
    CommandLine(const std::string &description, const std::string &name);
    ~CommandLine();
    CommandLine(const CommandLine &) = delete;
    CommandLine &operator=(const CommandLine &) = delete;

    /// An option, e.g. "-r,--repetitions"; parse() calls `take` with its word if it is given.
    void option(const std::string &names, const std::string &type, const std::function<void(const std::string &)> &take,
                const std::string &meaning);
    /// An option whose word the caller checks.
    void word(const std::string &names, const std::string &type, std::string &value, const std::string &meaning);
    /// One that may be given several times.
    void words(const std::string &names, const std::string &type, std::vector<std::string> &values,
               const std::string &meaning);
    /// A number from `least` to `most`; `what`: of a number with a fraction.
    template <typename Number>
    void number(const std::string &names, const std::string &type, Number &value, Number least, Number most,
                const std::string &meaning, const std::string &what = "seconds") {
        option(
            names, type,
            [names, &value, least, most, what](const std::string &word) {
                value = parse(names, word, least, most, what);
            },
            fmt::format("{} [default {}]", meaning, value));
    }
    /// The same without a default of its own.
    template <typename Number>
    void number(const std::string &names, const std::string &type, std::optional<Number> &value, Number least,
                Number most, const std::string &meaning) {
        option(
            names, type,
            [names, &value, least, most](const std::string &word) {
                value = parse(names, word, least, most, "seconds");
            },
            meaning);
    }
    void flag(const std::string &names, bool &is_set, const std::string &meaning);
    /// The words without an option.
    void positional(const std::string &name, std::vector<std::string> &words, const std::string &meaning);
    void version(const std::string &text);
    void footer(const std::string &text);

    /// Takes the words. Returns the text that --help or --version asks for, if one does. Throws Error::usage if the
    /// line cannot be split, or a value is not valid.
    std::optional<std::string> parse(int argc, char **argv);

    /// Whether the option, e.g. "--root", was on the line.
    bool is_set(const std::string &option) const;

private:
    struct Taken {
        CLI::Option *option;
        std::string word;
        std::function<void(const std::string &)> take;
    };

    template <typename Number>
    static Number parse(const std::string &names, const std::string &word, Number least, Number most,
                        const std::string &what) {
        return parse_number(names.substr(names.find("--")), word, least, most, what);
    }

    std::unique_ptr<CLI::App> app_;
    std::deque<Taken> taken_; // in the order of declaration
};

/// A subcommand, named in place of operations.
struct SubcommandName {
    std::string name;
    std::string description;
};

/// The options of all that measures.
struct CommonOptions {
    std::optional<std::uint64_t> seed;
    std::vector<std::string> outputs; // files
    std::string format = "table";     // on standard output
    bool quiet = false;

    /// `seed_meaning`: the purpose of the seed, e.g. "seed for the order of the blocks"; "" if nothing is random, and
    /// the option does not exist.
    void declare(CommandLine &line, const std::string &seed_meaning);
    /// Throws Error::usage if no format has a file of that name, or standard output does not have the format. There are
    /// more formats of cells than of other findings.
    void check(bool of_cells = false) const;
};

/// Where texts begin in a help text, to the right of the names of options and components.
constexpr std::size_t help_column = 28;

/// Names and descriptions of a registry's entries, a line each, for the end of a help text.
template <typename Registry> std::string describe_entries(const Registry &registry) {
    return concatenated(registry, [](const auto &entry) {
        return fmt::format("  {:<{}}{}\n", entry.name, help_column - 2, fill(entry.description, help_column));
    });
}

} // namespace bench
