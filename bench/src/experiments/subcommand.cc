// Parses command lines, and does what all subcommands share (subcommand.h).
#include "experiments/subcommand.h"

#include "build_info.h"
#include "mpi/communicator.h"
#include "mpi/library.h"
#include "mpi/steady_time.h"
#include "output/context.h"
#include "output/output.h"
#include "output/sink.h"
#include "output/table.h"
#include "run/options.h"
#include "text/words.h"

#include <algorithm>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <map>
#include <string_view>

namespace bench {

const std::vector<SubcommandInfo> &all_subcommands() {
    static const std::vector<SubcommandInfo> all = {
        subcommands::list(), subcommands::clock(), subcommands::rtt(),       subcommands::drift(),
        subcommands::skew(), subcommands::pairs(), subcommands::algorithms()};
    return all;
}

ParsedWork parse_command_line(int argc, char **argv, int ranks) {
    // --check: parses the other arguments, and prints a help text or an error, or nothing if they are valid.
    std::vector<char *> words(argv, argv + argc);
    const auto is_check = [](const char *word) { return std::string_view(word) == "--check"; };
    if (std::erase_if(words, is_check) > 0) {
        argc = static_cast<int>(words.size());
        words.push_back(nullptr);
        // A single rank: the check runs without a launcher, so the number of ranks is not known yet.
        const ParsedWork parsed = parse_command_line(argc, words.data(), ranks > 1 ? ranks : unknown_ranks);
        return std::holds_alternative<std::string>(parsed) ? parsed : "";
    }
    const std::vector<std::string> names = names_of(all_subcommands());
    if (argc > 1 && contains(names, argv[1])) {
        return find_by_name(all_subcommands(), argv[1]).parse(argc - 1, argv + 1, ranks);
    }
    return parse_measurement(argc, argv, ranks);
}

namespace {

/// Collective. Sets the ranks and hosts of the context on rank 0. The first rank of a host provides the load, governor,
/// CPU model and virtual machine.
void gather_hosts(const Communicator &comm, Context &context) {
    const Binding binding = read_binding();
    const auto texts = comm.gather(
        std::array{host_name(), binding.cpuset, read_governor(), binding.cpu_model, read_virtual_machine()});
    const auto values = comm.gather(std::array{static_cast<double>(binding.cores), read_load()});

    std::map<std::string, std::vector<std::string>> cpusets_of_host;
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
        const auto &[name, cpuset, governor, model, machine] = texts[rank];
        const auto &[cores, load] = values[rank];
        context.ranks.push_back({name, cpuset, static_cast<int>(cores)});
        if (cpusets_of_host[name].empty()) {
            context.hosts.push_back({name, 0, 0, load, governor, model, machine}); // the numbers are set below
        }
        cpusets_of_host[name].push_back(cpuset);
    }
    for (HostInfo &host : context.hosts) {
        host.ranks = static_cast<int>(cpusets_of_host[host.name].size());
        host.processors = count_processors(cpusets_of_host[host.name]);
    }
}

} // namespace

Context gather_context(const Communicator &comm, const GlobalClock &clock, const CommonOptions &options,
                       std::uint64_t seed, const std::string &command_line) {
    if (comm.size() == 1) { // the launcher of another MPI library starts N runs with one rank each
        print_error("warning: there is only one rank, so no message is sent; start the program with the launcher of "
                    "its MPI library, e.g. mpirun -n 2");
    }
    Context context;
    context.version = build_version;
    context.revision = build_revision;
    context.compiler = build_compiler;
    context.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    context.command_line = command_line;
    context.mpi_library = mpi_library();
    context.mpi_standard = mpi_standard();
    context.platform_model = platform_model();
    gather_hosts(comm, context);
    context.clock = clock.settings();
    const ClockError error = clock.largest(clock.error());
    context.error_bound = error.bound;
    context.expected_error = error.expected;
    context.clock_resolution = clock.resolution();
    for (const Setting &setting : find_settings()) {
        const std::string source = setting.source.empty() ? "" : fmt::format(" ({})", setting.source);
        context.environment.emplace_back(setting.name, setting.value + source);
    }
    context.seed = seed;
    context.outputs = options.outputs;
    return context;
}

