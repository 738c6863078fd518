! Tests of the Fortran module with one kind of handle: every call, with and without ierror, against known results. main.c runs
! it.
#ifdef TEST_F08
#define COMM_TYPE type(MPI_Comm)
#define INFO_TYPE type(MPI_Info)
#define NEW_COMM(handle) MPI_Comm(handle)
#define NEW_INFO(handle) MPI_Info(handle)
#define NUMBER(info) info%MPI_VAL
#else
#define COMM_TYPE integer
#define INFO_TYPE integer
#define NEW_COMM(handle) handle
#define NEW_INFO(handle) handle
#define NUMBER(info) info
#endif

module checks
    use, intrinsic :: iso_c_binding
#ifdef TEST_F08
    use mpi_f08, only: MPI_Comm, MPI_Info
#endif
    use downbeat
    implicit none
    private
    public :: run_checks, call_before_init

    ! The standard's numbers differ between MPI libraries; C compares MPI_ERR_ARG and similar codes.
    interface
        subroutine c_check(truth, what) bind(C, name="check")
            import :: c_char, c_int
            integer(c_int), value :: truth
            character(kind=c_char), intent(in) :: what(*)
        end subroutine
        function class_of(code) bind(C) result(class)
            import :: c_int
            integer(c_int), value :: code
            integer(c_int) :: class
        end function
        function minimum(value) bind(C) result(least)
            import :: c_int
            integer(c_int), value :: value
            integer(c_int) :: least
        end function
        function spread_of(value) bind(C, name="spread") result(difference)
            import :: c_double
            real(c_double), value :: value
            real(c_double) :: difference
        end function
        function null_comm() bind(C) result(comm)
            import :: c_int
            integer(c_int) :: comm
        end function
        function one_setting(key, value) bind(C) result(info)
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: key(*), value(*)
            integer(c_int) :: info
        end function
        subroutine release_info(info) bind(C)
            import :: c_int
            integer(c_int), value :: info
        end subroutine
        function has_setting(info, key, value) bind(C) result(flag)
            import :: c_char, c_int
            integer(c_int), value :: info
            character(kind=c_char), intent(in) :: key(*), value(*)
            integer(c_int) :: flag
        end function
        function is_version(text) bind(C) result(flag)
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: text(*)
            integer(c_int) :: flag
        end function
        subroutine c_stats(stats) bind(C)
            import :: MPIX_Harmonize_stats
            type(MPIX_Harmonize_stats), intent(out) :: stats
        end subroutine
    end interface

    integer, parameter :: success = 0
    COMM_TYPE :: comm
    integer :: rank, size, undefined

