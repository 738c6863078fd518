! The application of imbalance.c in Fortran: it computes and then reduces, again and again, and higher ranks have more to
! compute.
!
!     gfortran imbalance.f90 $(pkg-config --cflags --libs downbeat-fortran) -o imbalance
!     DOWNBEAT_REGIONS_TABLE=stdout mpirun -n 4 ./imbalance 100 500 200     # and look into downbeat-regions.json
!
! Arguments: iterations; microseconds of computation on rank 0; microseconds more for each rank than for the one before.
program imbalance
    use mpi_f08
    use downbeat
    implicit none
    type(Downbeat_region) :: region
    integer :: rank, i, iterations, status
    double precision :: work, step, mine, total
    character(len=32) :: words(3)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    do i = 1, 3
        call get_command_argument(i, words(i))
    end do
    read (words, *, iostat=status) iterations, work, step
    if (status /= 0 .or. command_argument_count() /= 3) then
        if (rank == 0) print '(a)', 'usage: imbalance ITERATIONS MICROSECONDS STEP'
        call MPI_Abort(MPI_COMM_WORLD, 2)
    end if

    do i = 1, iterations
        call Downbeat_region_begin(MPI_COMM_WORLD, 'compute', region)
        call compute((work + step*rank)*1d-6, mine)
        call Downbeat_region_end(region)

        call Downbeat_region_begin(MPI_COMM_WORLD, 'allreduce', region)
        call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
        call Downbeat_region_end(region)
    end do
    if (rank == 0) print *, 'computed', total
    call MPI_Finalize() ! writes what came of the regions

contains

    ! Stands for work: takes a known time.
    subroutine compute(seconds, sum)
        double precision, intent(in) :: seconds
        double precision, intent(out) :: sum
        double precision :: begin
        begin = MPI_Wtime()
        sum = 0
        do while (MPI_Wtime() - begin < seconds)
            sum = sum + 1d-3
        end do
    end subroutine
end program
