! Downbeat for Fortran: a common start, its global clock, and regions. mpix_harmonize.h and downbeat/region.h document each
! call; docs/fortran.md shows how to build.
!
!     use mpi_f08
!     use downbeat
!     logical :: flag
!     call MPIX_Harmonize(comm, flag)       ! all processes of comm return at the same instant
!
! Names and arguments are those of C, with these differences:
!
!   - A communicator is type(MPI_Comm), or the integer of `use mpi` and mpif.h; likewise an info object.
!   - A flag is logical.
!   - What C returns is the last argument, `integer, optional, intent(out) :: ierror`.
!   - Trailing blanks of a region's name do not count.
!
! Times are seconds in double precision. This source compiles with any compiler for Fortran 2008. Define DOWNBEAT_MPI_F08 where
! the compiler can read the module mpi_f08 of the MPI library. Without it, handles are integers, and no module of MPI is used.
!
! The module is called downbeat and not mpix_harmonize because in Fortran a module and a procedure in it cannot share a name.
module downbeat
    use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_long_long, c_null_ptr, c_ptr
#ifdef DOWNBEAT_MPI_F08
    use mpi_f08, only: MPI_Comm, MPI_Info
#endif
    implicit none
    private

    public :: MPIX_Harmonize, MPIX_Harmonize_delayed, MPIX_Harmonize_deadline, MPIX_Harmonize_verdict
    public :: MPIX_Harmonize_lateness, MPIX_Harmonize_time, MPIX_Harmonize_wait_until, MPIX_Harmonize_error_bound
    public :: MPIX_Harmonize_expected_error, MPIX_Harmonize_sync, MPIX_Harmonize_true_error, MPIX_Harmonize_get_stats
    public :: MPIX_Harmonize_set_info, MPIX_Harmonize_get_info, MPIX_Harmonize_stats
    public :: Downbeat_region_begin, Downbeat_region_end, Downbeat_region, DOWNBEAT_REGION_NULL
    public :: Downbeat_version

    ! As the structure of mpix_harmonize.h.
    type, bind(C) :: MPIX_Harmonize_stats
        integer(c_long_long) :: calls           ! harmonized starts
        integer(c_long_long) :: late_arrivals   ! flag false here: the deadline had passed
        integer(c_long_long) :: late_exits      ! flag false here: left later than the tolerance
        integer(c_long_long) :: unsure_clocks   ! flag false here: the clock's expected error was too large
        integer(c_long_long) :: contradictions  ! times that this clock did what max_skew and max_wander exclude
        integer(c_long_long) :: unflagged_exits ! flag true here, but left later than the tolerance
        integer(c_long_long) :: invalid_calls   ! calls in which any process's flag was false, without the last
        integer(c_long_long) :: syncs           ! clock synchronizations
        real(c_double) :: sync_seconds          ! time spent in them
        real(c_double) :: sync_share            ! the same as a share of the time since the communicator was prepared
        integer(c_long_long) :: sync_messages   ! messages that this process sent or received for them
        real(c_double) :: slack                 ! seconds from the decision to the deadline, last call
        real(c_double) :: lag                   ! seconds until this process was ready, last call
        real(c_double) :: error_bound           ! as MPIX_Harmonize_error_bound, now
        real(c_double) :: expected_error        ! as MPIX_Harmonize_expected_error, now
        integer(c_int) :: clock_domains         ! groups of processes verified to share a clock
        integer(c_int) :: oversubscribed        ! 1 if a node has more processes than processors
    end type

    ! A region that has begun.
    type, bind(C) :: Downbeat_region
        private
        type(c_ptr) :: state = c_null_ptr
    end type
    type(Downbeat_region), parameter :: DOWNBEAT_REGION_NULL = Downbeat_region(c_null_ptr)

    ! Returns on all processes of comm at the same instant. flag: this process left at the deadline.
    interface MPIX_Harmonize
        module procedure harmonize
    end interface
    ! Like MPIX_Harmonize, but leaves `delay` after the common deadline. flag: this process left at deadline + delay.
    interface MPIX_Harmonize_delayed
        module procedure delayed
    end interface
    ! The common deadline of the last call, seconds on the global clock.
    interface MPIX_Harmonize_deadline
        module procedure get_deadline
    end interface
    ! 1 if all flags were true in the call before the last one, 0 if any was false, MPI_UNDEFINED if there was no such call.
    interface MPIX_Harmonize_verdict
        module procedure get_verdict
    end interface
    ! How late the latest process left in the call before the last one.
    interface MPIX_Harmonize_lateness
        module procedure get_lateness
    end interface
    ! The current time of the global clock.
    interface MPIX_Harmonize_time
        module procedure get_time
    end interface
    ! Waits until the global clock shows a given time. flag: this process left within the tolerance of it.
    interface MPIX_Harmonize_wait_until
        module procedure wait_until
    end interface
    ! How far this process's global clock can be from process 0's now.
    interface MPIX_Harmonize_error_bound
        module procedure get_error_bound
    end interface
    ! How far it is likely to be, one standard deviation.
    interface MPIX_Harmonize_expected_error
        module procedure get_expected_error
    end interface
    ! Synchronizes the clocks of comm now.
    interface MPIX_Harmonize_sync
        module procedure sync
    end interface
    ! The true error of this process's global clock, known only with the validation clock.
    interface MPIX_Harmonize_true_error
        module procedure get_true_error
    end interface
    ! Statistics of a communicator.
    interface MPIX_Harmonize_get_stats
        module procedure get_stats
    end interface
    ! Changes settings of a communicator.
    interface MPIX_Harmonize_set_info
        module procedure set_info
    end interface
    ! All settings in force, in a new info object that the caller frees.
    interface MPIX_Harmonize_get_info
        module procedure get_info
    end interface
    ! Returns on all processes at the same instant and timestamps the entry.
    interface Downbeat_region_begin
        module procedure region_begin
    end interface