contains

    subroutine check(truth, what)
        logical, intent(in) :: truth
        character(len=*), intent(in) :: what
        call c_check(merge(1_c_int, 0_c_int, truth), what//c_null_char)
    end subroutine

    ! The same without ierror.
    subroutine set(key, value)
        character(len=*), intent(in) :: key, value
        INFO_TYPE :: info
        integer :: ierror
        info = NEW_INFO(one_setting(key//c_null_char, value//c_null_char))
        call MPIX_Harmonize_set_info(comm, info, ierror)
        call check(ierror == success, "a setting is taken")
        call MPIX_Harmonize_set_info(comm, info)
        call release_info(NUMBER(info))
    end subroutine

    subroutine settings()
        INFO_TYPE :: info
        integer :: ierror
        call set("slack", "1e-3")
        call MPIX_Harmonize_get_info(comm, info, ierror)
        call check(ierror == success, "settings are known")
        call check(has_setting(NUMBER(info), "slack"//c_null_char, "0.001"//c_null_char) == 1, "slack is what was set")
        call release_info(NUMBER(info))
        call MPIX_Harmonize_get_info(comm, info)
        call check(has_setting(NUMBER(info), "share"//c_null_char, "verified"//c_null_char) == 1, "share is not set")
        call release_info(NUMBER(info))
        call set("slack", "auto")

        info = NEW_INFO(one_setting("slak"//c_null_char, "1"//c_null_char))
        call MPIX_Harmonize_set_info(comm, info, ierror)
        call check(ierror /= success, "an unknown setting is refused")
        call release_info(NUMBER(info))
    end subroutine

    ! As test_sync.c: the true error is within the bound, directly after a synchronization and later.
    subroutine truth()
        double precision :: error, bound, expected
        type(MPIX_Harmonize_stats) :: stats
        integer :: i, ierror
        call set("validation", "offset=100,skew=9e-6,wander=0.5e-6,seed=1")
        call MPIX_Harmonize_get_stats(comm, stats)
        call check(stats%clock_domains == size, "every process has a clock of its own")
        do i = 1, 5
            call MPIX_Harmonize_sync(comm, ierror)
            call check(ierror == success, "clocks are synchronized")
            call MPIX_Harmonize_true_error(comm, error, ierror)
            call check(ierror == success, "the true error is known")
            call MPIX_Harmonize_error_bound(comm, bound, ierror) ! later, so not smaller than at the time of the error
            call check(ierror == success .and. abs(error) <= bound, "the true error is within the bound")
            call check(abs(error) < 1, "clocks that are up to 200 s apart were synchronized")
            call MPIX_Harmonize_expected_error(comm, expected, ierror)
            call check(ierror == success .and. expected >= 0 .and. expected <= bound, "the expected error is within the bound")
            if (rank == 0) call check(error == 0 .and. bound == 0 .and. expected == 0, "process 0 has the global clock")
        end do
        call MPIX_Harmonize_sync(comm)
        call MPIX_Harmonize_true_error(comm, error)
        call MPIX_Harmonize_error_bound(comm, bound)
        call MPIX_Harmonize_expected_error(comm, expected)
        call check(abs(error) <= bound .and. expected <= bound, "the same without ierror")
    end subroutine

    ! A start, its deadline, and its verdict in the next one, with the validation clock.
    subroutine starts()
        double precision :: deadline, time, lateness, before, delay
        logical :: flag, all_flags
        integer :: i, verdict, ierror
        type(MPIX_Harmonize_stats) :: stats
        call MPIX_Harmonize_get_stats(comm, stats)
        call check(stats%calls == 0, "no start yet")
        call MPIX_Harmonize_deadline(comm, deadline, ierror)
        call check(ierror /= success, "there is no deadline yet")
        call MPIX_Harmonize_verdict(comm, verdict, ierror)
        call check(ierror == success .and. verdict == undefined, "there is no verdict yet")
        call set("slack", "2e-3")
        all_flags = .false.
        before = -1
        do i = 1, 6
            delay = 0
            if (mod(i, 2) == 0) then
                call MPIX_Harmonize(comm, flag, ierror)
            else
                delay = 1d-4*rank
                call MPIX_Harmonize_delayed(comm, delay, flag, ierror)
            end if
            call check(ierror == success, "a start")
            call MPIX_Harmonize_time(comm, time, ierror)
            call check(ierror == success, "the global clock is known")
            call MPIX_Harmonize_deadline(comm, deadline, ierror)
            call check(ierror == success, "the deadline is known")
            call check(time >= deadline + delay, "nobody leaves before the deadline and its own delay")
            call check(spread_of(deadline) == 0, "the deadline is common")
            call check(deadline > before, "deadlines increase")
            before = deadline
            call MPIX_Harmonize_verdict(comm, verdict, ierror)
            if (i > 1) then
                call check(verdict == merge(1, 0, all_flags), "the verdict is that on all flags of the call before")
                call MPIX_Harmonize_lateness(comm, lateness, ierror)
                call check(ierror == success .and. lateness >= 0, "the lateness is known")
                call check(spread_of(lateness) == 0, "the lateness is common")
            end if
            all_flags = minimum(merge(1_c_int, 0_c_int, flag)) == 1
        end do
        call MPIX_Harmonize(comm, flag)
        call MPIX_Harmonize_delayed(comm, 0d0, flag)
        call MPIX_Harmonize_time(comm, time)
        call MPIX_Harmonize_deadline(comm, deadline)
        call MPIX_Harmonize_verdict(comm, verdict)
        call MPIX_Harmonize_lateness(comm, lateness)
        call check(time >= deadline .and. (verdict == 0 .or. verdict == 1) .and. lateness >= 0, "the same without ierror")
        call set("slack", "auto")

        call MPIX_Harmonize_delayed(comm, -1d0, flag, ierror)
        call check(ierror /= success, "a delay before the deadline is refused")
    end subroutine

    ! No wait ends early; if each rank has a processor, at least one is not disturbed. A wait for a past time returns at once.
    subroutine waits()
        double precision :: time, reached
        logical :: flag
        integer :: i, ierror
        do i = 1, 500
            call MPIX_Harmonize_time(comm, time)
            call MPIX_Harmonize_wait_until(comm, time + 1d-4, flag, ierror)
            call check(ierror == success, "a wait")
            call MPIX_Harmonize_time(comm, reached)
            call check(reached >= time + 1d-4, "a wait does not end early")
            if (flag .or. size > 2) exit
        end do
        call check(flag .or. size > 2, "a wait ends in time")
        call MPIX_Harmonize_wait_until(comm, time, flag)
        call check(.not. flag, "the past is missed")
    end subroutine

    ! Every field has the same offset as in C.
    subroutine statistics()
        type(MPIX_Harmonize_stats) :: stats, expected
        integer :: ierror
        call c_stats(expected)
        call MPIX_Harmonize_get_stats(comm, stats, ierror)
        call check(ierror == success, "statistics")
        call check(stats%calls == 8 .and. stats%calls == expected%calls, "calls")
        call check(stats%late_arrivals == expected%late_arrivals, "late_arrivals")
        call check(stats%late_exits == expected%late_exits, "late_exits")
        call check(stats%unsure_clocks == expected%unsure_clocks, "unsure_clocks")
        call check(stats%contradictions == expected%contradictions, "contradictions")
        call check(stats%unflagged_exits == expected%unflagged_exits, "unflagged_exits")
        call check(stats%invalid_calls == expected%invalid_calls, "invalid_calls")
        call check(stats%syncs >= 6 .and. stats%syncs == expected%syncs, "syncs")
        call check(stats%sync_seconds > 0 .and. stats%sync_seconds == expected%sync_seconds, "sync_seconds")
        call check(stats%sync_share > 0 .and. stats%sync_share <= expected%sync_share, "sync_share") ! time passes
        call check(stats%sync_messages == expected%sync_messages, "sync_messages")
        call check(stats%slack > 0 .and. stats%slack == expected%slack, "slack")
        call check(stats%lag == expected%lag, "lag")
        call check(stats%error_bound >= expected%error_bound, "error_bound")
        call check(stats%expected_error >= expected%expected_error, "expected_error")
        call check(stats%sync_error == expected%sync_error, "sync_error")
        call check(stats%flag_error > 0 .and. stats%flag_error == expected%flag_error, "flag_error")
        call check(stats%tolerance > 0 .and. stats%tolerance == expected%tolerance, "tolerance")
        call check(stats%clock_domains == size, "clock_domains")
        call check(stats%oversubscribed == expected%oversubscribed, "oversubscribed")
    end subroutine

    ! The error handlers return.
    subroutine errors()
        COMM_TYPE :: null
        double precision :: time
        logical :: flag
        integer :: ierror, codes(3)
        null = NEW_COMM(null_comm())
        call MPIX_Harmonize(null, flag, ierror)
        codes(1) = class_of(ierror)
        call MPIX_Harmonize_sync(null, ierror)
        codes(2) = class_of(ierror)
        call MPIX_Harmonize_time(null, time, ierror)
        codes(3) = class_of(ierror)
        call check(all(codes == codes(1)) .and. codes(1) /= success, "the null communicator is an error of one class")
        call check(.not. flag, "where there was no start there is no flag")
        call MPIX_Harmonize(null, flag) ! returns
    end subroutine

    subroutine call_before_init(code) bind(C)
        integer(c_int), intent(out) :: code
        integer :: ierror
        COMM_TYPE :: none
        call check(is_version(trim(Downbeat_version())//c_null_char) == 1, "the version is that of the library")
        none = NEW_COMM(0_c_int)
        call MPIX_Harmonize_sync(none, ierror)
        code = int(ierror, c_int)
    end subroutine

    subroutine run_checks(the_comm, the_rank, the_size, c_undefined) bind(C)
        integer(c_int), value :: the_comm, the_rank, the_size, c_undefined
        comm = NEW_COMM(the_comm)
        rank = the_rank
        size = the_size
        undefined = c_undefined
        call errors()
        call settings()
        call truth()
        call starts()
        call waits()
        call statistics()
    end subroutine
end module
