#pragma once

#include "rules/cell.h"
#include "text/field.h"

#include <vector>

namespace bench {

struct CellField : FieldOf<CellResult> {
    bool planned; // known before the cell is measured, from CellResult::cell alone
};

/// The description of a cell and the outcome of measuring it. One line per field in cell_fields.cc.
const std::vector<CellField> &cell_fields();

/// The same and each statistic of each metric, "makespan_p95": the columns of a table.
const std::vector<CellField> &cell_columns();

} // namespace bench
