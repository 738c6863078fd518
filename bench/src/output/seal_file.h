#pragma once

#include "output/output.h"

namespace bench {

/// Appends the checksum of a file that is complete: a line `DOWNBEAT-CRC32:` and eight digits, of all bytes before it.
/// netCDF ignores what is after its data. Does nothing if it is no regular file. Throws Error::here.
void seal_file(Output &output);

} // namespace bench
