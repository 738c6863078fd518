// `downbeat-bench algorithms`: calls each operation with every algorithm of the MPI library ("trial") and compares
// counts of messages and of operator calls ("traces"), which show whether the chosen algorithm ran. A trial has one
// call, and a second one of reductions, with an operator that counts its calls.
#include "experiments/subcommand.h"

#include "experiments/algorithms_results.h"
#include "mpi/communicator.h"
#include "operations/algorithm.h"
#include "operations/collective.h"
#include "operations/operation.h"
#include "run/algorithm_choices.h"
#include "run/command_line.h"
#include "text/parse.h"
#include "text/words.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <utility>

namespace bench {
namespace {

// Calls of the counting operator on this rank. A global variable, because MPI passes no user data to operators.
std::int64_t operator_calls = 0;

// A reduction operator: a sum of doubles that counts its calls.
void add_and_count(void *in, void *inout, int *count, MPI_Datatype *) {
    const auto *const a = static_cast<const double *>(in);
    auto *const b = static_cast<double *>(inout);
    for (int i = 0; i < *count; ++i) {
        b[i] += a[i];
    }
    ++operator_calls;
}

/// A sum that counts its calls. It is declared commutative like MPI_SUM, because libraries use different algorithms for
/// other operators.
class CountingOperator {
public:
    CountingOperator() { check(MPI_Op_create(add_and_count, 1, &handle_), "MPI_Op_create"); }
    ~CountingOperator() { MPI_Op_free(&handle_); }
    CountingOperator(const CountingOperator &) = delete;
    CountingOperator &operator=(const CountingOperator &) = delete;
    MPI_Op handle() const { return handle_; }

private:
    MPI_Op handle_ = MPI_OP_NULL;
};

/// A call of the reduction `name` on doubles; null if `name` is not such a reduction.
std::unique_ptr<Call> bind_reduction(std::string_view name, const double *send, double *receive, int count, MPI_Op op,
                                     int root, MPI_Comm comm) {
    if (name == "reduce" || name == "ireduce") {
        return bind_call(BENCH_FORMS(Reduce, reduce), send, receive, count, MPI_DOUBLE, op, root, comm);
    }
    if (name == "allreduce" || name == "iallreduce") {
        return bind_call(BENCH_FORMS(Allreduce, allreduce), send, receive, count, MPI_DOUBLE, op, comm);
    }
    if (name == "scan") {
        return bind_call(BENCH_FORMS(Scan, scan), send, receive, count, MPI_DOUBLE, op, comm);
    }
    if (name == "exscan") {
        return bind_call(BENCH_FORMS(Exscan, exscan), send, receive, count, MPI_DOUBLE, op, comm);
    }
    return nullptr;
}

/// Collective. Calls a reduction on `count` doubles with the counting operator. Returns the number of operator calls on
/// this rank, which does not depend on timing; nullopt if the operation is not a reduction. Throws Error::here if MPI
/// returns an error.
std::optional<std::int64_t> count_reduction_calls(const std::string &operation, int count, int root, MPI_Comm comm) {
    const CountingOperator op;
    const std::vector<double> send(static_cast<std::size_t>(count), 1.0);
    std::vector<double> receive(send.size(), 0.0);
    const auto call = bind_reduction(operation, send.data(), receive.data(), count, op.handle(), root, comm);
    if (!call) {
        return std::nullopt;
    }
    operator_calls = 0;
    if (operation.starts_with('i')) { // ireduce, iallreduce: nonblocking
        MPI_Request request = MPI_REQUEST_NULL;
        check(call->start(&request), operation.c_str());
        check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    } else {
        check(call->run(), operation.c_str());
    }
    return operator_calls;
}

constexpr std::uint64_t largest_size = std::uint64_t{1} << 30U; // bytes

/// Collective. Runs `work` on all ranks. Returns "" if it threw no Error; else, on rank 0, the message of the lowest
/// rank that failed, and "refused" on other ranks. `work` may be collective, since libraries refuse an algorithm for
/// reasons that are the same on all ranks.
std::string refusal_of(const Communicator &comm, const std::function<void()> &work) {
    std::string local;
    try {
        work();
    } catch (const Error &error) {
        local = error.what();
    }
    std::string text;
    for (const std::string &reason : comm.gather(local)) {
        text = text.empty() ? reason : text;
    }
    // Only rank 0 writes the message. Other ranks only need to know that there is a message.
    const long refused = comm.on_root([&] { return text.empty() ? 0 : 1; });
    return comm.is_root() || refused == 0 ? text : "refused";
}

/// Collective. Returns the rows of all ranks, one after another, on rank 0, and an empty vector on other ranks.
std::vector<std::int64_t> gather_rows(const Communicator &comm, const std::vector<std::int64_t> &row) {
    const int length = static_cast<int>(row.size());
    std::vector<std::int64_t> gathered(comm.is_root() ? row.size() * static_cast<std::size_t>(comm.size()) : 0);
    check(MPI_Gather(row.data(), length, MPI_INT64_T, gathered.data(), length, MPI_INT64_T, 0, comm.handle()),
          "MPI_Gather");
    return gathered;
}

/// The differences of the elements: after - before.
std::vector<std::int64_t> difference(const std::vector<std::int64_t> &after, const std::vector<std::int64_t> &before) {
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < after.size(); ++i) {
        values.push_back(after[i] - before[i]);
    }
    return values;
}

/// Makes trials: calls an operation with an algorithm, and counts its messages and operator calls.
class Trials {
public:
    /// Collective.
    Trials(const Communicator &comm, const AlgorithmFamily &family, const AlgorithmsOptions &options)
        : comm_(comm), family_(family), options_(options), counter_(find_message_counter(comm)) {}

