! Collectives by `use mpi`: a barrier, blocking and nonblocking.
program bindings
    use mpi
    implicit none
    integer :: ierror, request, i
    integer :: values(4), sums(4)
    call MPI_Init(ierror)
    values = 1
    do i = 1, 10
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
        call MPI_Allreduce(values, sums, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
        call MPI_Ibcast(values, 4, MPI_INTEGER, 0, MPI_COMM_WORLD, request, ierror)
        call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    end do
    call MPI_Finalize(ierror)
end program bindings
