// Lays out tables and legends, and writes the lines around them (table.h).
#include "output/table.h"

#include "output/output.h"
#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace bench {
namespace {

constexpr std::size_t max_name_width = 22; // a longer name is on a line of its own
constexpr std::size_t max_inner_rows = 11; // rows along the last dimension of a table with two or more

/// The format of the numbers of a column.
struct NumberFormat {
    double factor;         // by which a number is multiplied before it is shown
    int decimals;          // number of decimals that are shown
    const char *unit = ""; // unit of the shown number, for the legend
};

/// The format of the numbers of a column. `is_below_1`: a value of the column is below 1 us.
NumberFormat format_of(ColumnKind kind, bool is_below_1) {
    switch (kind) {
    case ColumnKind::microseconds:
        return {1e6, is_below_1 ? 3 : 2, " [us]"};
    case ColumnKind::percent:
        return {1e2, 1};
    case ColumnKind::ppm:
        return {1e6, 4, " [ppm]"};
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

/// The number of an entry; NaN for a text.
double number_of(const ColumnEntry &entry) {
    const double *const number = std::get_if<double>(&entry);
    return number == nullptr ? std::nan("") : *number;
}

std::string trim_right(const std::string &line) { return line.substr(0, line.find_last_not_of(' ') + 1); }

/// The width of a block of columns.
std::size_t total(const std::vector<std::size_t> &block, const std::vector<std::size_t> &widths, std::size_t space) {
    std::size_t sum = space * (block.size() - 1);
    for (const std::size_t column : block) {
        sum += widths[column];
    }
    return sum;
}

} // namespace

ColumnEntry entry_of(const Value &value, const Field &field) {
    if (const auto *const text = std::get_if<std::string>(&value)) {
        return *text;
    }
    if (const auto *const number = std::get_if<double>(&value)) {
        return *number;
    }
    const std::int64_t count = std::get<std::int64_t>(value);
    if (!field.flags.empty()) {
        return field.flags.at(static_cast<std::size_t>(count));
    }
    return static_cast<double>(count);
}

Column column_of(const Field &field) {
    Column column = field.column;
    if (column.legend.empty() && column.kind != ColumnKind::name) {
        column.legend = field.meaning;
    }
    return column;
}

std::vector<std::string> ColumnTable::format(std::size_t column) const {
    const bool is_below_1 = std::ranges::any_of(rows_, [&](const std::vector<ColumnEntry> &row) {
        const double value = row.empty() ? 0.0 : number_of(row[column]); // false if it is NaN
        return value != 0.0 && std::abs(value) < 1e-6;
    });
    const NumberFormat format = format_of(columns_[column].kind, is_below_1);
    return mapped(rows_, [&](const std::vector<ColumnEntry> &row) -> std::string {
        if (row.empty()) {
            return "";
        }
        if (const auto *text = std::get_if<std::string>(&row[column])) {
            return *text;
        }
        const double number = number_of(row[column]);
        return std::isnan(number) ? "-" : fmt::format("{:.{}f}", format.factor * number, format.decimals);
    });
}

std::vector<ColumnTable::Block> ColumnTable::blocks(const std::vector<std::size_t> &widths, std::size_t space) const {
    Block block;
    std::vector<Block> result;
    for (std::size_t first = 0; first < columns_.size();) {
        std::size_t end = first + 1; // end of the keys, or of a group, which must stay together
        while (end < columns_.size() &&
               (end < keys_ || (!columns_[first].group.empty() && columns_[end].group == columns_[first].group))) {
            ++end;
        }
        Block longer = block;
        for (; first < end; ++first) {
            if (columns_[first].kind != ColumnKind::note) {
                longer.push_back(first);
            }
        }
        if (block.size() > keys_ && total(longer, widths, space) > terminal_width) {
            result.push_back(block);
            longer.erase(longer.begin() + static_cast<std::ptrdiff_t>(keys_),
                         longer.begin() + static_cast<std::ptrdiff_t>(block.size()));
        }
        block = std::move(longer);
    }
    result.push_back(block);
    return result;
}

std::string ColumnTable::block_text(const Block &block, const std::vector<std::vector<std::string>> &texts,
                                    std::vector<std::size_t> widths, std::size_t space, bool with_notes) const {
    std::string groups; // line with the headings of groups; widens a group that is narrower than its heading
    for (std::size_t first = 0; first < block.size();) {
        const std::string &group = columns_[block[first]].group;
        std::size_t end = first + 1;
        while (!group.empty() && end < block.size() && columns_[block[end]].group == group) {
            ++end;
        }
        const Block members(block.begin() + static_cast<std::ptrdiff_t>(first),
                            block.begin() + static_cast<std::ptrdiff_t>(end));
        const std::size_t width = total(members, widths, space);
        widths[members.back()] += group.size() > width ? group.size() - width : 0;
        groups +=
            fmt::format("{}{:>{}}", first == 0 ? "" : std::string(space, ' '), group, std::max(group.size(), width));
        first = end;
    }
    groups = trim_right(groups);
    std::vector<std::string> above(columns_.size()); // the last long name of each column, which is not repeated
    // The line with the text `entry(column)` in each column. A name that does not fit is on a line of its own.
    const auto line = [&](const auto &entry) {
        std::string text;
        std::size_t position = 0;
        for (const std::size_t column : block) {
            const std::string word = entry(column);
            const bool is_name = columns_[column].kind == ColumnKind::name;
            text += position == 0 ? "" : std::string(space, ' ');
            position += position == 0 ? 0 : space;
            if (is_name && word.size() > widths[column]) {
                text += word == above[column] ? "" : word + "\n" + std::string(position, ' ');
                text += std::string(widths[column], ' ');
                above[column] = word;
            } else {
                above[column].clear();
                text +=
                    is_name ? fmt::format("{:<{}}", word, widths[column]) : fmt::format("{:>{}}", word, widths[column]);
            }
            position += widths[column];
        }
        return trim_right(text) + "\n";
    };
    std::string text = groups.empty() ? "" : groups + "\n";
    text += line([&](std::size_t column) { return columns_[column].heading; });
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        text += line([&](std::size_t column) { return texts[column][row]; });
        for (std::size_t column = 0; column < columns_.size(); ++column) {
            if (columns_[column].kind == ColumnKind::note && !texts[column][row].empty() && with_notes) {
                text += fmt::format("    {}\n", fill(texts[column][row], 4));
            }
        }
    }
    return text;
}

std::string ColumnTable::text() const {
    std::vector<std::vector<std::string>> texts;
    std::vector<std::size_t> widths;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
        texts.push_back(format(column));
        widths.push_back(columns_[column].heading.size());
        for (const std::string &text : texts.back()) {
            const bool is_long = columns_[column].kind == ColumnKind::name && text.size() > max_name_width;
            widths.back() = is_long ? widths.back() : std::max(widths.back(), text.size());
        }
    }
    const std::size_t space = blocks(widths, 2).size() == 1 ? 2 : 1;
    std::string text;
    for (const Block &block : blocks(widths, space)) {
        text += (text.empty() ? "" : "\n") + block_text(block, texts, widths, space, text.empty());
    }
    return text;
}

