#pragma once

#include "text/fill.h"

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace bench {

/// Splits a command line into words by their options; the caller checks their meaning. The only place that uses CLI11.
class CommandLine {
public:
    /// `name` as the user calls it, "downbeat-bench clock".
    CommandLine(const std::string &description, const std::string &name);
    ~CommandLine();
    CommandLine(const CommandLine &) = delete;
    CommandLine &operator=(const CommandLine &) = delete;

    /// An option that takes one word, e.g. "-r,--repetitions"; `type` is the word's name in the help text.
    void option(const std::string &names, std::string &word, const std::string &type, const std::string &meaning);
    /// An option that may be given several times.
    void repeated(const std::string &names, std::vector<std::string> &words, const std::string &type,
                  const std::string &meaning);
    void flag(const std::string &names, bool &given, const std::string &meaning);
    /// The words without an option.
    void positional(const std::string &name, std::vector<std::string> &words, const std::string &meaning);
    void version(const std::string &text);
    void footer(const std::string &text);

    /// Fills the words. Returns the text that --help or --version asks for, if one does. Throws Error::usage if the
    /// line cannot be split.
    std::optional<std::string> parse(int argc, char **argv);

    /// Whether the option, e.g. "--root", was on the line.
    bool given(const std::string &option) const;

private:
    std::unique_ptr<CLI::App> app_;
};

/// The options of every experiment that measures.
struct CommonOptions {
    std::optional<std::uint64_t> seed;
    std::vector<std::string> outputs; // files
    std::string format = "table";     // on standard output
    bool quiet = false;
};

/// The words of CommonOptions.
struct CommonWords {
    std::string seed;
    std::vector<std::string> outputs;
    std::string format = "table";
    bool quiet = false;
    bool takes_seed = false;

    /// `seed_meaning`: the purpose of the seed, e.g. "seed for the order of the blocks"; "" if nothing is random, and
    /// the option does not exist.
    void declare(CommandLine &line, const std::string &seed_meaning);
    /// Throws Error::usage. `check_file` does so if no format has a file of that name; `formats` are those of standard
    /// output.
    void check(const CommandLine &line, CommonOptions &options,
               const std::function<void(const std::string &path)> &check_file,
               const std::vector<std::string> &formats) const;
};

/// Where texts begin in a help text, to the right of the names of options and components.
constexpr std::size_t help_column = 28;

/// Names and descriptions of a registry's entries, a line each, for the end of a help text.
template <typename Registry> std::string describe_entries(const Registry &registry) {
    std::string text;
    for (const auto &entry : registry) {
        text += fmt::format("  {:<{}}{}\n", entry.name, help_column - 2, fill(entry.description, help_column));
    }
    return text;
}

} // namespace bench
