#include "output/sink.h"

#include "files.h"
#include "fixture.h"
#include "rules/metric.h"

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
    return record.result(*wanting(2));
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
    std::string report(const std::string &format, const CellResult &cell = result()) const {
        const std::string file = path("cells." + format);
        LaunchWriter writer = writer_of(find_by_name(all_formats(), format), file, {cell.cell});
        writer.cell(cell);
        writer.end({fixture_agreement(), {}, ""});
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

/// Statistics of metrics are not in netCDF, which has every sample.
bool is_field(const std::string &name) { return contains(names_of(cell_fields()), name); }

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
    EXPECT_EQ(records[1].size(), 4 + cell_columns().size()) << "schema_version, record, dimensions, cell";
    EXPECT_EQ(records[0]["variables"].size(), cell_columns().size());
    for (const CellField &field : cell_columns()) {
        SCOPED_TRACE(field.name);
        const std::string column = field.name + (field.unit.empty() ? "" : "_" + field.unit);
        ASSERT_EQ(columns.count(column), 1U) << column;
        EXPECT_EQ(records[0]["variables"][field.name]["unit"], field.unit);
        EXPECT_EQ(records[0]["variables"][field.name]["meaning"], field.meaning);
        const Value value = value_of<CellResult>(field, expected);
        const nlohmann::json &written = records[1].at(field.name);
        if (const auto *text = std::get_if<std::string>(&value)) {
            EXPECT_EQ(columns.at(column), *text);
            EXPECT_EQ(written, *text);
            EXPECT_EQ(reader.texts(field.name), std::vector<std::string>{*text});
        } else if (!field.flags.empty()) {
            const std::int64_t flag = std::get<std::int64_t>(value);
            EXPECT_EQ(columns.at(column), field.flags[static_cast<std::size_t>(flag)]);
            EXPECT_EQ(written, field.flags[static_cast<std::size_t>(flag)]);
            EXPECT_EQ(reader.numbers(field.name), std::vector<double>{static_cast<double>(flag)});
            EXPECT_EQ(reader.attribute("flag_meanings", field.name), join(field.flags, " "));
        } else {
            const auto *count = std::get_if<std::int64_t>(&value);
            const double number = count != nullptr ? static_cast<double>(*count) : std::get<double>(value);
            const std::string &in_csv = columns.at(column);
            expect_number(in_csv.empty() ? none : std::stod(in_csv), number, column);
            expect_number(written.is_null() ? none : written.get<double>(), number, field.name);
            if (is_field(field.name)) {
                expect_number(reader.numbers(field.name).at(0), number, field.name);
            }
        }
        if (is_field(field.name)) {
            EXPECT_EQ(reader.attribute("long_name", field.name), field.meaning);
            if (!field.unit.empty()) {
                EXPECT_EQ(reader.attribute("units", field.name), field.unit);
            }
        }
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
    data.add({"operation", "", "names", FieldType::text}, {"operation"}, std::vector<std::string>{nasty_operation});
    data.add({"error", "", "what was wrong", FieldType::text}, {"operation"}, std::vector<std::string>{nasty_error});
    SamplingContext context = fixture_context();
    context.ranks = {{"host, \"the\" first", "0,2", 1}};
    add_ranks(data, context);
    const auto sink = find_by_name(all_formats(), "csv").make(path("texts.csv"));
    write_dataset(*sink, context, data, {});
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
    EXPECT_EQ(Reader(report("netcdf", wrong)).texts("error"), std::vector<std::string>{std::string(200, 'x')});
}

TEST_F(CellFields, LongNamesAreWhole) {
    Cell cell = fixture_cells()[0];
    cell.operation = "my_op(" + std::string(300, 'x') + ")";
    CellResult named = result();
    named.cell = cell;
    EXPECT_EQ(Reader(report("netcdf", named)).texts("operation"), std::vector<std::string>{cell.operation});
}

} // namespace
} // namespace bench
