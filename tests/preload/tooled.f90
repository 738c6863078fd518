! Calls whose numbers are known, from Fortran.
program tooled
    use mpi
    implicit none
    integer :: code, i, value, total, request
    call MPI_Init(code)
    value = 1
    do i = 1, 100
        call MPI_Bcast(value, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
        call MPI_Allreduce(value, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    end do
    do i = 1, 20
        call MPI_Ibarrier(MPI_COMM_WORLD, request, code)
        call MPI_Wait(request, MPI_STATUS_IGNORE, code)
    end do
    call MPI_Finalize(code)
end program
