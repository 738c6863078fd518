// Output format osu: headers and columns of the OSU micro-benchmarks, for scripts that read them.
#include "output/table.h"
#include "rules/arrival_pattern.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace bench {
namespace {

// Widths of columns, in characters, as in OSU's output.
constexpr int size_width = 10;
constexpr int field_width = 18;
constexpr int only_field_width = 17; // of an operation without a size

/// The operation's name in the header of OSU's program: "Broadcast", "Non-blocking Broadcast", "Broadcast Persistent".
std::string title(const Cell &cell) {
    static const std::map<std::string, std::string> titles = {
        {"bcast", "Broadcast"},
        {"alltoall", "All-to-All Personalized Exchange"},
        {"alltoallv", "All-to-Allv Personalized Exchange"},
        {"alltoallw", "All-to-Allw Personalized Exchange"},
    };
    const std::string name = cell.operation.substr(0, cell.operation.find('('));
    const auto match = titles.find(name);
    if (match != titles.end()) {
        return match->second;
    }
    const std::size_t persistent = name.rfind("_init");
    if (persistent != std::string::npos) {
        Cell blocking = cell;
        blocking.operation = name.substr(0, persistent);
        return title(blocking) + " Persistent";
    }
    const bool is_nonblocking = name.size() > 1 && name[0] == 'i';
    if (is_nonblocking) {
        Cell blocking = cell;
        blocking.operation = name.substr(1);
        return "Non-blocking " + title(blocking);
    }
    std::string capitalized = name;
    capitalized[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
    return capitalized;
}

/// The lines above a block of cells. Cells with the same header are in a block; they differ only in size.
std::string header(const Cell &cell) {
    std::string text =
        fmt::format("\n# OSU MPI {} Latency Test\n# Synchronizer: {}\n", title(cell), describe_start(cell));
    if (describe_operation(cell).find_first_of("([") != std::string::npos) {
        text += fmt::format("# Operation: {}\n", describe_operation(cell));
    }
    if (cell.pattern != no_pattern) {
        text += fmt::format("# Arrival pattern: {}, largest delay {:.2f} us\n", cell.pattern, cell.delay * 1e6);
    }
    if (cell.computation > 0.0) {
        text += "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n";
    }
    if (cell.datatype != "none" && !cell.datatype.empty()) {
        text += fmt::format("# Datatype: {}.\n", cell.datatype.substr(0, cell.datatype.find(' ')));
    }
    const std::string first = cell.size == 0 ? "# " : fmt::format("{:<{}}", "# Size", size_width);
    if (cell.computation > 0.0) {
        return text + fmt::format("{}{:>{}}{:>{}}{:>{}}{:>{}}\n", first, "Overall(us)", field_width, "Compute(us)",
                                  field_width, "Pure Comm.(us)", field_width, "Overlap(%)", field_width);
    }
    return text +
           (cell.size == 0 ? "# Avg Latency(us)\n" : fmt::format("{}{:>{}}\n", first, "Avg Latency(us)", field_width));
}

/// A time in us. OSU writes two decimals; below 1 us there are three.
std::string field(double seconds, int width = field_width) {
    return fmt::format("{:{}.{}f}", seconds * 1e6, width, seconds < 1e-6 ? 3 : 2);
}

/// The line of a cell. `results`: all cells, among which a cell with computation has its cell without computation.
std::string row(const std::vector<CellResult> &results, const CellResult &result) {
    const std::string size = result.cell.size == 0 ? "" : fmt::format("{:<{}}", result.cell.size, size_width);
    if (result.valid == 0) {
        return fmt::format("# {}{}: {}\n", size.empty() ? "" : "size ", size_text(result.cell),
                           describe_shortfall(result));
    }
    const double latency = result.metric("latency_avg").mean;
    if (result.cell.computation == 0.0) {
        return size + field(latency, size.empty() ? only_field_width : field_width) + "\n";
    }
    const auto pure = std::ranges::find_if(results, [&](const CellResult &candidate) {
        return candidate.cell.computation == 0.0 && same_but_for_computation(candidate.cell, result.cell);
    });
    return size + field(latency) + field(result.computed) + field(pure->metric("latency_avg").mean) +
           fmt::format("{:{}.2f}\n", 100.0 * result.computation_overlap.osu, field_width);
}

} // namespace

std::string osu_text(const SamplingContext &context, const std::vector<CellResult> &results, const RunEnd &) {
    const std::string &platform = context.platform_model;
    std::string text = platform.empty() ? "" : fmt::format("\n# Simulated: {}\n", platform);
    for (const std::string &block : distinct(results, header)) {
        text += block;
        for (const CellResult &result : results) {
            if (header(result.cell) == block) {
                text += row(results, result);
            }
        }
    }
    return text;
}

} // namespace bench
