#include "activity.h"
#include "error.h"
#include "gather_context.h"
#include "launch.h"
#include "names.h"
#include "reporter_registry.h"
#include "warnings.h"

#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <random>

namespace bench {
namespace {

void print_error(const std::string &message) {
    // One write, so that lines of different ranks do not mix.
    std::cerr << fmt::format("downbeat-bench: {}\n", message) << std::flush;
}

std::string command_line(int argc, char **argv) { return fmt::format("{}", fmt::join(argv, argv + argc, " ")); }

/// The seed given, else one that rank 0 draws; short, so that people can type it again.
std::uint64_t choose_seed(const Communicator &comm, const Options &options) {
    return options.seed ? *options.seed : static_cast<std::uint64_t>(comm.on_root([] {
        return static_cast<long>(std::random_device{}() % 1'000'000);
    }));
}

std::vector<std::unique_ptr<Reporter>> open_reporters(const Options &options) {
    std::vector<std::unique_ptr<Reporter>> reporters;
    for (const std::string &path : options.outputs) {
        reporters.push_back(find_reporter_by_suffix(path).make(path));
    }
    // Last, so that what it says of the files is true when it says it.
    reporters.push_back(find_by_name(all_reporters(), options.format).make(standard_output));
    return reporters;
}

std::string describe_unmeasured(const std::vector<const CellResult *> &unmeasured) {
    constexpr std::size_t most_named = 3;
    std::vector<std::string> named;
    for (const CellResult *result : unmeasured) {
        if (named.size() == most_named) {
            named.emplace_back("...");
            break;
        }
        named.push_back(fmt::format("{}: {} of {}", describe(result->cell), result->valid, result->requested));
    }
    return join(named);
}

/// At rank 0: the run's exit status; where a cell lacks samples, one line that says which and what would help.
ExitStatus judge_run(const std::vector<CellResult> &results) {
    std::vector<const CellResult *> unmeasured;
    for (const CellResult &result : results) {
        if (result.status != CellStatus::ok) {
            unmeasured.push_back(&result);
        }
    }
    if (unmeasured.empty()) {
        return ExitStatus::success;
    }
    print_error(
        fmt::format("{} of {} cells have too few valid samples ({}): ranks missed the deadlines; what helps: no "
                    "more ranks than processors, an idle machine, DOWNBEAT_SLACK=auto, a larger --tolerance",
                    unmeasured.size(), results.size(), describe_unmeasured(unmeasured)));
    return ExitStatus::unmeasured;
}

ExitStatus measure(const Communicator &comm, const Options &options, const std::string &command) {
    const std::uint64_t seed = choose_seed(comm, options);
    std::vector<std::unique_ptr<Reporter>> reporters;
    comm.on_root([&] {
        reporters = open_reporters(options);
        return 0;
    });
    const GlobalClock clock(comm, options.tolerance);
    const Context context = gather_context(comm, clock, options, seed, command);
    comm.on_root([&] {
        for (const auto &reporter : reporters) {
            reporter->begin(context, list_cells(options));
        }
        return 0;
    });

    const ActivityWatch watch;
    const std::vector<CellResult> results = Launch(comm, clock, options, seed, reporters).run();
    const std::vector<OthersActivity> others = watch.finish(comm);

    return static_cast<ExitStatus>(comm.on_root([&] {
        const std::vector<std::string> warnings = find_warnings(context, results, others);
        for (const auto &reporter : reporters) {
            reporter->end(warnings);
        }
        if (!find_by_name(all_reporters(), options.format).shows_warnings) {
            for (const std::string &warning : warnings) {
                print_error(fmt::format("warning: {}", warning));
            }
        }
        return static_cast<long>(judge_run(results));
    }));
}

ExitStatus run(int argc, char **argv) {
    const Communicator comm;
    try {
        const auto parsed = parse_options(argc, argv, comm.size());
        if (const std::string *text = std::get_if<std::string>(&parsed)) {
            if (comm.is_root()) {
                std::cout << *text << std::flush;
            }
            return ExitStatus::success;
        }
        return measure(comm, std::get<Options>(parsed), command_line(argc, argv));
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
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
        bench::print_error("MPI_Init failed");
        return static_cast<int>(bench::ExitStatus::failure);
    }
    bench::ExitStatus status = bench::ExitStatus::failure;
    try {
        status = bench::run(argc, argv);
    } catch (const std::exception &error) {
        // The other ranks know nothing of it and wait.
        bench::print_error(error.what());
        MPI_Abort(MPI_COMM_WORLD, static_cast<int>(bench::ExitStatus::failure));
    }
    MPI_Finalize();
    return static_cast<int>(status);
}
