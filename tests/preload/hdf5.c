/* A parallel HDF5 program: all processes write a dataset together. HDF5 calls MPI_Barrier for itself; the program does
 * ten times. Built by test_preload.py. */
#include <hdf5.h>
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, size, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate(argv[argc - 1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hsize_t all = (hsize_t)size, first = (hsize_t)rank, one = 1;
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    for (int i = 0; i < 10; ++i) {
        char name[] = "dataset0";
        name[7] = (char)('0' + i);
        hid_t space = H5Screate_simple(1, &all, NULL);
        hid_t memory = H5Screate_simple(1, &one, NULL);
        hid_t data = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &one, NULL);
        if (data < 0 || H5Dwrite(data, H5T_NATIVE_INT, memory, space, transfer, &rank) < 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
        H5Dclose(data);
        H5Sclose(memory);
        H5Sclose(space);
        H5Fflush(file, H5F_SCOPE_GLOBAL);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    H5Pclose(transfer);
    H5Fclose(file);
    H5Pclose(access);
    MPI_Finalize();
    return 0;
}
