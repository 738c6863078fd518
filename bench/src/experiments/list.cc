// `downbeat-bench list`: lists all components of the benchmark and of libdownbeat, as a text or as JSON. Python's lists
// of names are generated from the JSON (tools/bench-lists).
#include "experiments/subcommand.h"
#include "operations/algorithm.h"
#include "rules/arrival_pattern.h"

#include "experiments/list_report.h"
#include "operations/collective.h"
#include "operations/operation.h"
#include "output/output.h"
#include "output/sink.h"
#include "rules/metric.h"
#include "rules/stopping_rule.h"
#include "rules/warmup_rule.h"
#include "run/command_line.h"
#include "synchronizers/synchronizer.h"
#include "text/words.h"

#include <algorithm>
#include <array>
#include <downbeat/clock.h>
#include <string_view>

namespace bench {
namespace {

/// Lists a registry whose entries have no parameters.
template <typename Registry> std::vector<ListedComponent> listed_names(const Registry &registry) {
    return mapped(registry, [](const auto &entry) { return ListedComponent{{entry.name, entry.description}}; });
}

/// Lists a registry of the benchmark, with parameters.
template <typename Registry> std::vector<ListedComponent> listed_components(const Registry &registry) {
    return mapped(registry, [](const ComponentInfo &entry) { return ListedComponent{entry}; });
}

/// Lists fields.
template <typename Fields> std::vector<ListedComponent> listed_fields(const Fields &fields) {
    return mapped(fields, [](const Field &field) { return ListedComponent{{field.name, field.meaning}, {}, field}; });
}

/// Lists the metrics. In addition to a field's properties, they have attribute is_time.
std::vector<ListedComponent> metric_components() {
    return listed_fields(mapped(all_metrics(), [](const Metric &metric) {
        Field field = metric.field();
        field.attributes.emplace_back("is_time", long{metric.traits.is_time});
        return field;
    }));
}

/// Lists the operations, with their MPI calls.
std::vector<ListedComponent> operation_components() {
    std::vector<ListedComponent> components = listed_components(all_operations());
    for (ListedComponent &component : components) {
        const OperationInfo &info = find_by_name(all_operations(), component.name);
        const bool is_collective = !info.collective.empty();
        const CollectiveTraits traits =
            is_collective ? find_by_name(all_collectives(), info.collective).traits : CollectiveTraits{};
        component.call = {info.collective,   info.form,        info.call,
                          info.size_meaning, info.unavailable, is_collective ? to_string(traits.flow) : "",
                          traits.reduces,    traits.irregular};
    }
    return components;
}

/// The valid values of a parameter of libdownbeat. A published configuration has a single value.
ComponentValues library_values(std::string_view kind, const Downbeat_parameter &parameter) {
    if (kind == "published") {
        return ComponentValues::choice({parameter.value});
    }
    if (parameter.kind != nullptr) {
        return ComponentValues::component(parameter.kind);
    }
    return parameter.whole != 0 ? ComponentValues::whole(parameter.low, parameter.high)
                                : ComponentValues::real(parameter.low, parameter.high);
}

/// Components of libdownbeat.
std::vector<ListedComponent> library_components(const char *kind) {
    std::vector<ListedComponent> components;
    for (const Downbeat_component *const *component = Downbeat_components(kind); *component != nullptr; ++component) {
        ListedComponent listed{{(*component)->name, (*component)->summary, (*component)->source, {}}};
        for (const Downbeat_parameter *p = (*component)->parameters; p->name != nullptr; ++p) {
            listed.parameters.push_back({p->name, p->value, p->meaning, library_values(kind, *p)});
        }
        components.push_back(listed);
    }
    return components;
}

/// The collectives of this MPI library whose algorithms can be chosen, with the names of the algorithms.
std::vector<ListedComponent> library_algorithms() {
    std::vector<ListedComponent> components;
    if (const auto family = find_algorithm_family()) {
        for (const SelectableCollective &collective : family->collectives()) {
            components.push_back({{collective.name, join(names_of(collective.algorithms)), collective.variable, {}}});
        }
    }
    return components;
}

/// A kind of components.
struct Kind {
    std::string name;
    std::string description;
    std::vector<ListedComponent> (*components)();
};

const std::array<Kind, 17> &all_kinds() {
    static const std::array<Kind, 17> table = {{
        {"scheme", "clock synchronization schemes (setting sync)", [] { return library_components("scheme"); }},
        {"offset", "estimators of the offset between two clocks", [] { return library_components("offset"); }},
        {"clock", "local clocks (setting clock)", [] { return library_components("clock"); }},
        {"slack", "methods that choose how far ahead MPIX_Harmonize sets the deadline (setting slack)",
         [] { return library_components("slack"); }},
        {"published", "configurations of papers, whole (--published, setting published)",
         [] { return library_components("published"); }},
        {"operation", "operations to measure", operation_components},
        {"algorithm", "algorithms of this MPI library, by collective (--algorithm)", library_algorithms},
        {"synchronizer", "synchronizers that run before each sample (--sync)",
         [] { return listed_components(all_synchronizers()); }},
        {"timing", "timing schemes: which calls a sample's timestamps enclose (--timing)",
         [] { return listed_components(all_timings()); }},
        {"pattern", "arrival patterns (--pattern)", [] { return listed_components(all_patterns()); }},
        {"stopping", "stopping rules: how long a cell is measured (--stop)",
         [] { return listed_components(all_stopping_rules()); }},
        {"warmup", "warm-up rules: calls to discard before each block of samples (--warmup)",
         [] { return listed_components(all_warmup_rules()); }},
        {"metric", "metrics computed from each sample", metric_components},
        {"field", "fields of a cell in files, other than the statistics of its metrics",
         [] { return listed_fields(cell_fields()); }},
        {"sample", "variables of a sample in netCDF files", [] { return listed_fields(sample_fields()); }},
        {"attribute", "global attributes of files: settings, properties, measurements",
         [] { return listed_fields(all_attributes()); }},
        {"format", "formats of standard output and files (--format, --output)",
         [] { return listed_names(all_formats()); }},
    }};
    return table;
}

ExitStatus run(const Communicator &comm, const std::vector<std::string> &kinds, bool json) {
    comm.on_root([&] {
        std::vector<ListedKind> listed;
        for (const Kind &kind : all_kinds()) {
            if (kinds.empty() || contains(kinds, kind.name)) {
                listed.push_back({kind.name, kind.description, kind.components()});
            }
        }
        Output(standard_output).finish(json ? list_json(listed) : list_table(listed));
        return 0;
    });
    return ExitStatus::success;
}

ParsedWork parse(int argc, char **argv, int) {
    CommandLine line("Lists every component by name, with its parameters: clock synchronization schemes, operations, "
                     "synchronizers, metrics, formats and more. Needs no launcher.",
                     "downbeat-bench list");
    std::vector<std::string> kinds;
    std::string format = "table";
    line.positional("kind", kinds, "kinds to list [default: all]");
    line.word("--format", "FORMAT", format, "table or json");
    line.footer("Kinds:\n" + describe_entries(all_kinds()));
    if (const auto text = line.parse(argc, argv)) {
        return *text;
    }
    check_names("kind", kinds, names_of(all_kinds()));
    check_names("format", {format}, {"table", "json"});
    return [kinds, json = format == "json"](const Communicator &comm, const std::string &) {
        return run(comm, kinds, json);
    };
}

} // namespace

SubcommandInfo subcommands::list() {
    return {{"list", "all components by name: schemes, estimators, clocks, operations, with their parameters"}, parse};
}

} // namespace bench
