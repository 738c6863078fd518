/* Without a region there is no file. */
#include "check_mpi.h"

#include <unistd.h>

#define PATH "test_region_none.json"

int main(int argc, char **argv) {
    int flag;
    remove(PATH);
    setenv("DOWNBEAT_REGIONS", PATH, 1);
    MPI_Init(&argc, &argv);
    OK(MPIX_Harmonize(MPI_COMM_WORLD, &flag));
    MPI_Finalize();
    CHECK(access(PATH, F_OK) != 0);
    return 0;
}
