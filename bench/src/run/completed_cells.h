#pragma once

#include "rules/cell.h"
#include "text/error.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace bench {

/// The results of a launch, at rank 0. Some are compared with a reference, i.e. another cell of the launch: these are
/// reported when the reference is complete.
class CompletedCells {
public:
    /// `cells`: all cells of the launch.
    CompletedCells(std::vector<Cell> cells, const LaunchListeners &listeners)
        : cells_(std::move(cells)), listeners_(listeners) {}

    void add(CellResult result);

    /// Complete and reported.
    std::size_t count() const { return results_.size(); }

    /// All results, in the order of the cells.
    std::vector<CellResult> take();

private:
    void report();
    const CellResult *find(std::size_t index) const;
    /// Compares a result with that of its reference cell. False if the reference is not complete yet.
    bool compare(CellResult &result, bool (*same)(const Cell &, const Cell &), bool (*is_reference)(const Cell &),
                 void (*fill_in)(CellResult &, const CellResult &)) const;

    std::vector<Cell> cells_;
    const LaunchListeners &listeners_;
    std::vector<CellResult> waiting_; // complete, but for what they are compared with
    std::vector<CellResult> results_;
};

/// At rank 0: the run's exit status; if a cell lacks samples, prints one line with the cell and the remedy.
ExitStatus judge_run(const std::vector<CellResult> &results);

} // namespace bench
