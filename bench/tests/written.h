#pragma once

#include "fixture.h"
#include "output/sink.h"
#include "text/words.h"

#include <memory>
#include <string>
#include <vector>

namespace bench {

constexpr const char *fixture_warning = "something was seen: it matters; do this";

/// A writer of one format to one file.
inline LaunchWriter writer_of(const Format &format, const std::string &file, const std::vector<Cell> &cells,
                              const SamplingContext &context = fixture_context()) {
    Sinks sinks;
    sinks.push_back(format.make(file));
    return {std::move(sinks), context, cells};
}

/// The end of a launch with what the format says to people.
inline RunEnd end_of(const Format &format, const SamplingContext &context, const std::vector<CellResult> &results,
                     const std::vector<std::string> &warnings = {}) {
    RunEnd end{fixture_agreement(), warnings, ""};
    if (format.text != nullptr) {
        end.text = format.text(context, results, end);
    }
    return end;
}

/// Writes the launch of fixture.h, without the cells of some synchronizer if one is named.
inline void write_fixture(const Format &format, const std::string &file, const std::string &without = "",
                          const SamplingContext &context = fixture_context()) {
    const std::vector<Cell> cells = fixture_cells();
    LaunchWriter writer = writer_of(format, file, cells, context);
    std::vector<CellRecord> records;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        records.emplace_back(i, cells[i]);
    }
    std::size_t block = 0;
    for (const FixtureBatch &fixture : fixture_batches()) {
        CellRecord &record = records[fixture.cell];
        writer.samples({fixture.cell, block++, record.recorded(), fixture.batch, fixture.verdicts, 0x1p-23});
        record.add(fixture.batch, fixture.verdicts);
    }
    std::vector<CellResult> results;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (cells[i].synchronizer != without) {
            results.push_back(records[i].summarize(*wanting(2)));
            writer.cell(results.back());
        }
    }
    writer.end(end_of(format, context, results, {fixture_warning}));
}

/// The formats that are not traces.
inline std::vector<Format> written_formats() {
    std::vector<Format> formats = all_formats();
    std::erase_if(formats, [](const Format &format) { return format.make == nullptr; });
    return formats;
}

} // namespace bench