std::string legend_of(const std::vector<Column> &columns) {
    std::vector<std::pair<std::string, std::string>> lines;
    for (const Column &column : columns) {
        const std::string meaning = column.legend + format_of(column.kind, false).unit;
        if (column.legend.empty() || column.kind == ColumnKind::note ||
            std::ranges::find(lines, meaning, &std::pair<std::string, std::string>::second) != lines.end()) {
            continue;
        }
        const auto in_group = std::ranges::count(columns, column.group, &Column::group);
        const bool shared = in_group > 1 && in_group == std::ranges::count_if(columns, [&](const Column &member) {
                                                return member.group == column.group && member.legend == column.legend;
                                            });
        std::string name = column.heading;
        if (!column.group.empty()) {
            name = shared ? column.group : column.group + " " + column.heading;
        }
        lines.emplace_back(name, meaning);
    }
    std::size_t width = 0;
    for (const auto &[name, meaning] : lines) {
        width = std::max(width, name.size());
    }
    return concatenated(lines, [&](const auto &line) {
        return fmt::format("  {:<{}}  {}\n", line.first, width, fill(line.second, width + 4));
    });
}

std::string line_above(const std::string &name, const std::string &value) {
    constexpr std::size_t indent = 16;
    return fmt::format("  {:<{}}{}\n", name, indent - 2, fill(value, indent));
}

std::string line_of_values(const std::string &name, const ContextValues &values,
                           const std::vector<Attribute> &attributes) {
    std::vector<std::string> words;
    for (const auto &[attribute, value] : values) {
        const std::string &unit = find_by_name(attributes, attribute).unit;
        std::string label = unit.empty() ? attribute : attribute.substr(0, attribute.rfind("_" + unit));
        std::ranges::replace(label, '_', ' ');
        const double *const number = std::get_if<double>(&value);
        const bool is_small = number != nullptr && unit == "s" && *number != 0.0 && std::abs(*number) < 1e-3;
        const std::string text = number != nullptr
                                     ? fmt::format("{:.4g}", *number)
                                     : std::visit([](const auto &typed) { return fmt::format("{}", typed); }, value);
        words.push_back(is_small ? fmt::format("{} {:.3f} us", label, *number * 1e6)
                                 : fmt::format("{} {}{}{}", label, text, unit.empty() ? "" : " ", unit));
    }
    return line_above(name, join(words));
}

