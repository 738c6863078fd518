#pragma once

#include "context/context.h"
#include "output/netcdf_file.h"

namespace bench {

/// Global attributes: the schema, `values`, and the rest of the context.
void write_netcdf_context(NetcdfFile &file, const Context &context, const ContextValues &values);

} // namespace bench
