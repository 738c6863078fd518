#pragma once

#include "options/command_line.h"
#include "output/datasets/dataset_writer.h"

#include <memory>
#include <string>
#include <vector>

namespace bench {

/// The outputs of an experiment, at rank 0 only: the files, opened at once, and standard output.
class ExperimentOutputs {
public:
    /// Throws Error::here if a file cannot be written.
    explicit ExperimentOutputs(const CommonOptions &options);

    /// `table` is the text of format table between the lines about the machine and the warnings. Throws as above.
    void write(const Context &context, const Dataset &dataset, const std::string &table,
               const std::vector<std::string> &warnings);

private:
    CommonOptions options_;
    std::vector<std::unique_ptr<DatasetWriter>> files_;
};

} // namespace bench
