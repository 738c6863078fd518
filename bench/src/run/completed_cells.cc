#include "run/completed_cells.h"

#include "output/output.h"
#include "rules/arrival_pattern.h"
#include "text/words.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

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

void CompletedCells::add(CellResult result) {
    waiting_.push_back(std::move(result));
    report();
}

std::vector<CellResult> CompletedCells::take() {
    std::ranges::sort(results_, {}, &CellResult::index);
    return std::move(results_);
}

const CellResult *CompletedCells::find(std::size_t index) const {
    const auto known = std::ranges::find(results_, index, &CellResult::index);
    return known == results_.end() ? nullptr : &*known;
}

bool CompletedCells::compare(CellResult &result, bool (*same)(const Cell &, const Cell &),
                             bool (*is_reference)(const Cell &),
                             void (*fill_in)(CellResult &, const CellResult &)) const {
    const auto reference =
        std::ranges::find_if(cells_, [&](const Cell &cell) { return is_reference(cell) && same(cell, result.cell); });
    if (is_reference(result.cell) || reference == cells_.end()) {
        return true;
    }
    const CellResult *known = find(static_cast<std::size_t>(reference - cells_.begin()));
    if (known != nullptr) {
        fill_in(result, *known);
    }
    return known != nullptr;
}

void CompletedCells::report() {
    for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
        const auto is_undelayed = [](const Cell &cell) { return cell.pattern == no_pattern; };
        const auto is_pure = [](const Cell &cell) { return cell.computation == 0.0; };
        if (!compare(*waiting, same_but_for_arrival, is_undelayed, compare_with_undelayed) ||
            !compare(*waiting, same_but_for_computation, is_pure, compare_with_pure)) {
            ++waiting;
            continue;
        }
        results_.push_back(std::move(*waiting));
        waiting_.erase(waiting);
        for (LaunchListener *const listener : listeners_) {
            listener->cell(results_.back());
        }
        waiting = waiting_.begin(); // one before it may have waited for it
    }
}

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
        if (!contains(advice, help)) {
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
