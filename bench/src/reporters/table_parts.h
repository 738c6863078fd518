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

/// MPI_Barrier beside MPIX_Harmonize, one row per operation and size; for runs with just these two synchronizers.
bool is_comparison(const std::vector<CellResult> &results);
std::string table_comparison(const std::vector<CellResult> &results);

/// One table per synchronizer, one row per operation and size.
std::string table_details(const std::vector<CellResult> &results);

/// Seconds as microseconds with this many decimals, right-aligned; "-" where there is no value.
std::string microseconds(double seconds, int width, int decimals);

/// Count and share of the attempts, as "    12   1.2%": 13 columns.
std::string rejected_share(const CellResult &result);

/// An empty line where the operation is another than in the row before.
std::string separator(const CellResult *before, const CellResult &result);

/// The message size, "-" where the operation has none.
std::string size_text(const Cell &cell);

} // namespace bench