    /// Collective. Makes a trial. `algorithm` is null for the library's default.
    AlgorithmTrial attempt(const SelectableCollective &collective, const Algorithm *algorithm) const {
        AlgorithmTrial trial;
        trial.operation = collective.name;
        trial.algorithm = algorithm == nullptr ? default_algorithm : algorithm->name;
        std::unique_ptr<AlgorithmInForce> choice;
        trial.refusal = refusal_of(comm_, [&] {
            choice = algorithm == nullptr
                         ? std::make_unique<AlgorithmInForce>(comm_.handle(), "the library's own choice")
                         : family_.choose(comm_, collective, *algorithm);
        });
        if (!trial.refusal.empty()) {
            return trial;
        }
        trial.evidence = choice->evidence();
        trial.refusal = refusal_of(comm_, [&] { call(*choice, trial); });
        if (!trial.refusal.empty()) {
            return trial;
        }
        if (counter_) {
            trial.messages = gather_rows(comm_, trial.messages);
            trial.bytes = gather_rows(comm_, trial.bytes);
        }
        const std::string no_count = refusal_of(comm_, [&] { count_calls(*choice, trial); });
        if (no_count.empty() && !trial.calls.empty()) {
            trial.calls = gather_rows(comm_, trial.calls);
        } else {
            trial.calls.clear(); // no reduction, or an algorithm that does not support user-defined operators
        }
        return trial;
    }

private:
    /// Calls the operation and counts the messages that this rank sends, and their bytes, to each rank. Without a
    /// counter, the counts are empty.
    void call(AlgorithmInForce &choice, AlgorithmTrial &trial) const {
        const OperationInfo &info = find_by_name(all_operations(), trial.operation);
        const bool rooted = std::ranges::any_of(
            info.parameters, [](const ComponentParameter &parameter) { return parameter.name == "root"; });
        const Component component("operation",
                                  rooted ? fmt::format("{}(root={})", info.name, options_.root) : info.name, info);
        const AlgorithmScope scope(choice, /*strict=*/true);
        const auto operation = info.make({choice.comm(), info.sized() ? options_.size : 0, component});
        const Traffic before = counter_ ? counter_->sent() : Traffic{};
        operation->run();
        const Traffic after = counter_ ? counter_->sent() : Traffic{};
        trial.messages = difference(after.messages, before.messages);
        trial.bytes = difference(after.bytes, before.bytes);
    }

    /// Calls the operation with the counting operator, if it is a reduction.
    void count_calls(AlgorithmInForce &choice, AlgorithmTrial &trial) const {
        const AlgorithmScope scope(choice, /*strict=*/true);
        const int count = static_cast<int>(options_.size / sizeof(double));
        if (const auto calls = count_reduction_calls(trial.operation, count, options_.root, choice.comm())) {
            trial.calls = {*calls};
        }
    }

