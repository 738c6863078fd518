#include "output/table.h"

#include "output/output.h"
#include "output/sink.h"
#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace bench {
namespace {

// Longer names have a line of their own.
constexpr std::size_t widest_name = 22;

bool is_number(const ColumnEntry &entry) {
    return std::holds_alternative<double>(entry) && !std::isnan(std::get<double>(entry));
}

struct NumberFormat {
    double factor;
    int decimals;
};

NumberFormat format_of(ColumnKind kind, bool is_below_1) {
    switch (kind) {
    case ColumnKind::microseconds:
        return {1e6, is_below_1 ? 3 : 2};
    case ColumnKind::percent:
        return {1e2, 1};
    case ColumnKind::ppm:
        return {1e6, 4};
    case ColumnKind::whole:
        return {1.0, 0};
    case ColumnKind::fine:
        return {1.0, 4};
    case ColumnKind::precise:
        return {1.0, 9};
    default:
        return {1.0, 2};
    }
}

std::string unit_of(ColumnKind kind) {
    return kind == ColumnKind::microseconds ? " [us]" : kind == ColumnKind::ppm ? " [ppm]" : "";
}

std::string trim_right(const std::string &line) { return line.substr(0, line.find_last_not_of(' ') + 1); }

} // namespace

std::vector<std::string> ColumnTable::format(std::size_t column) const {
    const ColumnKind kind = columns_[column].kind;
    const bool is_below_1 = std::ranges::any_of(rows_, [&](const std::vector<ColumnEntry> &row) {
        const double value = !is_note(row) && is_number(row[column]) ? std::get<double>(row[column]) : 0.0;
        return value != 0.0 && std::abs(value) < 1e-6;
    });
    const NumberFormat format = format_of(kind, is_below_1);
    std::vector<std::string> texts;
    for (const std::vector<ColumnEntry> &row : rows_) {
        if (is_note(row)) {
            texts.emplace_back();
        } else if (const auto *text = std::get_if<std::string>(&row[column])) {
            texts.push_back(*text);
        } else {
            texts.push_back(is_number(row[column])
                                ? fmt::format("{:.{}f}", format.factor * std::get<double>(row[column]), format.decimals)
                                : "-");
        }
    }
    return texts;
}

std::string legend_of(const std::vector<Column> &columns) {
    std::vector<std::pair<std::string, std::string>> lines;
    for (const Column &column : columns) {
        const auto said = [&](const auto &line) { return line.second == column.legend + unit_of(column.kind); };
        if (column.legend.empty() || std::ranges::any_of(lines, said)) {
            continue;
        }
        const bool shared = std::ranges::all_of(
            columns, [&](const Column &other) { return other.group != column.group || other.legend == column.legend; });
        std::string name = column.group.empty()               ? column.heading
                           : shared || column.heading.empty() ? column.group
                                                              : column.group + " " + column.heading;
        lines.emplace_back(std::move(name), column.legend + unit_of(column.kind));
    }
    const std::size_t width =
        lines.empty() ? 0 : std::ranges::max(mapped(lines, [](const auto &line) { return line.first.size(); }));
    return concatenated(lines, [&](const auto &line) {
        return fmt::format("  {:<{}}  {}\n", line.first, width, fill(line.second, width + 4));
    });
}

std::string ColumnTable::group_line(const std::vector<std::size_t> &widths, std::size_t space) const {
    std::string line;
    for (std::size_t first = 0; first < columns_.size();) {
        std::size_t end = first + 1;
        std::size_t width = widths[first];
        while (!columns_[first].group.empty() && end < columns_.size() &&
               columns_[end].group == columns_[first].group) {
            width += space + widths[end++];
        }
        line += fmt::format("{}{:>{}}", first == 0 ? "" : std::string(space, ' '), columns_[first].group, width);
        first = end;
    }
    return trim_right(line);
}

