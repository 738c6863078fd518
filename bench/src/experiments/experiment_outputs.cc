#include "experiments/experiment_outputs.h"

#include "output/output.h"
#include "output/print_error.h"
#include "output/reporters/reporter_registry.h"
#include "output/table/sections.h"
#include "text/names.h"

#include <fmt/format.h>

namespace bench {
namespace {

void print_table(const Context &context, const std::string &table, const std::vector<std::string> &warnings) {
    std::string text = table_machine(context) + table + "\n";
    for (const std::string &warning : warnings) {
        text += fmt::format("warning: {}\n", warning);
    }
    for (const std::string &path : context.outputs) {
        text += fmt::format("written: {}\n", path);
    }
    Output(standard_output).finish(text);
}

} // namespace

ExperimentOutputs::ExperimentOutputs(const CommonOptions &options) : options_(options) {
    for (const std::string &path : options.outputs) {
        files_.push_back(find_dataset_writer(path).make(path));
    }
}

void ExperimentOutputs::write(const Context &context, const Dataset &dataset, const std::string &table,
                              const std::vector<std::string> &warnings) {
    for (const auto &file : files_) {
        file->write(context, dataset, warnings);
    }
    const ReporterInfo &format = find_by_name(all_reporters(), options_.format);
    if (format.name == "table") {
        print_table(context, table, warnings);
    } else {
        find_by_name(all_dataset_writers(), format.name).make(standard_output)->write(context, dataset, warnings);
    }
    if (!format.shows_warnings) {
        for (const std::string &warning : warnings) {
            print_error(fmt::format("warning: {}", warning));
        }
    }
}

} // namespace bench
