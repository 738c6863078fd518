#include "launch/judge_run.h"

#include "output/print_error.h"
#include "text/names.h"

#include <algorithm>
#include <fmt/format.h>

namespace bench {
namespace {

std::string describe_cells(const std::vector<const CellResult *> &cells) {
    constexpr std::size_t most_named = 3;
    std::vector<std::string> named;
    for (const CellResult *result : cells) {
        if (named.size() == most_named) {
            named.emplace_back("...");
            break;
        }
        named.push_back(fmt::format("{}: {}", describe(result->cell), describe_shortfall(*result)));
    }
    return join(named);
}

} // namespace

ExitStatus judge_run(const std::vector<CellResult> &results) {
    std::vector<const CellResult *> wrong;
    std::vector<const CellResult *> unmeasured;
    std::vector<std::string> advice;
    for (const CellResult &result : results) {
        if (result.status == CellStatus::ok) {
            continue;
        }
        if (result.status == CellStatus::wrong) {
            wrong.push_back(&result);
            continue;
        }
        unmeasured.push_back(&result);
        const std::string help = result.valid < result.requested
                                     ? result.advice
                                     : "more samples or a wider interval (max and width of precision)";
        if (std::find(advice.begin(), advice.end(), help) == advice.end()) {
            advice.push_back(help);
        }
    }
    if (!wrong.empty()) {
        print_error(
            fmt::format("{} of {} cells have wrong results ({})", wrong.size(), results.size(), describe_cells(wrong)));
    }
    if (unmeasured.empty()) {
        return wrong.empty() ? ExitStatus::success : ExitStatus::wrong_results;
    }
    print_error(fmt::format("{} of {} cells are incomplete ({}); try {}", unmeasured.size(), results.size(),
                            describe_cells(unmeasured), join(advice, "; ")));
    return wrong.empty() ? ExitStatus::unmeasured : ExitStatus::wrong_results;
}

} // namespace bench
