#include "files.h"
#include "fixture.h"
#include "output/sinks/format.h"
#include "text/error.h"

#include <fstream>
#include <gtest/gtest.h>
#include <otf2/otf2.h>

namespace bench {
namespace {

/// The anchor file and the definitions. tests/bench reads the events.
class Archive {
public:
    explicit Archive(const std::string &path) : reader_(OTF2_Reader_Open(path.c_str())) {}
    ~Archive() { OTF2_Reader_Close(reader_); }
    Archive(const Archive &) = delete;
    Archive &operator=(const Archive &) = delete;

    std::uint64_t locations() const {
        std::uint64_t number = 0;
        EXPECT_EQ(OTF2_Reader_GetNumberOfLocations(reader_, &number), OTF2_SUCCESS);
        return number;
    }

    std::string property(const char *name) const {
        char *value = nullptr;
        EXPECT_EQ(OTF2_Reader_GetProperty(reader_, name, &value), OTF2_SUCCESS) << name;
        const std::string text = value == nullptr ? "" : value;
        std::free(value);
        return text;
    }

private:
    OTF2_Reader *reader_;
};

class Otf2 : public Files {
protected:
    std::string report(const std::vector<FixtureBatch> &batches, long trace_samples,
                       const std::string &simulated = "") const {
        const std::string file = path("out.otf2");
        const auto trace = find_format(file).make_trace(file);
        SamplingContext context = fixture_context();
        context.trace_samples = trace_samples;
        context.simulated = simulated;
        trace->begin(context, fixture_cells());
        for (const FixtureBatch &fixture : batches) {
            trace->samples({fixture.cell, 0, 0, fixture.batch, fixture.verdicts, 0x1p-23});
        }
        trace->end();
        return file;
    }
};

TEST_F(Otf2, HasALocationPerRankAndSaysWhatItLeavesOut) {
    const Archive archive(report(fixture_batches(), 1)); // nine samples of four cells
    EXPECT_EQ(archive.locations(), 2U);
    EXPECT_EQ(archive.property("DOWNBEAT::SAMPLES_LEFT_OUT"), "5");
    EXPECT_EQ(archive.property("DOWNBEAT::WARMUP_LEFT_OUT"), "0");
    EXPECT_EQ(archive.property("DOWNBEAT::EVENTS_MOVED"), "0");
}

TEST_F(Otf2, SaysThatItWasSimulated) {
    EXPECT_EQ(Archive(report(fixture_batches(), 1, "cluster(nodes=2)")).property("DOWNBEAT::SIMULATED"),
              "cluster(nodes=2)");
}

TEST_F(Otf2, SaysHowManyEventsWouldHaveGoneBackInTime) {
    FixtureBatch later = fixture_batches()[1];
    const FixtureBatch earlier = fixture_batches()[2];
    for (const std::size_t rank : {0, 1}) {          // in the second of its samples
        later.batch.exit[2 + rank] = 95.5 * 0x1p-20; // after the entry into the next synchronizer
    }
    EXPECT_EQ(Archive(report({later, earlier}, 10)).property("DOWNBEAT::EVENTS_MOVED"), "2"); // one per rank
}

TEST_F(Otf2, ReplacesAnEarlierArchive) {
    report(fixture_batches(), 10);
    std::filesystem::remove(path("out.otf2")); // as an interrupted run leaves it
    EXPECT_EQ(Archive(report({}, 10)).property("DOWNBEAT::SAMPLES_LEFT_OUT"), "0");
    report(fixture_batches(), 10);
    EXPECT_EQ(Archive(report(fixture_batches(), 1)).property("DOWNBEAT::SAMPLES_LEFT_OUT"), "5");
}

TEST_F(Otf2, LeavesAFolderThatHoldsSomethingElse) {
    const std::string file = path("out.otf2");
    std::filesystem::create_directory(path("out"));
    std::ofstream(path("out/thesis.tex")) << "years of work";
    try {
        find_format(file).make_trace(file);
        ADD_FAILURE();
    } catch (const Error &error) {
        EXPECT_NE(std::string(error.what()).find("holds 'thesis.tex'"), std::string::npos) << error.what();
    }
    EXPECT_EQ(read(path("out/thesis.tex")), "years of work");
}

} // namespace
} // namespace bench
