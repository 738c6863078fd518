#pragma once

#include "output/datasets/dataset.h"

#include <memory>
#include <string>
#include <vector>

namespace bench {

/// A file, or standard output, that a dataset is written to, at rank 0 alone. The constructor opens it, so that a file
/// that cannot be written is noticed before the measurement; both throw Error if writing fails.
class DatasetWriter {
public:
    virtual ~DatasetWriter() = default;
    virtual void write(const Context &context, const Dataset &dataset, const std::vector<std::string> &warnings) = 0;
};

/// Of the formats that reporter_registry.h describes, those that hold a dataset.
struct DatasetWriterInfo {
    std::string name;
    std::string suffix;
    std::unique_ptr<DatasetWriter> (*make)(const std::string &path);
};

// One line per format; dataset_writers/<name>.cc defines the function of that name.
#define BENCH_DATASET_WRITERS(WRITER)                                                                                  \
    WRITER(csv)                                                                                                        \
    WRITER(json)                                                                                                       \
    WRITER(netcdf)

namespace dataset_writers {
#define BENCH_DECLARE(name) DatasetWriterInfo name();
BENCH_DATASET_WRITERS(BENCH_DECLARE)
#undef BENCH_DECLARE
} // namespace dataset_writers

const std::vector<DatasetWriterInfo> &all_dataset_writers();

/// The one that writes this file. Throws Error::usage if there is none.
const DatasetWriterInfo &find_dataset_writer(const std::string &path);

} // namespace bench
