#include "mpi/host_name.h"

#include "mpi/mpi_check.h"
#include "text/utf8.h"

namespace bench {

std::string host_name() {
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    check(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
    return printable({name, static_cast<std::size_t>(length)});
}

} // namespace bench