std::string ColumnTable::text() const {
    std::vector<std::vector<std::string>> texts;
    std::vector<std::size_t> widths;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
        texts.push_back(format(column));
        std::size_t width = columns_[column].heading.size();
        for (const std::string &text : texts.back()) {
            const bool is_long = columns_[column].kind == ColumnKind::name && text.size() > widest_name;
            width = is_long ? width : std::max(width, text.size());
        }
        widths.push_back(width);
    }
    std::size_t all = 2 * (widths.size() - 1);
    for (const std::size_t width : widths) {
        all += width;
    }
    const std::size_t space = all > terminal_width ? 1 : 2; // between columns, so that they fit
    // A group is at least as wide as its heading.
    for (std::size_t last = 0; last < columns_.size(); ++last) {
        const std::string &group = columns_[last].group;
        if (group.empty() || (last + 1 < columns_.size() && columns_[last + 1].group == group)) {
            continue;
        }
        std::size_t width = widths[last];
        for (std::size_t i = last; i > 0 && columns_[i - 1].group == group; --i) {
            width += space + widths[i - 1];
        }
        widths[last] += group.size() > width ? group.size() - width : 0;
    }
    std::string above; // the last long name
    const auto line = [&](const std::vector<std::string> &entries) {
        std::string text;
        for (std::size_t column = 0; column < columns_.size(); ++column) {
            const bool is_name = columns_[column].kind == ColumnKind::name;
            text += column == 0 ? "" : std::string(space, ' ');
            if (is_name && entries[column].size() > widths[column]) {
                text += entries[column] == above ? "" : entries[column] + "\n";
                text += std::string(widths[column], ' ');
                above = entries[column];
            } else {
                text += is_name ? fmt::format("{:<{}}", entries[column], widths[column])
                                : fmt::format("{:>{}}", entries[column], widths[column]);
            }
        }
        return trim_right(text) + "\n";
    };
    const std::string groups = group_line(widths, space);
    std::string text = (groups.empty() ? "" : groups + "\n") + line(mapped(columns_, &Column::heading));
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        const auto entry = [&](const std::vector<std::string> &column) { return column[row]; };
        text += is_note(rows_[row]) ? std::get<std::string>(rows_[row].front()) + "\n" : line(mapped(texts, entry));
    }
    return text;
}

namespace {

constexpr std::size_t most_hosts_named = 4;

std::string ranks_line(const Context &context) {
    std::vector<std::string> hosts =
        mapped(context.hosts, [](const HostInfo &host) { return fmt::format("{} on {}", host.ranks, host.name); });
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

/// Algorithms whose evidence is the same share a line; files have the variables and their values, too.
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
    const double load = std::ranges::max(mapped(context.hosts, &HostInfo::load));
    return line_above("machine", fmt::format("{}, virtual machine: {}, governor: {}, load: {:.2f}", host.cpu_model,
                                             host.virtual_machine, host.governor, load));
}

/// Which samples count, unless the tolerance decides.
std::string late_line(const SamplingContext &context) {
    const StartLimits &starts = context.starts;
    const std::size_t ranks = context.ranks.size();
    if (std::isinf(starts.late)) {
        return line_above("",
                          fmt::format("a sample counts if at most {} of {} ranks have flag 0, however late they start",
                                      starts.late_of(ranks), ranks));
    }
    if (starts.flags_count && starts.late_ranks == 0.0) {
        return "";
    }
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
           (context.platform_model.empty() ? machine_line(context)
                                           : line_above(model_attribute, spaced(context.platform_model)));
}

std::string closing_lines(const std::vector<std::string> &warnings, const std::vector<std::string> &files) {
    const auto lines = [](const char *what, const std::vector<std::string> &texts) {
        return concatenated(texts, [&](const std::string &text) { return fmt::format("{}: {}\n", what, text); });
    };
    return "\n" + lines("warning", warnings) + lines("written", files);
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
           line_above("", fmt::format("at the end of the run {}", describe_agreement(agreement))) +
           (context.stamp_cost > 0.0
                ? line_above("", fmt::format("an empty pair of stamps takes {:.1f} ns, in steps of {:.1f} ns",
                                             context.stamp_cost * 1e9, context.clock_resolution * 1e9))
                : "") +
           line_above("samples", fmt::format("{} per cell, in blocks in random order, each after {} warm-up",
                                             context.stopping, context.warmup)) +
           line_above("", fmt::format("seed {}, tolerance {:.2f} us", context.seed, context.tolerance * 1e6)) +
           late_line(context) + algorithm_lines(context);
}

namespace {

/// The text for people, in the end.
class TextSink : public Sink {
public:
    explicit TextSink(const std::string &path) : output_(path) {}

    void open(const Context &, const Dataset &) override {}
    void row(const Rows &) override {}
    void close(const RunEnd &end) override { output_.finish(end.text); }

private:
    Output output_;
};

} // namespace

Format formats::table() {
    return {.name = "table",
            .description = "medians in microseconds, on standard output only",
            .on_stdout = true,
            .shows_warnings = true,
            .make = Make<TextSink>{},
            .text = cells_table};
}

Format formats::osu() {
    return {.name = "osu",
            .description =
                "header and columns of the OSU micro-benchmarks, for scripts that read them; standard output "
                "only",
            .on_stdout = true,
            .make = Make<TextSink>{},
            .text = osu_text,
            .of_cells_alone = true};
}

} // namespace bench
