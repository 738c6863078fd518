#pragma once

#include "output/clock_agreement.h"
#include "output/columns.h"
#include "output/context.h"
#include "output/sink.h"
#include "rules/cell.h"

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

/// The table of cells with all around it: MPI_Barrier beside MPIX_Harmonize where just these vary, else a block per
/// synchronizer with a row per operation and size, or the other way round; computation and delays apart.
std::string cells_table(const SamplingContext &context, const std::vector<CellResult> &results, const RunEnd &end);

/// The output of the OSU micro-benchmarks, for scripts that read it: means over samples and ranks.
std::string osu_text(const SamplingContext &context, const std::vector<CellResult> &results, const RunEnd &end);

/// The lines at the end of a table: warnings, and the files that were written.
std::string closing_lines(const std::vector<std::string> &warnings, const std::vector<std::string> &files = {});

/// The rejected share of the attempts.
double rejected_share(const CellResult &result);

/// "bcast, 8 bytes"
std::string describe_subject(const Cell &cell);

/// The different texts of the cells, in order of appearance.
std::vector<std::string> distinct(const std::vector<CellResult> &results, std::string (*describe)(const Cell &cell));

/// The message size, "-" where the operation has none.
std::string size_text(const Cell &cell);

} // namespace bench
