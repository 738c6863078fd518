/* A process is killed. On the communicator that had it, every call ends with an error; on what MPIX_Comm_shrink makes
 * of it, MPIX_Harmonize works. Needs ULFM, and a launcher that goes on: tests/chain/test_recovery.py starts it.
 *
 *     test_process_failure WHEN VICTIM [MICROSECONDS]
 *
 * The victim dies so long after the beginning of WHEN; `revoked` kills nobody: VICTIM revokes, and does not call. */
#define _DEFAULT_SOURCE
#include "check_mpi.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#ifdef OMPI_HAVE_MPI_EXT_FTMPI

#define SOON_SECONDS 20.0 /* to notice; much more than it takes */

static int rank;
static int victim;
static useconds_t delay;

static void die(int signal) {
    (void)signal;
    raise(SIGKILL);
}

/* The victim dies while it goes on. */
static void die_later(void) {
    if (rank == victim) {
        signal(SIGALRM, die);
        ualarm(delay, 0);
    }
}

static int is_loss(int code) {
    int class;
    OK(MPI_Error_class(code, &class));
    return class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_REVOKED;
}

/* Calls until there is an error: that of a loss. */
static void call_until_lost(MPI_Comm comm) {
    double begin = MPI_Wtime();
    int code = MPI_SUCCESS;
    int flag;
    while (code == MPI_SUCCESS && MPI_Wtime() - begin < SOON_SECONDS)
        code = MPIX_Harmonize(comm, &flag);
    CHECK(is_loss(code));
}

static MPI_Comm duplicate(MPI_Comm comm) {
    MPI_Comm made;
    OK(MPI_Comm_dup(comm, &made));
    return made;
}

/* All but the victim wait in the call for it; or, if it waits there too, for one that is late. */
static void waiting(MPI_Comm comm, int all_wait) {
    int size;
    MPI_Comm_size(comm, &size);
    if (rank == victim && !all_wait) {
        usleep(delay);
        raise(SIGKILL);
    }
    die_later();
    if (all_wait && rank == (victim + 1) % size)
        usleep(2 * delay);
    call_until_lost(comm);
}

static void revoked(MPI_Comm comm) {
    if (rank == victim) {
        usleep(delay);
        OK(MPIX_Comm_revoke(comm));
    } else {
        call_until_lost(comm);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD)); /* nothing but the revocation has ended the wait */
}

/* What needs more than messages. */
static void changing(MPI_Comm comm, const char *scheme) {
    MPI_Info info;
    int code = MPI_SUCCESS;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "share", "never"));
    die_later();
    for (int i = 0; code == MPI_SUCCESS; ++i) {
        OK(MPI_Info_set(info, "sync", i % 2 == 0 ? scheme : "disciplined"));
        code = MPIX_Harmonize_set_info(comm, info);
        for (int call = 0; call < 3 && code == MPI_SUCCESS; ++call)
            code = MPIX_Harmonize_sync(comm);
    }
    CHECK(is_loss(code));
    OK(MPI_Info_free(&info));
}

/* Whatever is called, and however often. */
static void check_lost(MPI_Comm comm) {
    int flag;
    CHECK(is_loss(MPIX_Harmonize(comm, &flag)));
    CHECK(is_loss(MPIX_Harmonize_sync(comm)));
    CHECK(is_loss(MPIX_Harmonize_set_info(comm, MPI_INFO_NULL)));
}

static void check_recovered(MPI_Comm comm) {
    int good = 0;
    for (int call = 0; call < 1000 && !good; ++call) {
        int flag;
        OK(MPIX_Harmonize(comm, &flag));
        OK(MPI_Allreduce(&flag, &good, 1, MPI_INT, MPI_MAX, comm)); /* all of them, on an idle machine */
    }
    CHECK(good);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    CHECK(argc == 4);
    const char *when = argv[1];
    victim = atoi(argv[2]);
    delay = (useconds_t)atol(argv[3]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI_Comm comm = duplicate(MPI_COMM_WORLD);
    int prepared = strncmp(when, "first", 5) != 0;
    for (int i = 0; prepared && i < 20; ++i)
        harmonize(comm);
    OK(MPI_Barrier(MPI_COMM_WORLD));

    if (strncmp(when, "changing", 8) == 0)
        changing(comm, strcmp(when, "changing") == 0 ? "hierarchical" : "hca3(over=0)");
    else if (strcmp(when, "revoked") == 0 || strcmp(when, "first_revoked") == 0)
        revoked(comm);
    else if (strcmp(when, "any") == 0)
        die_later(), call_until_lost(comm);
    else
        waiting(comm, strcmp(when, "waiting") == 0 || strcmp(when, "first_waiting") == 0);

    check_lost(comm);
    MPI_Comm shrunk;
    OK(MPIX_Comm_revoke(comm));
    OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &shrunk));
    check_recovered(shrunk);
    check_lost(comm);
    OK(MPI_Comm_free(&comm));
    check_recovered(shrunk);
    MPI_Comm again = duplicate(shrunk);
    check_recovered(again);
    if (rank % 2 == 0)
        OK(MPI_Comm_free(&again)); /* else MPI_Finalize does that */
    int all;
    OK(MPI_Comm_size(shrunk, &all));
    printf("recovered: %d processes\n", all);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

#else

int main(void) { return 77; }

#endif