std::string table_head(const Context &context) {
    constexpr std::size_t max_hosts = 4;
    std::vector<std::string> hosts =
        mapped(context.hosts, [](const HostInfo &host) { return fmt::format("{} on {}", host.ranks, host.name); });
    if (hosts.size() > max_hosts) {
        hosts.resize(max_hosts);
        hosts.emplace_back("...");
    }
    const bool bound = std::ranges::all_of(context.ranks, [](const RankPlace &rank) { return rank.cores <= 1; });
    const HostInfo &host = context.hosts.front();
    const double load = std::ranges::max(mapped(context.hosts, &HostInfo::load));
    return fmt::format("downbeat-bench {} ({}), {}\n", context.version, context.revision, context.date) +
           line_above("MPI", fmt::format("{} (MPI {})", short_mpi_library(context.mpi_library), context.mpi_standard)) +
           line_above("ranks", fmt::format("{} ({}), {}", context.ranks.size(), join(hosts),
                                           bound ? "bound to cores" : "not bound to cores")) +
           (context.platform_model.empty()
                ? line_above("machine", fmt::format("{}, virtual machine: {}, governor: {}, load: {:.2f}",
                                                    host.cpu_model, host.virtual_machine, host.governor, load))
                : line_above(model_attribute,
                             join(split(context.platform_model)))); // with spaces, at which lines can wrap
}

std::string clock_lines(const Context &context, const ClockAgreement &agreement) {
    return line_above("clock", fmt::format("{}, synchronized by {}, error bound {:.3f} us, expected error {:.3f} us",
                                           clock_setting(context, "clock"), clock_setting(context, "sync"),
                                           context.error_bound * 1e6, context.expected_error * 1e6)) +
           line_above("clock check", describe_agreement(agreement));
}

std::string dataset_tables(const Dataset &data) {
    std::string text;
    std::vector<Column> explained; // columns of all tables, for the legend
    for (const std::vector<std::size_t> &table : data.tables(Variable::In::text)) {
        const std::vector<std::string> along = data.variables[table.front()].dimensions;
        std::vector<Column> columns;
        std::vector<std::size_t> key_dimensions;
        for (std::size_t d = 0; d < along.size(); ++d) {
            if (const Variable *const names = data.coordinates(along[d])) {
                const bool is_text = names->type == FieldType::text;
                columns.push_back({"", names->name + (names->unit.empty() ? "" : " [" + names->unit + "]"),
                                   is_text ? ColumnKind::name : ColumnKind::text});
                key_dimensions.push_back(d);
            }
        }
        std::vector<std::size_t> shown = table;
        std::erase_if(shown, [&](std::size_t index) { return data.variables[index].column.heading.empty(); });
        if (shown.empty()) {
            continue;
        }
        for (const std::size_t index : shown) {
            columns.push_back(column_of(data.variables[index]));
        }
        const std::size_t inner = along.size() == 1 ? 1 : data.length(along.back()); // length of the last dimension
        const std::size_t rows = std::min(inner, max_inner_rows);                    // rows shown along it
        ColumnTable lines(columns, std::max<std::size_t>(key_dimensions.size(), 1));
        for (std::size_t row = 0; row < data.size(along) / inner * rows; ++row) {
            const std::size_t i = row % rows;
            // The element of the row: at equal distances along the last dimension, from the first to the last.
            const std::size_t at = row / rows * inner + (rows == 1 ? 0 : i * (inner - 1) / (rows - 1));
            const std::vector<Value> labels = data.labels(along, at, 0);
            std::vector<ColumnEntry> entries;
            for (const std::size_t d : key_dimensions) {
                const double *const number = std::get_if<double>(&labels[d]);
                entries.emplace_back(
                    number != nullptr
                        ? fmt::format("{}", std::round(*number * 1e4) / 1e4)
                        : std::visit([](const auto &typed) { return fmt::format("{}", typed); }, labels[d]));
            }
            for (const std::size_t index : shown) {
                entries.push_back(entry_of(element(data.variables[index].values, at), data.variables[index]));
            }
            lines.add(std::move(entries));
        }
        text += fmt::format(
            "\n{}{}", lines.text(),
            rows == inner ? "" : fmt::format("{} of {} along {}; files have all\n", rows, inner, along.back()));
        explained.insert(explained.end(), columns.begin(), columns.end());
    }
    return text + "\n" + legend_of(explained);
}

std::string closing_lines(const RunEnd &end, const std::vector<std::string> &files) {
    const auto lines = [](const char *name, const std::vector<std::string> &texts) {
        return concatenated(texts, [&](const std::string &text) { return fmt::format("{}: {}\n", name, text); });
    };
    return "\n" + lines("warning", end.warnings) + lines("written", files);
}

namespace {

/// Writes RunEnd::text.
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
            .only_for_cells = true};
}

} // namespace bench
