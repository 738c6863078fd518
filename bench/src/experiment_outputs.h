#pragma once

#include "command_line.h"
#include "dataset_writer.h"

#include <memory>
#include <string>
#include <vector>

namespace bench {

/// Where the results of an experiment go, at rank 0 alone: the files, opened at once, and standard output.
class ExperimentOutputs {
public:
    /// Throws Error::here where a file cannot be written.
    explicit ExperimentOutputs(const CommonOptions &options);

    /// `table` is what format table shows between the lines about the machine and the warnings. Throws as above.
    void write(const Context &context, const Dataset &dataset, const std::string &table,
               const std::vector<std::string> &warnings);

private:
    CommonOptions options_;
    std::vector<std::unique_ptr<DatasetWriter>> files_;
};

} // namespace bench