    const Communicator &comm_;
    const AlgorithmFamily &family_;
    const AlgorithmsOptions &options_;
    std::unique_ptr<MessageCounter> counter_;
};

/// Warnings on algorithms that were ignored. `fixed`: collectives whose algorithm cannot change in this launch.
std::vector<std::string> find_warnings(const std::vector<AlgorithmTrial> &trials,
                                       const std::vector<std::string> &fixed) {
    std::vector<std::string> warnings;
    if (!fixed.empty()) {
        warnings.push_back(fmt::format("this MPI library reads the algorithm of {} only in MPI_Init: only this "
                                       "launch's choice was tried; set another one in the environment and run again",
                                       join(fixed)));
    }
    for (const AlgorithmTrial &trial : trials) {
        if (trial.verdict == AlgorithmVerdict::ignored) {
            warnings.push_back(fmt::format(
                "algorithm {} of {} was ignored: every algorithm sends the same messages as the default, so something "
                "else serves this operation; check component and priority settings in the environment",
                trial.algorithm, trial.operation));
        }
    }
    return warnings;
}

ExitStatus run(const Communicator &comm, const std::string &command, const AlgorithmFamily &family,
               const AlgorithmsOptions &options, const CommonOptions &common) {
    Session session(comm, common, command);
    std::optional<Trials> attempts(std::in_place, comm, family, options);
    std::vector<AlgorithmTrial> all_trials;
    std::vector<std::string> fixed; // collectives whose algorithm cannot change in this launch
    for (const std::string &operation : options.operations) {
        // Not null: parse() has checked the names.
        const SelectableCollective &collective = *find_collective(family, operation);
        std::vector<AlgorithmTrial> trials = {attempts->attempt(collective, nullptr)};
        if (!family.switchable(collective)) {
            judge_trials(trials, static_cast<std::size_t>(comm.size()));
            all_trials.push_back(trials.front());
            fixed.push_back(collective.name);
            continue;
        }
        for (const Algorithm &algorithm : collective.algorithms) {
            trials.push_back(attempts->attempt(collective, &algorithm));
        }
        judge_trials(trials, static_cast<std::size_t>(comm.size()));
        all_trials.insert(all_trials.end(), trials.begin(), trials.end());
    }
    attempts.reset(); // destroys the message counter before MPI_Finalize
    return session.finish([&]() -> Findings {
        return {.data = algorithms_dataset(session.context(), options, all_trials),
                .head = "",
                .warnings = find_warnings(all_trials, fixed)};
    });
}

/// The operations whose algorithms can be chosen.
std::vector<std::string> operations_of(const AlgorithmFamily &family) {
    std::vector<std::string> names;
    for (const OperationInfo &operation : all_operations()) {
        if (find_collective(family, operation.name) != nullptr && operation.unavailable.empty()) {
            names.push_back(operation.name);
        }
    }
    return names;
}

ParsedWork parse(int argc, char **argv, int ranks) {
    CommandLine line("Runs each operation once with every algorithm of the MPI library and shows whether each choice "
                     "takes effect. Run under mpirun, mpiexec or srun.",
                     "downbeat-bench algorithms");
    AlgorithmsOptions options;
    CommonOptions common;
    line.positional("operation", options.operations, "operations to try [default: all with a choice of algorithms]");
    line.option(
        "-m,--size", "SIZE",
        [&](const std::string &word) {
            const std::vector<std::uint64_t> sizes = parse_sizes(word);
            if (sizes.size() != 1 || sizes.front() == 0 || sizes.front() % sizeof(double) != 0 ||
                sizes.front() > largest_size) {
                throw Error::usage(
                    fmt::format("--size cannot be '{}'; use a multiple of 8 up to {}", word, largest_size));
            }
            options.size = sizes.front();
        },
        "message size in bytes per process, a multiple of 8 [default 1K]");
    line.number("--root", "RANK", options.root, 0, ranks - 1, "root of rooted operations");
    common.declare(line, "");
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }
    std::shared_ptr<const AlgorithmFamily> family = find_algorithm_family();
    const std::vector<std::string> valid = family ? operations_of(*family) : std::vector<std::string>{};
    if (valid.empty()) {
        throw Error::usage(
            "this MPI library has no variables that choose algorithms; use Open MPI, MPICH or Intel MPI");
    }
    check_names("operation", options.operations, valid);
    if (options.operations.empty()) {
        options.operations = valid;
    }
    common.check();
    return [family, options, common](const Communicator &comm, const std::string &command) {
        return run(comm, command, *family, options, common);
    };
}

} // namespace

SubcommandInfo subcommands::algorithms() {
    return {{algorithms_subcommand, "the MPI library's algorithms, and whether each takes effect when chosen"}, parse};
}

} // namespace bench