#ifdef DOWNBEAT_MPI_F08
    interface MPIX_Harmonize
        module procedure harmonize_f08
    end interface
    interface MPIX_Harmonize_delayed
        module procedure delayed_f08
    end interface
    interface MPIX_Harmonize_deadline
        module procedure get_deadline_f08
    end interface
    interface MPIX_Harmonize_verdict
        module procedure get_verdict_f08
    end interface
    interface MPIX_Harmonize_lateness
        module procedure get_lateness_f08
    end interface
    interface MPIX_Harmonize_time
        module procedure get_time_f08
    end interface
    interface MPIX_Harmonize_wait_until
        module procedure wait_until_f08
    end interface
    interface MPIX_Harmonize_error_bound
        module procedure get_error_bound_f08
    end interface
    interface MPIX_Harmonize_expected_error
        module procedure get_expected_error_f08
    end interface
    interface MPIX_Harmonize_sync
        module procedure sync_f08
    end interface
    interface MPIX_Harmonize_true_error
        module procedure get_true_error_f08
    end interface
    interface MPIX_Harmonize_get_stats
        module procedure get_stats_f08
    end interface
    interface MPIX_Harmonize_set_info
        module procedure set_info_f08
    end interface
    interface MPIX_Harmonize_get_info
        module procedure get_info_f08
    end interface
    interface Downbeat_region_begin
        module procedure region_begin_f08
    end interface
