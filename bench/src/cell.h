#pragma once

#include "batch.h"
#include "statistics.h"
#include "validity.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// What is measured: one combination of everything that varies within a launch.
struct Cell {
    std::string operation;
    std::uint64_t size;   // bytes per process; 0 where the operation has no size
    std::string datatype; // what the bytes are, and what is done with them, as "MPI_DOUBLE MPI_SUM"
    std::string synchronizer;
};

/// "bcast of 8 bytes under harmonize"
std::string describe(const Cell &cell);

enum class CellStatus {
    ok,
    incomplete, // fewer valid samples than requested
    failed,     // no valid sample at all
};
std::string to_string(CellStatus status);

struct CellResult {
    std::size_t index;
    Cell cell;
    CellStatus status;
    long requested;
    long valid;
    long late_flag;               // rejected, see Verdict
    long late_entry;              // rejected, see Verdict
    double error_bound;           // seconds, largest over ranks and blocks
    double slack;                 // seconds, median over valid samples; NaN where the synchronizer has none
    std::vector<Summary> metrics; // over valid samples, in the order of all_metrics()

    long rejected() const { return late_flag + late_entry; }
    const Summary &metric(const std::string &name) const;
};

/// Collects the batches of one cell.
class CellRecord {
public:
    CellRecord(std::size_t index, Cell cell, long requested);

    /// Takes the valid samples in and counts the others. `verdicts` has one entry per sample of the batch.
    void add(const Batch &batch, const std::vector<Verdict> &verdicts);

    /// Attempts so far, valid or not.
    long attempts() const { return result_.valid + result_.rejected(); }

    CellResult summarize() const;

private:
    CellResult result_;
    std::vector<std::vector<double>> values_; // per metric
    std::vector<double> slack_;
};

} // namespace bench