Session::Session(const Communicator &comm, const CommonOptions &options, const std::string &command)
    : comm_(comm), options_(options), seed_(choose_seed(comm, options.seed)) {
    comm.on_root([&] {
        sinks_ = open_sinks(options.outputs, options.format);
        return 0;
    });
    const GlobalClock clock(comm, std::nullopt);
    context_ = gather_context(comm, clock, options, seed_, command);
    watch_ = ActivityWatch(); // begins the period anew
}

ExitStatus Session::finish(const std::function<Findings()> &find) {
    const std::vector<OthersActivity> activity = watch_.finish(comm_);
    comm_.on_root([&] {
        Findings findings = find();
        const std::vector<std::string> machine_warnings = find_machine_warnings(context_, activity);
        findings.warnings.insert(findings.warnings.begin(), machine_warnings.begin(), machine_warnings.end());
        ContextValues run = findings.data.attributes; // for the line above the tables
        run.emplace_back("seed", seed_);
        // The reader knows the experiment, and front_wait_s is only for programs.
        std::erase_if(run,
                      [](const auto &value) { return value.first == "experiment" || value.first == "front_wait_s"; });
        const ContextValues values = context_values(context_);
        findings.data.attributes.insert(findings.data.attributes.begin(), values.begin(), values.end());
        RunEnd end{std::nullopt, findings.warnings, ""};
        end.text = table_head(context_) + findings.head + line_of_values("run", run, all_attributes()) +
                   dataset_tables(findings.data) + closing_lines(end, context_.outputs);
        for (const auto &sink : sinks_) {
            write_dataset(*sink, context_, findings.data, end);
        }
        print_warnings(options_.format, findings.warnings);
        return 0;
    });
    return ExitStatus::success;
}

std::vector<Attribute> all_attributes() {
    using enum Origin;
    std::vector<Attribute> all = context_attributes();
    all.insert(all.end(), setting_attributes().begin(), setting_attributes().end());
    const std::vector<Attribute> of_subcommands = {
        {property, "experiment", "", "subcommand that wrote the file"},
        {setting, "rounds", "", "round trips of an estimate of an offset"},
        {setting, "repetitions", "", "synchronizations of each scheme, or valid samples after each synchronizer"},
        {setting, "estimator", "", "estimator of offsets"},
        {property, "clock_domains", "", "groups of ranks that share a clock"},
        {measured, "barrier_mean_s", "s", "mean duration of MPI_Barrier"},
        {measured, "front_wait_s", "s", "wait to the check that decides which schemes are on the Pareto front"},
        {setting, "duration_s", "s", "duration of the measurement"},
        {setting, "interval_s", "s", "time from one measurement of a pair to the next"},
        {setting, "count", "", "round trips of a pair"},
        {setting, "resamples", "", "runs of the stop rule for each N"},
        {setting, "size", "byte", "message size"},
        {setting, "root", "", "root of rooted operations"},
        {setting, "warmup", "", "calls to discard before each block of samples", "warm-up"},
        {setting, "exchanges", "", "exchanges of a pair in a round; fewer than requested to fit into within_s"},
        {setting, "passes", "", "passes of the tournament of pairs"},
        {measured, "starts", "", "common starts of the run"},
        {measured, "late_starts", "", "common starts that a rank left late"},
        {property, "taking_part", "", "ranks that are paired: the first of each node, or all"},
        {measured, "suspects_found", "", "nodes and links that are slower than their peers in the tournament"},
        {setting, "within_s", "s", "limit of the time of the run"},
    };
    all.insert(all.end(), of_subcommands.begin(), of_subcommands.end());
    return all;
}

void print_warnings(const std::string &format, const std::vector<std::string> &warnings) {
    if (find_by_name(all_formats(), format).shows_warnings) {
        return;
    }
    for (const std::string &warning : warnings) {
        print_error(fmt::format("warning: {}", warning));
    }
}

} // namespace bench
