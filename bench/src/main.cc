#include "experiments/experiment.h"
#include "mpi/mpi_tool.h"
#include "options/algorithm_choices.h"
#include "output/print_error.h"
#include "text/error.h"

#include <fmt/format.h>
#include <iostream>

namespace bench {
namespace {

std::string command_line(int argc, char **argv) { return fmt::format("{}", fmt::join(argv, argv + argc, " ")); }

ExitStatus run(int argc, char **argv) {
    const Communicator comm;
    try {
        const ParsedExperiment parsed = parse_command_line(argc, argv, comm.size());
        if (const std::string *text = std::get_if<std::string>(&parsed)) {
            if (comm.is_root()) {
                std::cout << *text << std::flush;
            }
            return ExitStatus::success;
        }
        return std::get<Experiment>(parsed)(comm, command_line(argc, argv));
    } catch (const Error &error) {
        if (!error.known_everywhere()) {
            throw;
        }
        if (comm.is_root()) {
            print_error(error.what());
        }
        return error.status();
    }
}

} // namespace
} // namespace bench

int main(int argc, char **argv) {
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
        // The other ranks know nothing of it and wait.
        bench::print_error(error.what());
        bench::await_errors_read(); // MPICH's launcher drops what it has not read when a rank aborts
        MPI_Abort(MPI_COMM_WORLD, static_cast<int>(bench::ExitStatus::failure));
    }
    MPI_Finalize();
    return static_cast<int>(status);
}
