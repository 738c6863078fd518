#pragma once

#include "cell.h"
#include "clock_agreement.h"
#include "context.h"

#include <string>
#include <vector>

namespace bench {

/// The lines above every table: who measured on what machine.
std::string table_machine(const Context &context);

/// The lines above the table: what was measured on what.
std::string table_context(const SamplingContext &context, const ClockAgreement &agreement);

/// What the bytes of the message sizes are, where there are any: "  bytes     of the message (bcast, ibcast)".
std::string sizes_line(const std::vector<CellResult> &results);

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

/// What delays cost: one block per synchronizer, timing scheme and arrival pattern, one row per operation, size and
/// delay. Of all cells, without delay as well.
std::string table_arrival(const std::vector<CellResult> &results);

/// Seconds as microseconds with this many decimals, right-aligned, behind a space at least, however large; "-" where
/// there is no value.
std::string microseconds(double seconds, int width, int decimals);

/// A number with two decimals, right-aligned; "-" where there is none.
std::string ratio(double value, int width);

/// By how much an error of the clock, within its bound, can falsify a metric, in microseconds: 7 columns.
std::string clock_error(const CellResult &result, const char *metric);

/// Count and share of the attempts, as "    12   1.2%": 13 columns.
std::string rejected_share(const CellResult &result);

/// The first columns of a row, operation and size: 20 columns. A new operation begins with an empty line, and a long
/// name has a line of its own.
std::string subject_columns(const CellResult *before, const CellResult &result);

/// "bcast, 8 bytes"
std::string describe_subject(const Cell &cell);

/// The different texts of the cells, in order of appearance.
std::vector<std::string> distinct(const std::vector<CellResult> &results, std::string (*describe)(const Cell &cell));

/// The message size, "-" where the operation has none.
std::string size_text(const Cell &cell);

} // namespace bench