#endif

    ! shim.c: the calls of C, with integer handles. After an error, what has intent(inout) is as it was.
    interface
        function c_harmonize(comm, flag) bind(C, name="downbeat_f_harmonize") result(code)
            import :: c_int
            integer(c_int), value :: comm
            integer(c_int), intent(inout) :: flag
            integer(c_int) :: code
        end function
        function c_delayed(comm, delay, flag) bind(C, name="downbeat_f_delayed") result(code)
            import :: c_double, c_int
            integer(c_int), value :: comm
            real(c_double), value :: delay
            integer(c_int), intent(inout) :: flag
            integer(c_int) :: code
        end function
        function c_deadline(comm, deadline) bind(C, name="downbeat_f_deadline") result(code)
            import :: c_double, c_int
            integer(c_int), value :: comm
            real(c_double), intent(out) :: deadline
            integer(c_int) :: code
        end function
        function c_verdict(comm, verdict) bind(C, name="downbeat_f_verdict") result(code)
            import :: c_int
            integer(c_int), value :: comm
            integer(c_int), intent(inout) :: verdict
            integer(c_int) :: code
        end function
        function c_lateness(comm, lateness) bind(C, name="downbeat_f_lateness") result(code)
            import :: c_double, c_int
            integer(c_int), value :: comm
            real(c_double), intent(out) :: lateness
            integer(c_int) :: code
        end function
        function c_time(comm, time) bind(C, name="downbeat_f_time") result(code)
            import :: c_double, c_int
            integer(c_int), value :: comm
            real(c_double), intent(out) :: time
            integer(c_int) :: code
        end function
        function c_wait_until(comm, time, flag) bind(C, name="downbeat_f_wait_until") result(code)
            import :: c_double, c_int
            integer(c_int), value :: comm
            real(c_double), value :: time
            integer(c_int), intent(inout) :: flag
            integer(c_int) :: code
        end function
        function c_error_bound(comm, bound) bind(C, name="downbeat_f_error_bound") result(code)
            import :: c_double, c_int
            integer(c_int), value :: comm
            real(c_double), intent(out) :: bound
            integer(c_int) :: code
        end function
        function c_expected_error(comm, error) bind(C, name="downbeat_f_expected_error") result(code)
            import :: c_double, c_int
            integer(c_int), value :: comm
            real(c_double), intent(out) :: error
            integer(c_int) :: code
        end function
        function c_sync(comm) bind(C, name="downbeat_f_sync") result(code)
            import :: c_int
            integer(c_int), value :: comm
            integer(c_int) :: code
        end function
        function c_true_error(comm, error) bind(C, name="downbeat_f_true_error") result(code)
            import :: c_double, c_int
            integer(c_int), value :: comm
            real(c_double), intent(out) :: error
            integer(c_int) :: code
        end function
        function c_get_stats(comm, stats) bind(C, name="downbeat_f_get_stats") result(code)
            import :: c_int, MPIX_Harmonize_stats
            integer(c_int), value :: comm
            type(MPIX_Harmonize_stats), intent(out) :: stats
            integer(c_int) :: code
        end function
        function c_set_info(comm, info) bind(C, name="downbeat_f_set_info") result(code)
            import :: c_int
            integer(c_int), value :: comm, info
            integer(c_int) :: code
        end function
        function c_get_info(comm, info_used) bind(C, name="downbeat_f_get_info") result(code)
            import :: c_int
            integer(c_int), value :: comm
            integer(c_int), intent(inout) :: info_used
            integer(c_int) :: code
        end function
        function c_region_begin(comm, name, length, region) bind(C, name="downbeat_f_region_begin") result(code)
            import :: c_char, c_int, Downbeat_region
            integer(c_int), value :: comm
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), value :: length
            type(Downbeat_region), intent(out) :: region
            integer(c_int) :: code
        end function
        function c_region_end(region) bind(C, name="Downbeat_region_end") result(code)
            import :: c_int, Downbeat_region
            type(Downbeat_region), intent(inout) :: region
            integer(c_int) :: code
        end function
        subroutine c_version(text, length) bind(C, name="downbeat_f_version")
            import :: c_char, c_int
            character(kind=c_char), intent(out) :: text(*)
            integer(c_int), value :: length
        end subroutine
    end interface

