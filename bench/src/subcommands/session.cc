#include "subcommands/session.h"

#include "clocks/global_clock.h"
#include "context/warnings.h"
#include "mpi/everywhere.h"
#include "output/output.h"
#include "output/print_error.h"
#include "output/reporters/reporter_registry.h"
#include "subcommands/gather_context.h"
#include "text/names.h"

#include <fmt/format.h>

namespace bench {

Session::Session(const Communicator &comm, const CommonOptions &options, const std::string &command)
    : comm_(comm), options_(options), seed_(choose_seed(comm, options.seed)) {
    comm.on_root([&] {
        for (const std::string &path : options.outputs) {
            files_.push_back(find_findings_reporter(path).make(path));
        }
        return 0;
    });
    const GlobalClock clock(comm, std::nullopt);
    context_ = gather_context(comm, clock, options, seed_, command);
    watch_ = ActivityWatch(); // from here on
}

ExitStatus Session::finish(const std::function<Findings()> &find) {
    const std::vector<OthersActivity> others = watch_.finish(comm_);
    comm_.on_root([&] {
        Findings found = find();
        const std::vector<std::string> of_machine = find_machine_warnings(context_, others);
        found.warnings.insert(found.warnings.begin(), of_machine.begin(), of_machine.end());
        for (const auto &file : files_) {
            file->findings(context_, found);
        }
        find_by_name(all_reporters(), options_.format).make(standard_output)->findings(context_, found);
        print_warnings(options_.format, found.warnings);
        return 0;
    });
    return ExitStatus::success;
}

void print_warnings(const std::string &format, const std::vector<std::string> &warnings) {
    if (find_by_name(all_reporters(), format).shows_warnings) {
        return;
    }
    for (const std::string &warning : warnings) {
        print_error(fmt::format("warning: {}", warning));
    }
}

} // namespace bench
