// Control variables in a simulation (replaces bench/src/mpi/mpi_tool.cc): SMPI has no MPI_T, so there are none.
#include "mpi/mpi_tool.h"

#include "text/error.h"

namespace bench {

void open_tool_interface() {}

void close_tool_interface() {}

std::optional<ControlVariable> ControlVariable::find(const std::string &) { return std::nullopt; }

ControlVariable ControlVariable::get(const std::string &) { throw Error::here("SMPI has no variables"); }

int ControlVariable::read() const { throw Error::here("SMPI has no variables"); }

void ControlVariable::write(int) const { throw Error::here("SMPI has no variables"); }

std::vector<std::string> control_variable_names() { return {}; }

} // namespace bench
