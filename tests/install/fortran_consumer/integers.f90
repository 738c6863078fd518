! A start with an integer communicator and ierror; then it says how many processes left it.
program integers
    use mpi
    use downbeat
    implicit none
    logical :: flag
    integer :: rank, size, decided, all, ierror
    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
    call MPIX_Harmonize(MPI_COMM_WORLD, flag, ierror)
    decided = merge(1, 0, ierror == MPI_SUCCESS)
    call MPI_Allreduce(decided, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    if (rank == 0) print '(i0, a, i0, a)', all, ' of ', size, ' processes left together'
    call MPI_Finalize(ierror)
end program