contains

    ! The version of the library that is loaded, e.g. "0.1.0", and blanks. Works before MPI_Init, too. An allocatable result would
    ! need the compiler's own library.
    function Downbeat_version() result(version)
        character(len=32) :: version
        call c_version(version, len(version, c_int))
    end function

    subroutine harmonize(comm, flag, ierror)
        integer, intent(in) :: comm
        logical, intent(out) :: flag
        integer, intent(out), optional :: ierror
        integer(c_int) :: c_flag, code
        c_flag = 0
        code = c_harmonize(int(comm, c_int), c_flag)
        flag = c_flag /= 0
        if (present(ierror)) ierror = int(code)
    end subroutine

    subroutine delayed(comm, delay, flag, ierror)
        integer, intent(in) :: comm
        real(c_double), intent(in) :: delay
        logical, intent(out) :: flag
        integer, intent(out), optional :: ierror
        integer(c_int) :: c_flag, code
        c_flag = 0
        code = c_delayed(int(comm, c_int), delay, c_flag)
        flag = c_flag /= 0
        if (present(ierror)) ierror = int(code)
    end subroutine

    subroutine get_deadline(comm, deadline, ierror)
        integer, intent(in) :: comm
        real(c_double), intent(out) :: deadline
        integer, intent(out), optional :: ierror
        integer(c_int) :: code
        code = c_deadline(int(comm, c_int), deadline)
        if (present(ierror)) ierror = int(code)
    end subroutine

    subroutine get_verdict(comm, verdict, ierror)
        integer, intent(in) :: comm
        integer, intent(out) :: verdict
        integer, intent(out), optional :: ierror
        integer(c_int) :: c_value, code
        c_value = 0
        code = c_verdict(int(comm, c_int), c_value)
        verdict = int(c_value)
        if (present(ierror)) ierror = int(code)
    end subroutine

    subroutine get_lateness(comm, lateness, ierror)
        integer, intent(in) :: comm
        real(c_double), intent(out) :: lateness
        integer, intent(out), optional :: ierror
        integer(c_int) :: code
        code = c_lateness(int(comm, c_int), lateness)
        if (present(ierror)) ierror = int(code)
    end subroutine

    subroutine get_time(comm, time, ierror)
        integer, intent(in) :: comm
        real(c_double), intent(out) :: time
        integer, intent(out), optional :: ierror
        integer(c_int) :: code
        code = c_time(int(comm, c_int), time)
        if (present(ierror)) ierror = int(code)
    end subroutine

    subroutine wait_until(comm, time, flag, ierror)
        integer, intent(in) :: comm
        real(c_double), intent(in) :: time
        logical, intent(out) :: flag
        integer, intent(out), optional :: ierror
        integer(c_int) :: c_flag, code
        c_flag = 0
        code = c_wait_until(int(comm, c_int), time, c_flag)
        flag = c_flag /= 0
        if (present(ierror)) ierror = int(code)
    end subroutine

    subroutine get_error_bound(comm, bound, ierror)
        integer, intent(in) :: comm
        real(c_double), intent(out) :: bound
        integer, intent(out), optional :: ierror
        integer(c_int) :: code
        code = c_error_bound(int(comm, c_int), bound)
        if (present(ierror)) ierror = int(code)
    end subroutine

    subroutine get_expected_error(comm, error, ierror)
        integer, intent(in) :: comm
        real(c_double), intent(out) :: error
        integer, intent(out), optional :: ierror
        integer(c_int) :: code
        code = c_expected_error(int(comm, c_int), error)
        if (present(ierror)) ierror = int(code)
    end subroutine

    subroutine sync(comm, ierror)
        integer, intent(in) :: comm
        integer, intent(out), optional :: ierror
        integer(c_int) :: code
        code = c_sync(int(comm, c_int))
        if (present(ierror)) ierror = int(code)
    end subroutine

    subroutine get_true_error(comm, error, ierror)
        integer, intent(in) :: comm
        real(c_double), intent(out) :: error
        integer, intent(out), optional :: ierror
        integer(c_int) :: code
        code = c_true_error(int(comm, c_int), error)
        if (present(ierror)) ierror = int(code)
    end subroutine

    subroutine get_stats(comm, stats, ierror)
        integer, intent(in) :: comm
        type(MPIX_Harmonize_stats), intent(out) :: stats
        integer, intent(out), optional :: ierror
        integer(c_int) :: code
        code = c_get_stats(int(comm, c_int), stats)
        if (present(ierror)) ierror = int(code)
    end subroutine

    subroutine set_info(comm, info, ierror)
        integer, intent(in) :: comm, info
        integer, intent(out), optional :: ierror
        integer(c_int) :: code
        code = c_set_info(int(comm, c_int), int(info, c_int))
        if (present(ierror)) ierror = int(code)
    end subroutine

    subroutine get_info(comm, info_used, ierror)
        integer, intent(in) :: comm
        integer, intent(out) :: info_used
        integer, intent(out), optional :: ierror
        integer(c_int) :: c_info, code
        code = c_get_info(int(comm, c_int), c_info)
        info_used = int(c_info)
        if (present(ierror)) ierror = int(code)
    end subroutine

    subroutine region_begin(comm, name, region, ierror)
        integer, intent(in) :: comm
        character(kind=c_char, len=*), intent(in) :: name
        type(Downbeat_region), intent(out) :: region
        integer, intent(out), optional :: ierror
        integer(c_int) :: code
        code = c_region_begin(int(comm, c_int), name, int(len(name), c_int), region)
        if (present(ierror)) ierror = int(code)
    end subroutine

    ! Timestamps the exit.
    subroutine Downbeat_region_end(region, ierror)
        type(Downbeat_region), intent(inout) :: region
        integer, intent(out), optional :: ierror
        integer(c_int) :: code
        code = c_region_end(region)
        if (present(ierror)) ierror = int(code)
    end subroutine

