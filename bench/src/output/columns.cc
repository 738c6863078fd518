#include "output/columns.h"

#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

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
    std::size_t width = 0;
    for (const auto &[name, meaning] : lines) {
        width = std::max(width, name.size());
    }
    std::string text;
    for (const auto &[name, meaning] : lines) {
        text += fmt::format("  {:<{}}  {}\n", name, width, fill(meaning, width + 4));
    }
    return text;
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
    std::vector<std::string> headings;
    for (const Column &column : columns_) {
        headings.push_back(column.heading);
    }
    const std::string groups = group_line(widths, space);
    std::string text = (groups.empty() ? "" : groups + "\n") + line(headings);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        std::vector<std::string> entries;
        for (const std::vector<std::string> &column : texts) {
            entries.push_back(column[row]);
        }
        text += is_note(rows_[row]) ? std::get<std::string>(rows_[row].front()) + "\n" : line(entries);
    }
    return text;
}

} // namespace bench
