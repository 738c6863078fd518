#pragma once

#include "cells/cell.h"
#include "context/clock_agreement.h"
#include "context/context.h"
#include "output/table/columns.h"

#include <string>
#include <vector>

namespace bench {

/// One of the lines above a table, wrapped: "  samples   100 per cell". Without a name it continues the one before.
std::string line_above(const char *name, const std::string &value);

/// The lines above every table: version, MPI library, ranks, machine.
std::string table_machine(const Context &context);

/// The lines above a table of cells.
std::string table_context(const SamplingContext &context, const ClockAgreement &agreement);

/// The meanings of message sizes, if any, and datatypes: "  bytes     of the message
/// (bcast, ibcast)", "  datatype  MPI_BYTE (bcast, ibcast)".
std::string size_lines(const std::vector<CellResult> &results);

/// MPI_Barrier beside MPIX_Harmonize, one row per operation and size; for runs where just these two synchronizers vary.
bool is_comparison(const std::vector<CellResult> &results);
std::string table_comparison(const std::vector<CellResult> &results);

/// One block per synchronizer and timing scheme, one row per operation and size.
std::string table_details(const std::vector<CellResult> &results);

/// One block per operation and size, one row per synchronizer and timing scheme.
std::string table_synchronizers(const std::vector<CellResult> &results);

/// How computation overlaps with nonblocking operations: one block per synchronizer and timing scheme, one row per
/// operation, size and computation.
std::string table_overlap(const std::vector<CellResult> &results);

/// The cost of delays: one block per synchronizer, timing scheme and arrival pattern, one row per operation, size and
/// delay. Includes cells without delay.
std::string table_arrival(const std::vector<CellResult> &results);

/// By how much an error of the clock, within its bound, can falsify a metric, in seconds; NaN where nothing was
/// measured.
double clock_error(const CellResult &result, const char *metric);

/// The rejected share of the attempts.
double rejected_share(const CellResult &result);

/// "bcast, 8 bytes"
std::string describe_subject(const Cell &cell);

/// The different texts of the cells, in order of appearance.
std::vector<std::string> distinct(const std::vector<CellResult> &results, std::string (*describe)(const Cell &cell));

/// The message size, "-" where the operation has none.
std::string size_text(const Cell &cell);

} // namespace bench
