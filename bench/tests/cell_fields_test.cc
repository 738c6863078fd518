#include "cells/cell_fields.h"

#include "files.h"
#include "fixture.h"
#include "metrics/metric.h"
#include "netcdf_reader.h"
#include "output/reporters/reporter_registry.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace bench {
namespace {

const std::string nasty_operation = R"(my_op(a,f("x"),7))";
const std::string nasty_error = "rank 1: \"5, 6\" instead of 7\nand more";

/// A cell of every text and number, with one wrong result.
CellResult result() {
    Cell cell = fixture_cells()[1];
    cell.operation = nasty_operation;
    cell.algorithm = "a,b";
    cell.barrier_algorithm = "tree \"b\"";
    cell.size_meaning = "from each rank";
    cell.delay = 0.25;
    CellRecord record(0, cell);
    for (const FixtureBatch &fixture : fixture_batches()) {
        if (fixture.cell == 1) {
            record.add(fixture.batch, fixture.verdicts);
        }
    }
    record.add_time(0.5);
    record.add_validation(3, 1, nasty_error);
    return record.summarize(*wanting(2));
}

/// Records of comma-separated values, by RFC 4180.
std::vector<std::vector<std::string>> parse_csv(const std::string &text) {
    std::vector<std::vector<std::string>> rows = {{""}};
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
            rows.back().back() += text[++i];
        } else if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            rows.back().emplace_back();
        } else if (c == '\n' && !quoted) {
            rows.push_back({""});
        } else {
            rows.back().back() += c;
        }
    }
    rows.pop_back(); // after the last line's end
    return rows;
}

class CellFields : public Files {
protected:
    std::string report(const std::string &reporter) const {
        const std::string file = path("cells." + reporter);
        const auto made = find_by_name(all_reporters(), reporter).make(file);
        made->begin(fixture_context(), {result().cell});
        made->cell(result());
        made->end({fixture_agreement(), {}});
        return file;
    }

    std::map<std::string, std::string> csv() const {
        const auto rows = parse_csv(read(report("csv")));
        EXPECT_EQ(rows.size(), 2U);
        EXPECT_EQ(rows.front().size(), rows.back().size());
        std::map<std::string, std::string> columns;
        for (std::size_t i = 0; i < rows.front().size(); ++i) {
            columns[rows.front()[i]] = rows.back().at(i);
        }
        return columns;
    }

    /// Context and cell.
    std::vector<nlohmann::json> json() const {
        std::istringstream lines(read(report("json")));
        std::vector<nlohmann::json> records;
        for (std::string line; std::getline(lines, line);) {
            records.push_back(nlohmann::json::parse(line));
        }
        return records;
    }
};

void expect_number(double actual, double expected, const std::string &name) {
    EXPECT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected)))
        << name << ": " << actual << ", " << expected;
}

TEST_F(CellFields, HaveOneNameAndOneMeaningEach) {
    std::set<std::string> names;
    for (const CellField &field : cell_columns()) {
        EXPECT_TRUE(names.insert(field.name).second) << field.name;
        EXPECT_FALSE(field.meaning.empty()) << field.name;
    }
    EXPECT_EQ(cell_columns().size(), cell_fields().size() + all_metrics().size() * statistics().size());
}

