#include "output/context.h"

#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace bench {

ContextValues context_values(const Context &context) {
    ContextValues values = {
        {"downbeat_version", context.version},
        {"git_revision", context.revision},
        {"compiler", context.compiler},
        {"date", context.date},
        {"command_line", context.command_line},
        {"mpi_library", context.mpi_library},
        {"mpi_standard", context.mpi_standard},
        {"error_bound_s", context.error_bound},
        {"expected_error_s", context.expected_error},
        {"clock_resolution", context.clock_resolution},
        {"seed", context.seed},
    };
    if (!context.simulated.empty()) {
        values.emplace_back("simulated", context.simulated);
    }
    return values;
}

ContextValues context_values(const SamplingContext &context) {
    ContextValues values = context_values(static_cast<const Context &>(context));
    const ContextValues sampling = {{"stopping_rule", context.stopping},
                                    {"warmup_rule", context.warmup},
                                    {"max_attempts", context.max_attempts},
                                    {"observed_rank", static_cast<long>(context.observed)},
                                    {"patterns_permuted", static_cast<long>(context.permuted)},
                                    {"tolerance_s", context.tolerance},
                                    {"stamp_cost", context.stamp_cost},
                                    {"algorithms", describe_algorithms(context)}};
    if (!context.user_operations.empty()) {
        values.emplace_back("user_operations", join(context.user_operations, "\n"));
    }
    values.insert(values.end(), sampling.begin(), sampling.end());
    if (!context.starts.flags_count) {
        values.emplace_back("late_s", context.starts.late);
    }
    if (context.starts.late_ranks > 0.0) {
        values.emplace_back("late_ranks", context.starts.late_ranks);
    }
    return values;
}

std::optional<double> busy_processors(double seconds, double period, double processors) {
    constexpr double shortest = 0.1; // seconds
    if (std::isnan(seconds) || period < shortest) {
        return std::nullopt;
    }
    return std::clamp(seconds / period, 0.0, processors);
}

std::string describe_environment(const Context &context) {
    std::vector<std::string> variables;
    for (const auto &[name, value] : context.environment) {
        variables.push_back(fmt::format("{}={}", name, value));
    }
    return join(variables, "\n");
}

std::string describe_algorithms(const SamplingContext &context) {
    std::vector<std::string> lines;
    for (const auto &[name, evidence] : context.algorithms) {
        lines.push_back(fmt::format("{}: {}", name, evidence));
    }
    return join(lines, "\n");
}

std::string describe_hosts(const Context &context) {
    std::vector<std::string> hosts;
    for (const HostInfo &host : context.hosts) {
        hosts.push_back(fmt::format("{}: {} ranks, {} processors, load {:.2f}, governor {}, CPU {}, virtual machine {}",
                                    host.name, host.ranks, host.processors, host.load, host.governor, host.cpu_model,
                                    host.virtual_machine));
    }
    return join(hosts, "\n");
}

std::string clock_setting(const Context &context, const std::string &name) {
    const auto found = std::ranges::find_if(context.clock, [&](const auto &one) { return one.first == name; });
    return found == context.clock.end() ? "unknown" : found->second;
}

std::string short_mpi_library(const std::string &version) {
    std::string text;
    for (const char c : version.substr(0, version.find_first_of(",\n"))) {
        const bool space = c == ' ' || c == '\t';
        if (!space) {
            text += c;
        } else if (!text.empty() && text.back() != ' ') {
            text += ' ';
        }
    }
    return text;
}

} // namespace bench
