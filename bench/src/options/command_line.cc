#include "options/command_line.h"

#include "output/reporters/reporter_registry.h"
#include "text/error.h"
#include "text/fill.h"
#include "text/names.h"
#include "text/parse_number.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

namespace bench {
namespace {

/// Lines as wide as a terminal.
class HelpFormatter : public CLI::Formatter {
public:
    std::string make_description(const CLI::App *app) const override { return fill(app->get_description(), 0) + "\n"; }

    std::string make_option(const CLI::Option *option, bool is_positional) const override {
        const std::string names = "  " + make_option_name(option, is_positional) + make_option_opts(option);
        return fmt::format("{:<{}}{}\n", names, help_column, fill(make_option_desc(option), help_column));
    }
};

std::vector<std::string> option_names(const CLI::App &app) {
    std::vector<std::string> names;
    for (const CLI::Option *option : app.get_options()) {
        if (option->nonpositional()) {
            names.push_back(option->get_name());
        }
    }
    return names;
}

/// Whether two paths are of one file, which need not exist.
bool is_same_file(const std::filesystem::path &one, const std::filesystem::path &other) {
    std::error_code error; // what cannot be found out is left to whoever opens the files
    const auto whole = [&](const std::filesystem::path &path) {
        return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
    };
    return whole(one) == whole(other) || std::filesystem::equivalent(one, other, error);
}

void check_outputs(const std::vector<std::string> &outputs,
                   const std::function<void(const std::string &path)> &check_file) {
    for (auto output = outputs.begin(); output != outputs.end(); ++output) {
        const auto same = [&](const std::string &other) { return is_same_file(*output, other); };
        if (std::find_if(outputs.begin(), output, same) != output) {
            throw Error::usage(fmt::format("file '{}' is given twice; give it once", *output));
        }
        check_file(*output);
    }
}

} // namespace

CommandLine::CommandLine(const std::string &description, const std::string &name)
    : app_(std::make_unique<CLI::App>(description, name)) {
    app_->option_defaults()->disable_flag_override();
    app_->formatter(std::make_shared<HelpFormatter>());
    app_->set_help_flag("-h,--help", "print this help");
}

CommandLine::~CommandLine() = default;

void CommandLine::option(const std::string &names, std::string &word, const std::string &type,
                         const std::string &meaning) {
    app_->add_option(names, word, meaning)->type_name(type);
}

void CommandLine::repeated(const std::string &names, std::vector<std::string> &words, const std::string &type,
                           const std::string &meaning) {
    app_->add_option(names, words, meaning)
        ->type_name(type)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void CommandLine::flag(const std::string &names, bool &given, const std::string &meaning) {
    app_->add_flag(names, given, meaning);
}

void CommandLine::positional(const std::string &name, std::vector<std::string> &words, const std::string &meaning) {
    app_->add_option(name, words, meaning)->type_name("")->expected(0, -1);
}

void CommandLine::version(const std::string &text) { app_->set_version_flag("--version", text, "print the version"); }

void CommandLine::footer(const std::string &text) { app_->footer(text); }

std::optional<std::string> CommandLine::parse(int argc, char **argv) {
    try {
        app_->parse(argc, argv);
    } catch (const CLI::CallForHelp &) {
        return app_->help();
    } catch (const CLI::CallForVersion &version) {
        return fmt::format("{}\n", version.what());
    } catch (const CLI::ExtrasError &error) {
        throw Error::usage(fmt::format("{}; the options are {}", error.what(), join(option_names(*app_))));
    } catch (const CLI::ParseError &error) {
        throw Error::usage(fmt::format("{}; {} --help explains each option", error.what(), app_->get_name()));
    }
    return std::nullopt;
}

bool CommandLine::given(const std::string &option) const { return app_->count(option) > 0; }

void CommonWords::declare(CommandLine &line, const std::string &seed_meaning) {
    takes_seed = !seed_meaning.empty();
    if (takes_seed) {
        line.option("--seed", seed, "N", fmt::format("{} [default: random, recorded]", seed_meaning));
    }
    line.repeated("-o,--output", outputs, "FILE",
                  "write results to FILE; the suffix selects the format; may be repeated");
    line.option("--format", format, "FORMAT", "format of standard output [default table]");
    line.flag("-q,--quiet", quiet, "print no progress on standard error");
}

void CommonWords::check(const CommandLine &line, CommonOptions &options,
                        const std::function<void(const std::string &path)> &check_file,
                        const std::vector<std::string> &formats) const {
    if (takes_seed && line.given("--seed")) {
        options.seed = parse_number<std::uint64_t>("--seed", seed, 0, UINT64_MAX);
    }
    check_outputs(outputs, check_file);
    options.outputs = outputs;
    check_names("format", {format}, formats);
    options.format = format;
    options.quiet = quiet;
}

} // namespace bench
