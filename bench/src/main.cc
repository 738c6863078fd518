// The main function of downbeat-bench: parses the command line after MPI_Init, runs the requested work, and turns
// errors into one line on standard error and an exit status.
#include "experiments/subcommand.h"
#include "mpi/mpi_tool.h"
#include "output/output.h"
#include "print_line.h"
#include "run/algorithm_choices.h"
#include "text/error.h"
#include "text/words.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <iostream>
#include <new>
#include <optional>
#include <thread>

namespace bench {
namespace {

/// The arguments, with the program's name, as one line for files.
std::string command_line(int argc, char **argv) { return fmt::format("{}", fmt::join(argv, argv + argc, " ")); }

/// Throws Error::usage if an argument is not printable UTF-8, because arguments are written to files and tables.
void check_words(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        if (const std::optional<std::size_t> position = find_unprintable(argv[i])) {
            throw Error::usage(fmt::format("'{}' is not text at byte {}; use UTF-8 without control characters",
                                           printable(argv[i]), *position + 1));
        }
    }
}

/// The message of an exception, with advice for bad_alloc, the only standard exception that a user can act on.
std::string text_of(const std::exception &error) {
    return dynamic_cast<const std::bad_alloc *>(&error) == nullptr
               ? error.what()
               : "out of memory; measure smaller sizes, fewer samples or fewer ranks per node";
}

/// Sleeps 0.3 s per rank number, at most 3 s, so that the lowest failing rank aborts the job first.
void wait_by_rank() {
    constexpr int max_steps = 10;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::this_thread::sleep_for(std::min(rank, max_steps) * std::chrono::milliseconds(300));
}

/// Parses the command line and runs the requested work. If all ranks know an error, rank 0 prints it; other errors are
/// thrown.
ExitStatus run(int argc, char **argv) {
    const Communicator comm;
    try {
        check_words(argc, argv);
        const ParsedWork parsed = parse_command_line(argc, argv, comm.size());
        if (const std::string *text = std::get_if<std::string>(&parsed)) {
            if (comm.is_root()) {
                std::cout << *text << std::flush;
            }
            return ExitStatus::success;
        }
        return std::get<Work>(parsed)(comm, command_line(argc, argv));
    } catch (const Error &error) {
        if (!error.known_everywhere()) {
            throw;
        }
        if (comm.is_root() && !error.is_already_printed()) {
            print_error(error.what());
        }
        return error.status();
    }
}

/// Installs an empty handler for SIGXFSZ, so that write() reports a file at its size limit as an error. SIG_IGN would
/// do that, too, but programs that a user's operation starts would inherit it.
void handle_file_size_signal() {
    struct sigaction action {};
    if (sigaction(SIGXFSZ, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) {
        return;
    }
    action.sa_handler = [](int) {};
    action.sa_flags = SA_RESTART;
    sigaction(SIGXFSZ, &action, nullptr);
}

} // namespace
} // namespace bench

int main(int argc, char **argv) {
    bench::handle_file_size_signal();
    try {
        bench::prepare_algorithms(argc, argv); // sets the variables of algorithms that MPI reads in MPI_Init
    } catch (const std::exception &error) {
        bench::print_error(error.what());
        return static_cast<int>(bench::ExitStatus::failure);
    }
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
        bench::print_error("MPI_Init failed");
        return static_cast<int>(bench::ExitStatus::failure);
    }
    bench::ExitStatus status = bench::ExitStatus::failure;
    try {
        status = bench::run(argc, argv);
        bench::close_tool_interface();
    } catch (const std::exception &error) {
        // Other ranks wait for this rank or fail, too. The first rank that aborts ends the others before they print the
        // same message.
        bench::wait_by_rank();
        bench::print_error(bench::text_of(error));
        await_line_read(); // because a launcher may discard unread output when a rank aborts
        MPI_Abort(MPI_COMM_WORLD, static_cast<int>(bench::ExitStatus::failure));
    }
    MPI_Finalize();
    return static_cast<int>(status);
}
