/* A note in the wheel's libdownbeat for one ABI of MPI, since it names no MPI library that would show the ABI.
 * python/downbeat/run/mpi_abi.py reads it; `readelf -n` shows it. */
#include <mpi.h>

#if defined OPEN_MPI
#define ABI "openmpi"
#elif defined MPICH_VERSION
#define ABI "mpich"
#elif defined MPI_ABI_VERSION
#define ABI "abi"
#else
#error "mpi.h is of no ABI that is known"
#endif

__attribute__((used, aligned(4), section(".note.downbeat"))) static const struct {
    unsigned name_size, size, type;
    char name[12];
    char abi[8];
} note = {sizeof "downbeat", sizeof note.abi, 1, "downbeat", ABI};
