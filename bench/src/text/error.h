// Errors of downbeat-bench and the exit statuses of the process.
#pragma once

#include <stdexcept>
#include <string>

namespace bench {

/// The exit status of the process; docs/downbeat-bench.md lists them for users.
enum class ExitStatus : int {
    success = 0,
    failure = 1,       // MPI, a file or the system failed
    bad_arguments = 2, // invalid command line or environment; nothing was measured
    unmeasured = 3,    // a cell has fewer valid samples than requested
    wrong_results = 4, // an operation returned a wrong result
};

/// The exception type of downbeat-bench. Its message is one line.
///
/// An error that all ranks throw together ("known everywhere") ends in MPI_Finalize. An error that one rank throws ends
/// in MPI_Abort, because the other ranks wait for this rank in a collective call.
class Error : public std::runtime_error {
public:
    /// Bad arguments; all ranks detect them.
    static Error usage(const std::string &message) { return {ExitStatus::bad_arguments, true, message}; }
    /// A failure that all ranks have agreed on; only rank 0's message is printed.
    static Error everywhere(const std::string &message) { return {ExitStatus::failure, true, message}; }
    /// A failure on this rank only.
    static Error here(const std::string &message) { return {ExitStatus::failure, false, message}; }

    /// Bad arguments that libdownbeat has already reported on standard error.
    static Error already_printed() { return {ExitStatus::bad_arguments, true, ""}; }

    ExitStatus status() const { return status_; }
    bool is_already_printed() const { return what()[0] == '\0'; }
    bool known_everywhere() const { return known_everywhere_; }

private:
    Error(ExitStatus status, bool known_everywhere, const std::string &message)
        : std::runtime_error(message), status_(status), known_everywhere_(known_everywhere) {}

    ExitStatus status_;
    bool known_everywhere_;
};

} // namespace bench