#ifdef DOWNBEAT_MPI_F08
    subroutine harmonize_f08(comm, flag, ierror)
        type(MPI_Comm), intent(in) :: comm
        logical, intent(out) :: flag
        integer, intent(out), optional :: ierror
        call harmonize(comm%MPI_VAL, flag, ierror)
    end subroutine

    subroutine delayed_f08(comm, delay, flag, ierror)
        type(MPI_Comm), intent(in) :: comm
        real(c_double), intent(in) :: delay
        logical, intent(out) :: flag
        integer, intent(out), optional :: ierror
        call delayed(comm%MPI_VAL, delay, flag, ierror)
    end subroutine

    subroutine get_deadline_f08(comm, deadline, ierror)
        type(MPI_Comm), intent(in) :: comm
        real(c_double), intent(out) :: deadline
        integer, intent(out), optional :: ierror
        call get_deadline(comm%MPI_VAL, deadline, ierror)
    end subroutine

    subroutine get_verdict_f08(comm, verdict, ierror)
        type(MPI_Comm), intent(in) :: comm
        integer, intent(out) :: verdict
        integer, intent(out), optional :: ierror
        call get_verdict(comm%MPI_VAL, verdict, ierror)
    end subroutine

    subroutine get_lateness_f08(comm, lateness, ierror)
        type(MPI_Comm), intent(in) :: comm
        real(c_double), intent(out) :: lateness
        integer, intent(out), optional :: ierror
        call get_lateness(comm%MPI_VAL, lateness, ierror)
    end subroutine

    subroutine get_time_f08(comm, time, ierror)
        type(MPI_Comm), intent(in) :: comm
        real(c_double), intent(out) :: time
        integer, intent(out), optional :: ierror
        call get_time(comm%MPI_VAL, time, ierror)
    end subroutine

    subroutine wait_until_f08(comm, time, flag, ierror)
        type(MPI_Comm), intent(in) :: comm
        real(c_double), intent(in) :: time
        logical, intent(out) :: flag
        integer, intent(out), optional :: ierror
        call wait_until(comm%MPI_VAL, time, flag, ierror)
    end subroutine

    subroutine get_error_bound_f08(comm, bound, ierror)
        type(MPI_Comm), intent(in) :: comm
        real(c_double), intent(out) :: bound
        integer, intent(out), optional :: ierror
        call get_error_bound(comm%MPI_VAL, bound, ierror)
    end subroutine

    subroutine get_expected_error_f08(comm, error, ierror)
        type(MPI_Comm), intent(in) :: comm
        real(c_double), intent(out) :: error
        integer, intent(out), optional :: ierror
        call get_expected_error(comm%MPI_VAL, error, ierror)
    end subroutine

    subroutine sync_f08(comm, ierror)
        type(MPI_Comm), intent(in) :: comm
        integer, intent(out), optional :: ierror
        call sync(comm%MPI_VAL, ierror)
    end subroutine

    subroutine get_true_error_f08(comm, error, ierror)
        type(MPI_Comm), intent(in) :: comm
        real(c_double), intent(out) :: error
        integer, intent(out), optional :: ierror
        call get_true_error(comm%MPI_VAL, error, ierror)
    end subroutine

    subroutine get_stats_f08(comm, stats, ierror)
        type(MPI_Comm), intent(in) :: comm
        type(MPIX_Harmonize_stats), intent(out) :: stats
        integer, intent(out), optional :: ierror
        call get_stats(comm%MPI_VAL, stats, ierror)
    end subroutine

    subroutine set_info_f08(comm, info, ierror)
        type(MPI_Comm), intent(in) :: comm
        type(MPI_Info), intent(in) :: info
        integer, intent(out), optional :: ierror
        call set_info(comm%MPI_VAL, info%MPI_VAL, ierror)
    end subroutine

    subroutine get_info_f08(comm, info_used, ierror)
        type(MPI_Comm), intent(in) :: comm
        type(MPI_Info), intent(out) :: info_used
        integer, intent(out), optional :: ierror
        call get_info(comm%MPI_VAL, info_used%MPI_VAL, ierror)
    end subroutine

    subroutine region_begin_f08(comm, name, region, ierror)
        type(MPI_Comm), intent(in) :: comm
        character(kind=c_char, len=*), intent(in) :: name
        type(Downbeat_region), intent(out) :: region
        integer, intent(out), optional :: ierror
        call region_begin(comm%MPI_VAL, name, region, ierror)
    end subroutine
#endif

end module
