#include "experiments/subcommand.h"

#include "text/words.h"

#include <algorithm>
#include <string_view>

namespace bench {

const std::vector<SubcommandInfo> &all_subcommands() {
    static const std::vector<SubcommandInfo> all = {subcommands::list(), subcommands::clock(),
                                                    subcommands::rtt(),  subcommands::drift(),
                                                    subcommands::skew(), subcommands::algorithms()};
    return all;
}

ParsedWork parse_command_line(int argc, char **argv, int ranks) {
    std::vector<char *> words(argv, argv + argc);
    const auto is_check = [](const char *word) { return std::string_view(word) == "--check"; };
    if (std::erase_if(words, is_check) > 0) {
        argc = static_cast<int>(words.size());
        words.push_back(nullptr);
        const ParsedWork parsed = parse_command_line(argc, words.data(), ranks > 1 ? ranks : unknown_ranks);
        return std::holds_alternative<std::string>(parsed) ? parsed : "";
    }
    const std::vector<std::string> names = names_of(all_subcommands());
    if (argc > 1 && contains(names, argv[1])) {
        return find_by_name(all_subcommands(), argv[1]).parse(argc - 1, argv + 1, ranks);
    }
    return parse_operations(argc, argv, ranks);
}

} // namespace bench