TEST_F(CellFields, AreTheSameInEveryKindOfFile) {
    const auto columns = csv();
    const auto records = json();
    const Reader reader(report("netcdf"));
    const CellResult expected = result();
    EXPECT_EQ(columns.size(), 1 + cell_columns().size()); // "cell" is the first
    EXPECT_EQ(records[1].size(), 4 + cell_fields().size()) << "schema_version, record, cell, metrics";
    EXPECT_EQ(records[0]["variables"].size(), cell_fields().size());
    for (const CellField &field : cell_columns()) {
        SCOPED_TRACE(field.name);
        const std::string column = field.name + (field.unit.empty() ? "" : "_" + field.unit);
        ASSERT_EQ(columns.count(column), 1U) << column;
        EXPECT_EQ(reader.attribute("long_name", field.name), field.meaning);
        if (!field.unit.empty()) {
            EXPECT_EQ(reader.attribute("units", field.name), field.unit);
        }
        const FieldValue value = field.value(expected);
        EXPECT_EQ(value.index(), static_cast<std::size_t>(field.type));
        if (const auto *text = std::get_if<std::string>(&value)) {
            EXPECT_EQ(columns.at(column), *text);
            EXPECT_EQ(reader.texts(field.name), std::vector<std::string>{*text});
        } else if (const auto *status = std::get_if<CellStatus>(&value)) {
            EXPECT_EQ(columns.at(column), to_string(*status));
            EXPECT_EQ(reader.numbers(field.name), std::vector<double>{static_cast<double>(*status)});
            EXPECT_EQ(reader.attribute("flag_meanings", field.name), "ok incomplete failed wrong");
        } else {
            const auto *count = std::get_if<std::int64_t>(&value);
            const double number = count != nullptr ? static_cast<double>(*count) : std::get<double>(value);
            const std::string &written = columns.at(column);
            expect_number(written.empty() ? none : std::stod(written), number, column);
            expect_number(reader.numbers(field.name).at(0), number, field.name);
        }
    }
    for (const CellField &field : cell_fields()) {
        SCOPED_TRACE(field.name);
        EXPECT_EQ(records[0]["variables"][field.name]["unit"], field.unit);
        EXPECT_EQ(records[0]["variables"][field.name]["meaning"], field.meaning);
        const nlohmann::json &written = records[1].at(field.name);
        const std::string column = field.name + (field.unit.empty() ? "" : "_" + field.unit);
        if (written.is_string()) {
            EXPECT_EQ(written, columns.at(column));
        } else {
            expect_number(written.is_null() ? none : written.get<double>(),
                          columns.at(column).empty() ? none : std::stod(columns.at(column)), field.name);
        }
    }
}

TEST_F(CellFields, MetricsSayTheirUnitsAndMeanings) {
    const auto records = json();
    EXPECT_EQ(records[0]["metrics"].size(), all_metrics().size());
    for (const Metric &metric : all_metrics()) {
        const nlohmann::json &about = records[0]["metrics"][metric.name];
        EXPECT_EQ(about["unit"], metric.unit);
        EXPECT_EQ(about["meaning"], metric.description);
        EXPECT_EQ(about["error_bounds"], metric.error_bounds);
    }
}

TEST_F(CellFields, TextsWithQuotesAndCommasSurviveInCsv) {
    const auto columns = csv();
    EXPECT_EQ(columns.at("operation"), nasty_operation);
    EXPECT_EQ(columns.at("algorithm"), "a,b");
    EXPECT_EQ(columns.at("barrier_algorithm"), "tree \"b\"");
    EXPECT_EQ(columns.at("error"), nasty_error);
    EXPECT_EQ(columns.at("status"), "wrong");

    Dataset data;
    data.title = "texts";
    data.dimensions = {{"operation", 1}};
    data.variables = {{"operation", {"operation"}, "names", "", std::vector<std::string>{nasty_operation}},
                      {"error", {"operation"}, "what was wrong", "", std::vector<std::string>{nasty_error}}};
    SamplingContext context = fixture_context();
    context.ranks = {{"host, \"the\" first", "0,2", 1}};
    add_ranks(data, context);
    find_by_name(all_reporters(), "csv").make(path("texts.csv"))->findings(context, {data, "", {}});
    std::set<std::string> cells;
    for (const auto &row : parse_csv(read(path("texts.csv")))) {
        cells.insert(row.begin(), row.end());
    }
    for (const std::string &text : {nasty_operation, nasty_error, context.ranks[0].host, context.ranks[0].cpuset}) {
        EXPECT_EQ(cells.count(text), 1U) << text;
    }
}

TEST_F(CellFields, ALongErrorIsCutInNetcdfAlone) {
    CellResult wrong = result();
    wrong.error.assign(1000, 'x');
    const std::string file = path("long.nc");
    const auto reporter = find_by_name(all_reporters(), "netcdf").make(file);
    reporter->begin(fixture_context(), {wrong.cell});
    reporter->cell(wrong);
    reporter->end({fixture_agreement(), {}});
    EXPECT_EQ(Reader(file).texts("error"), std::vector<std::string>{std::string(200, 'x')});
}

TEST_F(CellFields, LongNamesAreWhole) {
    Cell cell = fixture_cells()[0];
    cell.operation = "my_op(" + std::string(300, 'x') + ")";
    const std::string file = path("names.nc");
    const auto reporter = find_by_name(all_reporters(), "netcdf").make(file);
    reporter->begin(fixture_context(), {cell});
    reporter->end({fixture_agreement(), {}});
    EXPECT_EQ(Reader(file).texts("operation"), std::vector<std::string>{cell.operation});
}

} // namespace
} // namespace bench
