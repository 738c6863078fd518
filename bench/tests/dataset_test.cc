#include "files.h"
#include "fixture.h"
#include "output/dataset.h"
#include "output/sink.h"
#include "rules/histogram.h"
#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

namespace bench {
namespace {

std::vector<double> count_to(int last) {
    std::vector<double> values(static_cast<std::size_t>(last) + 1);
    std::iota(values.begin(), values.end(), 0.0);
    return values;
}

TEST(Histogram, CountsInUniformBinsUpToTheQuantile) {
    const Histogram histogram = make_histogram(count_to(100), 4, 0.8, 1e-9);
    EXPECT_EQ(histogram.low, 0.0);
    EXPECT_EQ(histogram.high, 80.0);
    EXPECT_EQ(histogram.width(), 20.0);
    EXPECT_EQ(histogram.counts, (std::vector<std::size_t>{20, 20, 20, 21})); // 80 itself is in the last bin
    EXPECT_EQ(histogram.overflow, 20U);
}

TEST(Histogram, EveryValueIsCountedOnce) {
    const std::vector<double> values = {0.271, 0.28, 0.28, 0.3, 0.31, 0.5, 12050.0};
    for (const double quantile : {0.0, 0.5, 0.99, 1.0}) {
        const Histogram histogram = make_histogram(values, 200, quantile, 1e-3);
        EXPECT_EQ(std::accumulate(histogram.counts.begin(), histogram.counts.end(), histogram.overflow), 7U);
    }
}

TEST(Histogram, ValuesThatAreAllAlikeFillTheFirstBin) {
    const Histogram histogram = make_histogram(std::vector<double>(5, 2.0), 10, 0.99, 0.5);
    EXPECT_EQ(histogram.counts.front(), 5U);
    EXPECT_EQ(histogram.overflow, 0U);
    EXPECT_EQ(histogram.width(), 0.5);
}

TEST(Histogram, RoundingTakesNoValueOffTheEdgeOfItsBin) {
    std::vector<double> ticks; // 210 to 410 ns in bins of one; 210e-9 + 200e-9 is less than 410 * 1e-9
    for (int tick = 210; tick <= 410; ++tick) {
        ticks.push_back(tick * 1e-9);
    }
    const Histogram histogram = make_histogram(ticks, 200, 0.0, 1e-9);
    std::vector<std::size_t> expected(200, 1);
    expected.back() = 2;
    EXPECT_EQ(histogram.counts, expected);
    EXPECT_EQ(histogram.overflow, 0U);
}

Dataset dataset() {
    Dataset data;
    data.title = "a title";
    data.dimensions = {{"scheme", 2}, {"repetition", 3}};
    data.add({"scheme", "", "names", FieldType::text}, {"scheme"}, std::vector<std::string>{"a(x=1,y=\"2\")", "b"});
    data.add({"duration", "s", "how long"}, {"scheme", "repetition"},
             std::vector<double>{0.5, 0.25, none, 1.0, 2.0, 3.0});
    data.add({"count", "", "how many", FieldType::count}, {"scheme", "repetition"},
             std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
    data.add({"median", "s", "of duration"}, {"scheme"}, std::vector<double>{0.375, 2.0});
    data.attributes = context_values(static_cast<const Context &>(fixture_context()));
    add_ranks(data, fixture_context());
    data.add({"note", "", "for people", FieldType::text, {"", "note", ColumnKind::name}}, {"scheme"},
             std::vector<std::string>{"first", "second"});
    data.variables.back().in = Variable::In::text;
    return data;
}

class Datasets : public Files {
protected:
    std::string write(const std::string &format, const std::string &name) const {
        const Dataset data = dataset();
        const auto sink = find_by_name(all_formats(), format).make(path(name));
        write_dataset(*sink, fixture_context(), data, {std::nullopt, {"something was seen"}, ""});
        return path(name);
    }
};

TEST_F(Datasets, ElementsAreFoundByTheirIndices) {
    const Dataset data = dataset();
    const std::vector<std::string> along = {"scheme", "repetition"};
    EXPECT_EQ(data.unravel(along, 5), (std::vector<std::size_t>{1, 2}));
    EXPECT_EQ(data.unravel(along, 2), (std::vector<std::size_t>{0, 2}));
    EXPECT_EQ(data.size(along), 6U);
}

TEST_F(Datasets, VariablesOfTheSameDimensionsAreOneTable) {
    const Dataset data = dataset();
    const auto tables = data.tables();
    ASSERT_EQ(tables.size(), 3U);
    EXPECT_EQ(tables[0].size(), 2U);
    EXPECT_EQ(data.variables[tables[1].front()].name, "median");
    EXPECT_EQ(data.variables[tables[2].front()].name, "host");
    EXPECT_EQ(data.tables(Variable::In::text)[1].size(), 2U); // with the note
}

TEST_F(Datasets, CsvHasATableAfterTheOther) {
    const std::string text = read(write("csv", "dataset.csv"));
    EXPECT_TRUE(text.starts_with("scheme,repetition,duration_s,count\n\"a(x=1,y=\"\"2\"\")\",0,0.5,1\n")) << text;
    EXPECT_NE(text.find(",2,,3\n"), std::string::npos) << text; // NaN
    EXPECT_NE(text.find("\n\nscheme,median_s\n"), std::string::npos) << text;
    EXPECT_NE(text.find("\nb,2\n\nrank,host,cpuset\n0,node1,0\n1,node1,1\n"), std::string::npos) << text;
}

TEST_F(Datasets, JsonHasARecordPerRow) {
    std::istringstream lines(read(write("json", "dataset.json")));
    std::vector<nlohmann::json> records;
    for (std::string line; std::getline(lines, line);) {
        records.push_back(nlohmann::json::parse(line));
    }
    ASSERT_EQ(records.size(), 1U + 6U + 2U + 2U + 1U);
    EXPECT_EQ(records[0]["title"], "a title");
    EXPECT_EQ(records[0]["variables"]["duration"]["unit"], "s");
    EXPECT_EQ(records[6]["scheme"], "b");
    EXPECT_EQ(records[6]["repetition"], 2);
    EXPECT_EQ(records[6]["duration"], 3.0);
    EXPECT_TRUE(records[3]["duration"].is_null());
    EXPECT_EQ(records.back()["warnings"][0], "something was seen");
}

TEST_F(Datasets, Netcdf) {
    const Reader reader(write("netcdf", "out.nc"));
    EXPECT_EQ(reader.format(), NC_FORMAT_CDF5);
    EXPECT_EQ(reader.texts("scheme"), (std::vector<std::string>{"a(x=1,y=\"2\")", "b"}));
    EXPECT_EQ(reader.texts("host"), (std::vector<std::string>{"node1", "node1"}));
    const std::vector<double> duration = reader.numbers("duration");
    EXPECT_EQ(duration[1], 0.25);
    EXPECT_TRUE(std::isnan(duration[2]));
    EXPECT_EQ(duration[5], 3.0);
    EXPECT_EQ(reader.numbers("count"), (std::vector<double>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(reader.numbers("rank"), (std::vector<double>{0, 1}));
    EXPECT_EQ(reader.attribute("units", "duration"), "s");
    EXPECT_EQ(reader.attribute("long_name", "median"), "of duration");
    EXPECT_EQ(reader.attribute("title"), "a title");
    EXPECT_EQ(reader.attribute("clock_sync"), "hca3_offset");
    EXPECT_EQ(reader.attribute("seed"), "7");
    EXPECT_EQ(reader.attribute("warnings"), "something was seen");
}

TEST_F(Datasets, OfSubcommandClockAreConsistent) {
    SamplingContext context = fixture_context();
    context.ranks.push_back({"node2", "0", 1});
    const ClockResults results = clock_fixture();
    const Dataset data = clock_dataset(context, results, summarize_clocks(results));
    for (const Variable &variable : data.variables) {
        EXPECT_EQ(size_of(variable.values), data.size(variable.dimensions)) << variable.name;
        EXPECT_FALSE(variable.meaning.empty()) << variable.name;
    }
    const auto find = [&](const std::string &name) {
        return *std::find_if(data.variables.begin(), data.variables.end(),
                             [&](const Variable &variable) { return variable.name == name; });
    };
    // [scheme][repetition][wait][rank]
    EXPECT_EQ(std::get<std::vector<double>>(find("true_error").values)[((1 * 2 + 1) * 2 + 1) * 3 + 2], 11e-6);
    EXPECT_EQ(std::get<std::vector<std::int64_t>>(find("checked").values), (std::vector<std::int64_t>{0, 0, 1}));
    EXPECT_EQ(std::get<std::vector<std::int64_t>>(find("on_front").values), (std::vector<std::int64_t>{1, 1, 0}));
}

} // namespace
} // namespace bench
