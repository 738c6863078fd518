#include "judge_run.h"

#include "names.h"
#include "print_error.h"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

std::string describe_unmeasured(const std::vector<const CellResult *> &unmeasured) {
    constexpr std::size_t most_named = 3;
    std::vector<std::string> named;
    for (const CellResult *result : unmeasured) {
        if (named.size() == most_named) {
            named.emplace_back("...");
            break;
        }
        named.push_back(fmt::format("{}: {} of {}", describe(result->cell), result->valid, result->requested));
    }
    return join(named);
}

} // namespace

ExitStatus judge_run(const std::vector<CellResult> &results) {
    std::vector<const CellResult *> unmeasured;
    std::vector<std::string> advice;
    for (const CellResult &result : results) {
        if (result.status == CellStatus::ok) {
            continue;
        }
        unmeasured.push_back(&result);
        if (std::find(advice.begin(), advice.end(), result.advice) == advice.end()) {
            advice.push_back(result.advice);
        }
    }
    if (unmeasured.empty()) {
        return ExitStatus::success;
    }
    print_error(fmt::format("{} of {} cells have too few valid samples ({}); what helps: {}", unmeasured.size(),
                            results.size(), describe_unmeasured(unmeasured), join(advice, "; ")));
    return ExitStatus::unmeasured;
}

} // namespace bench
