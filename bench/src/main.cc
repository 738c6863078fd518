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

std::string command_line(int argc, char **argv) { return fmt::format("{}", fmt::join(argv, argv + argc, " ")); }

/// Arguments are written to files and tables.
void check_words(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        if (const std::optional<std::size_t> position = find_unprintable(argv[i])) {
            throw Error::usage(fmt::format("'{}' is not text at byte {}; use UTF-8 without control characters",
                                           printable(argv[i]), *position + 1));
        }
    }
}

/// bad_alloc is the only standard exception that users can act on.
std::string text_of(const std::exception &error) {
    return dynamic_cast<const std::bad_alloc *>(&error) == nullptr
               ? error.what()
               : "out of memory; measure smaller sizes, fewer samples or fewer ranks per node";
}

/// Later the higher the rank.
void await_turn_to_fail() {
    constexpr int latest = 10;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::this_thread::sleep_for(std::min(rank, latest) * std::chrono::milliseconds(300));
}

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
        if (comm.is_root() && !error.is_told()) {
            print_error(error.what());
        }
        return error.status();
    }
}

/// A file at the limit of its size is an error of writing, with a line, not a signal. A handler is not handed on to
/// what an operation of the user starts, as SIG_IGN is.
void outlive_large_files() {
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
    bench::outlive_large_files();
    try {
        bench::prepare_algorithms(argc, argv);
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
        // The other ranks wait for this one, or fail, too: the first to fail aborts them before they print the same.
        bench::await_turn_to_fail();
        bench::print_error(bench::text_of(error));
        await_line_read();
        MPI_Abort(MPI_COMM_WORLD, static_cast<int>(bench::ExitStatus::failure));
    }
    MPI_Finalize();
    return static_cast<int>(status);
}
