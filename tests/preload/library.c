/* A library that calls MPI_Barrier and looks at the result, as HDF5 and PnetCDF do. */
#include <mpi.h>

int library_barrier(MPI_Comm comm);
int library_barrier(MPI_Comm comm) { return MPI_Barrier(comm) == MPI_SUCCESS ? 0 : -1; }

int library_profiled_barrier(MPI_Comm comm);
int library_profiled_barrier(MPI_Comm comm) { return PMPI_Barrier(comm) == MPI_SUCCESS ? 0 : -1; }
