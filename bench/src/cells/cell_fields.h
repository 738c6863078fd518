#pragma once

#include "cells/cell.h"

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace bench {

/// NaN if there is no value.
using FieldValue = std::variant<std::string, std::int64_t, double, CellStatus>;

enum class FieldType { text, count, number, status }; // the alternatives of FieldValue

/// A field of a cell in files, with the same name in all of them: that of the netCDF variable, the JSON key, the CSV
/// column (which adds the unit).
struct CellField {
    std::string name;
    std::string unit;    // "" if there is none
    std::string meaning; // one line
    FieldType type;
    bool planned; // known before the cell is measured, from CellResult::cell alone
    std::function<FieldValue(const CellResult &)> value;
};

/// The description of a cell and the outcome of measuring it. One line per field in cell_fields.cc; a row in
/// docs/bench-files.md.
const std::vector<CellField> &cell_fields();

/// The same and each statistic of each metric, "makespan_p95": the columns of a table.
const std::vector<CellField> &cell_columns();

} // namespace bench
