! A start with type(MPI_Comm), without ierror; then it says how many processes left it.
program handles
    use mpi_f08
    use downbeat
    implicit none
    logical :: flag
    integer :: rank, size, decided, all
    type(MPIX_Harmonize_stats) :: stats
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    call MPIX_Harmonize(MPI_COMM_WORLD, flag)
    call MPIX_Harmonize_get_stats(MPI_COMM_WORLD, stats)
    decided = merge(1, 0, flag .neqv. stats%late_arrivals + stats%late_exits + stats%unsure_clocks > 0)
    call MPI_Allreduce(decided, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (rank == 0) print '(i0, a, i0, a)', all, ' of ', size, ' processes left together'
    call MPI_Finalize()
end program
