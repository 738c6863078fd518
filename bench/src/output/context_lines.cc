#include "output/sections.h"
#include "text/words.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace bench {
namespace {

constexpr std::size_t most_hosts_named = 4;

std::string ranks_line(const Context &context) {
    std::vector<std::string> hosts;
    for (const HostInfo &host : context.hosts) {
        hosts.push_back(fmt::format("{} on {}", host.ranks, host.name));
    }
    if (hosts.size() > most_hosts_named) {
        hosts.resize(most_hosts_named);
        hosts.emplace_back("...");
    }
    const bool bound = std::ranges::all_of(context.ranks, [](const RankPlace &place) { return place.cores <= 1; });
    return fmt::format("{} ({}), {}", context.ranks.size(), join(hosts),
                       bound ? "bound to cores" : "not bound to cores");
}

/// Texts of the cells, each with the operations that it holds for: "of the message (bcast, ibcast); ...".
std::string by_operation(const std::vector<CellResult> &results, std::string (*describe)(const Cell &)) {
    std::vector<std::string> texts;
    for (const std::string &text : distinct(results, describe)) {
        std::vector<std::string> names;
        for (const CellResult &result : results) {
            const std::string name = result.cell.operation.substr(0, result.cell.operation.find('('));
            if (describe(result.cell) == text && !contains(names, name)) {
                names.push_back(name);
            }
        }
        if (!text.empty()) {
            texts.push_back(fmt::format("{} ({})", text, join(names)));
        }
    }
    return join(texts, "; ");
}

/// Those that are known in the same way together; the files hold the variables and their values too.
std::string algorithm_lines(const SamplingContext &context) {
    std::vector<std::pair<std::string, std::vector<std::string>>> known;
    for (const auto &[name, evidence] : context.algorithms) {
        const std::string how = evidence.substr(0, evidence.find(": "));
        auto same = std::ranges::find_if(known, [&](const auto &one) { return one.first == how; });
        if (same == known.end()) {
            same = known.insert(known.end(), {how, {}});
        }
        same->second.push_back(name);
    }
    std::string text;
    for (const auto &[how, names] : known) {
        text += line_above(text.empty() ? "chosen" : "", fmt::format("{} ({})", join(names), how));
    }
    return text;
}

/// With a space after each comma, so that lines can end there.
std::string spaced(std::string list) {
    for (std::size_t comma = list.find(','); comma != std::string::npos; comma = list.find(',', comma + 1)) {
        list.insert(comma + 1, " ");
    }
    return list;
}

std::string machine_line(const Context &context) {
    const HostInfo &host = context.hosts.front();
    double load = host.load;
    for (const HostInfo &other : context.hosts) {
        load = std::max(load, other.load);
    }
    return line_above("machine", fmt::format("{}, virtual machine: {}, governor: {}, load: {:.2f}", host.cpu_model,
                                             host.virtual_machine, host.governor, load));
}

/// Which samples count, unless the tolerance decides.
std::string late_line(const SamplingContext &context) {
    const StartLimits &starts = context.starts;
    if (starts.flags_count && starts.late_ranks == 0.0) {
        return "";
    }
    const std::size_t ranks = context.ranks.size();
    return line_above("", fmt::format("a sample counts if at most {} of {} ranks start later than {:.2f} us",
                                      starts.late_of(ranks), ranks, starts.late * 1e6));
}

} // namespace

std::string line_above(const char *name, const std::string &value) {
    constexpr std::size_t indent = 12;
    return fmt::format("  {:<10}{}\n", name, fill(value, indent));
}

std::string table_machine(const Context &context) {
    return fmt::format("downbeat-bench {} ({}), {}\n", context.version, context.revision, context.date) +
           line_above("MPI", fmt::format("{} (MPI {})", short_mpi_library(context.mpi_library), context.mpi_standard)) +
           line_above("ranks", ranks_line(context)) +
           (context.simulated.empty() ? machine_line(context) : line_above("simulated", spaced(context.simulated)));
}

std::string closing_lines(const std::vector<std::string> &warnings, const std::vector<std::string> &files) {
    std::string text = "\n";
    for (const std::string &warning : warnings) {
        text += fmt::format("warning: {}\n", warning);
    }
    for (const std::string &path : files) {
        text += fmt::format("written: {}\n", path);
    }
    return text;
}

std::string size_lines(const std::vector<CellResult> &results) {
    const std::string sizes = by_operation(results, [](const Cell &cell) { return cell.size_meaning; });
    const std::string types =
        by_operation(results, [](const Cell &cell) { return cell.datatype == "none" ? "" : cell.datatype; });
    return (sizes.empty() ? "" : line_above("bytes", sizes)) + (types.empty() ? "" : line_above("datatype", types));
}

std::string table_context(const SamplingContext &context, const ClockAgreement &agreement) {
    return table_machine(context) +
           line_above("clock", fmt::format("{}, synchronized by {}, error bound {:.3f} us, expected error {:.3f} us",
                                           clock_setting(context, "clock"), clock_setting(context, "sync"),
                                           context.error_bound * 1e6, context.expected_error * 1e6)) +
           line_above("", fmt::format("at the end of the run {}", describe(agreement))) +
           (context.stamp_cost > 0.0
                ? line_above("", fmt::format("an empty pair of stamps takes {:.1f} ns, in steps of {:.1f} ns",
                                             context.stamp_cost * 1e9, context.clock_resolution * 1e9))
                : "") +
           line_above("samples", fmt::format("{} per cell, in blocks in random order, each after {} warm-up",
                                             context.stopping, context.warmup)) +
           line_above("", fmt::format("seed {}, tolerance {:.2f} us", context.seed, context.tolerance * 1e6)) +
           late_line(context) + algorithm_lines(context);
}

} // namespace bench
