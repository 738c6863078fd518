#include "clock_fixture.h"
#include "files.h"
#include "fixture.h"
#include "netcdf_reader.h"
#include "output/reporters/reporter_registry.h"
#include "text/names.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace bench {
namespace {

Dataset dataset() {
    Dataset data;
    data.title = "a title";
    data.dimensions = {{"scheme", 2}, {"repetition", 3}};
    data.variables = {
        {"scheme", {"scheme"}, "names", "", std::vector<std::string>{"a(x=1,y=\"2\")", "b"}},
        {"duration", {"scheme", "repetition"}, "how long", "s", std::vector<double>{0.5, 0.25, none, 1.0, 2.0, 3.0}},
        {"count", {"scheme", "repetition"}, "how many", "", std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}},
        {"median", {"scheme"}, "of duration", "s", std::vector<double>{0.375, 2.0}}};
    data.attributes = {{"rounds", 10L}, {"wait_s", 5.0}};
    add_ranks(data, fixture_context());
    return data;
}

class Datasets : public Files {
protected:
    std::string write(const std::string &format, const std::string &name) const {
        find_by_name(all_reporters(), format)
            .make(path(name))
            ->findings(fixture_context(), {dataset(), "", {"something was seen"}});
        return path(name);
    }
};

TEST_F(Datasets, ElementsAreFoundByTheirIndices) {
    const Dataset data = dataset();
    EXPECT_EQ(unravel(data, data.variables[1], 5), (std::vector<std::size_t>{1, 2}));
    EXPECT_EQ(unravel(data, data.variables[1], 2), (std::vector<std::size_t>{0, 2}));
    EXPECT_EQ(data.size(data.variables[1]), 6U);
}

TEST_F(Datasets, VariablesOfTheSameDimensionsAreOneTable) {
    const Dataset data = dataset();
    const auto tables = data.tables();
    ASSERT_EQ(tables.size(), 3U);
    EXPECT_EQ(tables[0].size(), 2U);
    EXPECT_EQ(tables[1].front()->name, "median");
    EXPECT_EQ(tables[2].front()->name, "host");
}

TEST_F(Datasets, Csv) { expect_golden(read(write("csv", "dataset.csv")), "dataset.csv"); }

TEST_F(Datasets, Json) { expect_golden(read(write("json", "dataset.json")), "dataset.json"); }

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
    const Dataset data = clock_dataset(context, results, summarize(results));
    for (const Variable &variable : data.variables) {
        const std::size_t size = std::visit([](const auto &values) { return values.size(); }, variable.values);
        EXPECT_EQ(size, data.size(variable)) << variable.name;
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
