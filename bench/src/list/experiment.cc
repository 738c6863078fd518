#include "experiment.h"
#include "algorithm.h"
#include "arrival_pattern.h"

#include "command_line.h"
#include "list/parts.h"
#include "metric.h"
#include "names.h"
#include "operation.h"
#include "reporter_registry.h"
#include "stopping_rule.h"
#include "synchronizer.h"
#include "text_output.h"
#include "timing.h"
#include "warmup_rule.h"

#include <algorithm>
#include <array>
#include <downbeat/clock.h>

namespace bench {
namespace {

/// Of entries without parameters.
template <typename Registry> std::vector<ListedPart> own_names(const Registry &registry) {
    std::vector<ListedPart> parts;
    for (const auto &entry : registry) {
        parts.push_back({entry.name, entry.description, "", {}});
    }
    return parts;
}

template <typename Registry> std::vector<ListedPart> own_parts(const Registry &registry) {
    std::vector<ListedPart> parts;
    for (const PartInfo &entry : registry) {
        parts.push_back({entry.name, entry.description, entry.source, {}});
        for (const PartParameter &p : entry.parameters) {
            parts.back().parameters.push_back({p.name, p.value, p.meaning, "", p.values});
        }
    }
    return parts;
}

std::vector<ListedPart> operation_parts() {
    std::vector<ListedPart> parts = own_parts(all_operations());
    for (ListedPart &part : parts) {
        const OperationInfo &info = find_by_name(all_operations(), part.name);
        part.call = {info.collective, info.form, info.call, info.size_meaning, info.unavailable};
    }
    return parts;
}

std::vector<ListedPart> library_parts(const char *kind) {
    std::vector<ListedPart> parts;
    for (const Downbeat_part *const *part = Downbeat_parts(kind); *part != nullptr; ++part) {
        ListedPart listed{(*part)->name, (*part)->summary, (*part)->source, {}};
        for (const Downbeat_parameter *p = (*part)->parameters; p->name != nullptr; ++p) {
            listed.parameters.push_back(
                {p->name, p->value, p->meaning, p->kind == nullptr ? "" : p->kind,
                 p->whole != 0 ? PartValues::whole(p->low, p->high) : PartValues::real(p->low, p->high)});
        }
        parts.push_back(listed);
    }
    return parts;
}

/// What the MPI library at hand lets its user choose, by collective.
std::vector<ListedPart> library_algorithms() {
    std::vector<ListedPart> parts;
    if (const auto family = find_algorithm_family()) {
        for (const SelectableCollective &collective : family->collectives()) {
            parts.push_back({collective.name, join(algorithm_names(collective)), collective.variable, {}});
        }
    }
    return parts;
}

/// A kind of names, in the order in which they are listed.
struct Kind {
    std::string name;
    std::string description;
    std::vector<ListedPart> (*parts)();
};

const std::array<Kind, 16> &all_kinds() {
    static const std::array<Kind, 16> all = {{
        {"scheme", "clock synchronization schemes (setting sync)", [] { return library_parts("scheme"); }},
        {"offset", "estimators of the offset between two clocks", [] { return library_parts("offset"); }},
        {"intercept", "where the intercept of a fit comes from", [] { return library_parts("intercept"); }},
        {"flat", "schemes that may serve between the nodes of a hierarchical one",
         [] { return library_parts("flat"); }},
        {"level", "what may serve between sockets and NUMA domains", [] { return library_parts("level"); }},
        {"within", "what may serve the lowest level", [] { return library_parts("within"); }},
        {"clock", "local clocks (setting clock)", [] { return library_parts("clock"); }},
        {"operation", "operations to measure", operation_parts},
        {"algorithm", "of the MPI library at hand, by collective (--algorithm)", library_algorithms},
        {"synchronizer", "what synchronizes before a sample", [] { return own_parts(all_synchronizers()); }},
        {"timing", "what the stamps of a sample enclose", [] { return own_parts(all_timings()); }},
        {"pattern", "arrival patterns", [] { return own_parts(all_patterns()); }},
        {"stopping", "how long a cell is measured", [] { return own_parts(all_stopping_rules()); }},
        {"warmup", "what runs before each block of samples", [] { return own_parts(all_warmup_rules()); }},
        {"metric", "numbers drawn from a sample", [] { return own_names(all_metrics()); }},
        {"format", "what results are printed and written as", [] { return own_names(all_reporters()); }},
    }};
    return all;
}

class List : public Experiment {
public:
    List(const std::vector<std::string> &kinds, bool json) : json_(json) {
        for (const Kind &kind : all_kinds()) {
            if (kinds.empty() || std::find(kinds.begin(), kinds.end(), kind.name) != kinds.end()) {
                kinds_.push_back({kind.name, kind.description, kind.parts()});
            }
        }
    }

    ExitStatus run(const Communicator &comm, const std::string &) override {
        comm.on_root([&] {
            TextOutput(standard_output).write(json_ ? list_json(kinds_) : list_table(kinds_));
            return 0;
        });
        return ExitStatus::success;
    }

private:
    std::vector<ListedKind> kinds_;
    bool json_;
};

ParsedExperiment parse(int argc, char **argv, int) {
    CommandLine line("Lists what has a name: parts of clock synchronization schemes with their parameters, operations, "
                     "formats. Needs no launcher.",
                     "downbeat-bench list");
    std::vector<std::string> kinds;
    std::string format = "table";
    line.positional("kind", kinds, "kinds to list [default: all]");
    line.option("--format", format, "FORMAT", "table or json [default table]");
    line.footer("\nKinds:\n" + describe_entries(all_kinds()));
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }
    check_names("kind", kinds, names_of(all_kinds()));
    check_names("format", {format}, {"table", "json"});
    return std::make_unique<List>(kinds, format == "json");
}

} // namespace

ExperimentInfo experiments::list() {
    return {"list", "what there is: schemes, estimators, clocks, operations and their parameters", parse};
}

} // namespace bench
