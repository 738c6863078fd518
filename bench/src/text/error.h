#pragma once

#include <stdexcept>
#include <string>

namespace bench {

/// The exit status of the process; docs/downbeat-bench.md lists them for users.
enum class ExitStatus : int {
    success = 0,
    failure = 1,       // MPI, a file or the system failed
    bad_arguments = 2, // nothing was measured
    unmeasured = 3,    // a cell got fewer valid samples than requested
    wrong_results = 4, // an operation left a wrong result
};

/// The one exception of downbeat-bench; its message is one line.
///
/// The end of the run depends on whether all ranks know: an error that all ranks throw together ends in MPI_Finalize;
/// an error of one rank ends in MPI_Abort, since the others wait for it in some collective call.
class Error : public std::runtime_error {
public:
    /// Bad arguments, found by every rank.
    static Error usage(const std::string &message) { return {ExitStatus::bad_arguments, true, message}; }
    /// A failure that all ranks have agreed on; only rank 0's message is printed.
    static Error everywhere(const std::string &message) { return {ExitStatus::failure, true, message}; }
    /// A failure that this rank alone knows of.
    static Error here(const std::string &message) { return {ExitStatus::failure, false, message}; }

    /// Bad arguments that the library has named in a line of its own.
    static Error told() { return {ExitStatus::bad_arguments, true, ""}; }

    ExitStatus status() const { return status_; }
    bool is_told() const { return what()[0] == '\0'; }
    bool known_everywhere() const { return known_everywhere_; }

private:
    Error(ExitStatus status, bool known_everywhere, const std::string &message)
        : std::runtime_error(message), status_(status), known_everywhere_(known_everywhere) {}

    ExitStatus status_;
    bool known_everywhere_;
};

} // namespace bench
