// Parses command lines with CLI11 (command_line.h).
#include "run/command_line.h"

#include "output/sink.h"
#include "text/error.h"
#include "text/words.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

namespace bench {
namespace {

/// Formats help texts at the width of a terminal.
class HelpFormatter : public CLI::Formatter {
public:
    std::string make_description(const CLI::App *app) const override { return fill(app->get_description(), 0) + "\n"; }

    std::string make_option(const CLI::Option *option, bool is_positional) const override {
        const std::string names = "  " + make_option_name(option, is_positional) + make_option_opts(option);
        return fmt::format("{:<{}}{}\n", names, help_column, fill(make_option_desc(option), help_column));
    }
};

/// The names of all options, e.g. "--root".
std::vector<std::string> option_names(const CLI::App &app) {
    std::vector<std::string> names;
    for (const CLI::Option *option : app.get_options()) {
        if (option->nonpositional()) {
            names.push_back(option->get_name());
        }
    }
    return names;
}

/// True if two paths refer to the same file, which may not exist yet.
bool is_same_file(const std::filesystem::path &first, const std::filesystem::path &second) {
    std::error_code error; // ignored: opening the files reports it
    const auto resolved = [&](const std::filesystem::path &path) {
        return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
    };
    return resolved(first) == resolved(second) || std::filesystem::equivalent(first, second, error);
}

} // namespace

CommandLine::CommandLine(const std::string &description, const std::string &name)
    : app_(std::make_unique<CLI::App>(description, name)) {
    app_->option_defaults()->disable_flag_override();
    app_->formatter(std::make_shared<HelpFormatter>());
    app_->set_help_flag("-h,--help", "print this help");
}

CommandLine::~CommandLine() = default;

void CommandLine::option(const std::string &names, const std::string &type,
                         const std::function<void(const std::string &)> &take, const std::string &meaning) {
    Callback &callback = callbacks_.emplace_back(nullptr, "", take);
    callback.option = app_->add_option(names, callback.word, meaning)->type_name(type);
}

void CommandLine::word(const std::string &names, const std::string &type, std::string &value,
                       const std::string &meaning) {
    option(
        names, type, [&value](const std::string &word) { value = word; },
        value.empty() ? meaning : fmt::format("{} [default {}]", meaning, value));
}

void CommandLine::words(const std::string &names, const std::string &type, std::vector<std::string> &values,
                        const std::string &meaning) {
    app_->add_option(names, values, meaning)
        ->type_name(type)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void CommandLine::flag(const std::string &names, bool &is_set, const std::string &meaning) {
    app_->add_flag(names, is_set, meaning);
}

void CommandLine::positional(const std::string &name, std::vector<std::string> &words, const std::string &meaning) {
    app_->add_option(name, words, meaning)->type_name("")->expected(0, -1);
}

void CommandLine::version(const std::string &text) { app_->set_version_flag("--version", text, "print the version"); }

void CommandLine::footer(const std::string &text) { app_->footer(text); }

std::optional<std::string> CommandLine::parse(int argc, char **argv) {
    app_->add_flag("--check")->description("check the other arguments, measure nothing; without a launcher, for any "
                                           "number of ranks");
    // Before CLI11 parses: it would read OSU's -msglog as -m with the value "sglog".
    for (int i = 1; i < argc; ++i) {
        if (const std::string wrong = explain_foreign_option(argv[i]); !wrong.empty()) {
            throw Error::usage(wrong);
        }
    }
    try {
        app_->parse(argc, argv);
    } catch (const CLI::CallForHelp &) {
        return app_->help();
    } catch (const CLI::CallForVersion &version) {
        return fmt::format("{}\n", version.what());
    } catch (const CLI::ExtrasError &error) {
        const std::vector<std::string> valid = option_names(*app_);
        const std::vector<std::string> unknown = app_->remaining();
        const auto option =
            std::ranges::find_if(unknown, [](const std::string &word) { return word.starts_with('-'); });
        const std::string word = option != unknown.end() ? *option : unknown.front();
        throw Error::usage(fmt::format("{}; {}", error.what(), suggestion(word, valid, join(valid))));
    } catch (const CLI::ParseError &error) {
        throw Error::usage(fmt::format("{}; {} --help explains each option", error.what(), app_->get_name()));
    }
    for (const Callback &callback : callbacks_) {
        if (callback.option->count() > 0) {
            callback.take(callback.word);
        }
    }
    return std::nullopt;
}

bool CommandLine::is_set(const std::string &option) const { return app_->count(option) > 0; }

void CommonOptions::declare(CommandLine &line, const std::string &seed_meaning) {
    if (!seed_meaning.empty()) {
        line.number<std::uint64_t>("--seed", "N", seed, 0, UINT64_MAX,
                                   fmt::format("{} [default: random, recorded]", seed_meaning));
    }
    line.words("-o,--output", "FILE", outputs, "write results to FILE; the suffix selects the format; may be repeated");
    line.word("--format", "FORMAT", format, "format of standard output");
    line.flag("-q,--quiet", quiet, "print no progress on standard error");
}

void CommonOptions::check(bool of_cells) const {
    for (auto output = outputs.begin(); output != outputs.end(); ++output) {
        const auto same = [&](const std::string &path) { return is_same_file(*output, path); };
        if (std::find_if(outputs.begin(), output, same) != output) {
            throw Error::usage(fmt::format("file '{}' is given twice; give it once", *output));
        }
        find_format(*output, of_cells);
    }
    check_names("format", {format}, printed_formats(of_cells));
}

} // namespace bench
