#pragma once

#include "mpi/communicator.h"
#include "run/options.h"
#include "text/error.h"

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace bench {

/// Collective. The work of a command line, checked. `command` is the command line, for the record.
using Work = std::function<ExitStatus(const Communicator &comm, const std::string &command)>;

/// The work, or the text that --help or --version asks for.
using ParsedWork = std::variant<Work, std::string>;

struct SubcommandInfo : SubcommandName {
    /// Throws Error::usage. argv[0] is the subcommand's name; `ranks` is the size of the communicator.
    ParsedWork (*parse)(int argc, char **argv, int ranks);
};

namespace subcommands {
SubcommandInfo list();
SubcommandInfo clock();
SubcommandInfo rtt();
SubcommandInfo drift();
SubcommandInfo skew();
SubcommandInfo algorithms();
} // namespace subcommands

const std::vector<SubcommandInfo> &all_subcommands();

/// Without a subcommand: measures operations after synchronizers. Throws Error::usage.
ParsedWork parse_operations(int argc, char **argv, int ranks);

/// The subcommand that the first word names, else the measurement of the operations that the words name. With --check,
/// which may be anywhere, an empty text. Throws Error::usage.
ParsedWork parse_command_line(int argc, char **argv, int ranks);

} // namespace bench
