/*
 * A small MPIX_Harmonize for processes of one node, correct, or with one of the defects that the checks must find:
 *
 *     CONFORMANCE_DEFECT=stale_flag mpiexec -n 2 ./conformance-defects
 *
 * All processes read CLOCK_MONOTONIC, so there are no clocks to synchronize. Without the variable nothing is wrong
 * here, which shows that the checks do not ask for more than the text.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(OPEN_MPI) && defined(__has_include)
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif

int MPIX_Harmonize(MPI_Comm comm, int *flag);

#define SLACK 30e-6     /* seconds from the decision to the deadline */
#define TOLERANCE 1e-6  /* a process that leaves later has a false flag */
#define SLOT 2e-3       /* of the defect `slots` */
#define WAIT_STEP 20e-6 /* of more processes than processors: let the others run */

/* In the order of their names; tests/chain/test_conformance.py has the check that finds each. */
#define DEFECTS(X)                                                                                                     \
    X(none)            /* a correct implementation */                                                                  \
    X(always_true)     /* the flag is true whatever happened: a barrier in disguise */                                 \
    X(any_handle)      /* an intercommunicator is accepted, and a barrier on it */                                     \
    X(apart)           /* processes leave one after another, 0.2 ms apart, with true flags */                          \
    X(copied_state)    /* a duplicate of the communicator has the same state, which is freed twice */                  \
    X(deaf)            /* where a process is lost, waits for those who have heard of it */                             \
    X(early_flag)      /* the flag is decided before the wait */                                                       \
    X(failed_for_good) /* a flag that was false once stays false */                                                    \
    X(false_unwritten) /* a false flag is not written */                                                               \
    X(finalized)       /* something is freed after MPI_Finalize */                                                     \
    X(global_flag)     /* after the deadline processes agree on one flag */                                            \
    X(global_ranks)    /* process 0 is that of MPI_COMM_WORLD */                                                       \
    X(global_state)    /* works on MPI_COMM_WORLD: a subset hangs */                                                   \
    X(leak)            /* the private duplicate is never freed */                                                      \
    X(no_handler)      /* errors are returned, and the error handler is not called */                                  \
    X(no_progress)     /* waits for the others without MPI */                                                          \
    X(one_lock)        /* all communicators share a lock */                                                            \
    X(slots)           /* leaves at the next full 2 ms and does not wait for anybody */                                \
    X(stale_flag)      /* the flag is that of the call before */                                                       \
    X(user_messages)   /* messages on the user's communicator, with a tag that nobody uses */                          \
    X(wrong_class)     /* all errors are MPI_ERR_OTHER */

#define NAME(name) #name,
#define CONSTANT(name) defect_##name,
static const char *const names[] = {DEFECTS(NAME)};
enum defect { DEFECTS(CONSTANT) };
#define HAS(name) (defect() == defect_##name)

struct state {
    MPI_Comm comm;
    MPI_Win window; /* of the defect `no_progress` */
    int *arrived;   /* in that: how often each process has come */
    int last_flag;
    int ever_false;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int key = MPI_KEYVAL_INVALID;

static enum defect defect(void) {
    const char *wanted = getenv("CONFORMANCE_DEFECT");
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(wanted == NULL ? names[0] : wanted, names[i]) == 0)
            return (enum defect)i;
    fprintf(stderr, "CONFORMANCE_DEFECT is '%s'; valid are:", wanted);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        fprintf(stderr, " %s", names[i]);
    fprintf(stderr, "\n");
    exit(2);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double wait_until(double deadline) {
    double time;
    while ((time = now()) < deadline)
        ;
    return time;
}

static int fail(MPI_Comm comm, int code) {
    if (HAS(wrong_class))
        code = MPI_ERR_OTHER;
    if (!HAS(no_handler))
        MPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? MPI_COMM_SELF : comm, code);
    return code;
}

static int free_state(MPI_Comm comm, int key_, void *value, void *extra) {
    struct state *state = value;
    (void)comm;
    (void)key_;
    (void)extra;
    if (HAS(no_progress))
        MPI_Win_free(&state->window);
    if (!HAS(leak))
        MPI_Comm_free(&state->comm);
    free(state);
    return MPI_SUCCESS;
}

static void too_late(void) { MPI_Comm_free_keyval(&key); }

static void make_key(void) {
    pthread_mutex_lock(&lock);
    if (key == MPI_KEYVAL_INVALID) {
        MPI_Comm_create_keyval(HAS(copied_state) ? MPI_COMM_DUP_FN : MPI_COMM_NULL_COPY_FN, free_state, &key, NULL);
        if (HAS(finalized))
            atexit(too_late);
    }
    pthread_mutex_unlock(&lock);
}

static int prepare(MPI_Comm comm, struct state **state) {
    int found;
    make_key();
    MPI_Comm_get_attr(comm, key, (void *)state, &found);
    if (found)
        return MPI_SUCCESS;
    *state = calloc(1, sizeof **state);
    (*state)->last_flag = 1;
    int code = MPI_Comm_dup(HAS(global_state) ? MPI_COMM_WORLD : comm, &(*state)->comm);
    if (code != MPI_SUCCESS) {
        free(*state);
        return code;
    }
    MPI_Comm_set_errhandler((*state)->comm, MPI_ERRORS_RETURN);
    if (HAS(no_progress)) {
        int rank;
        MPI_Aint bytes;
        int unit;
        MPI_Comm_rank(comm, &rank);
        MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, (*state)->comm, &(*state)->arrived,
                                &(*state)->window);
        *(*state)->arrived = 0;
        MPI_Win_shared_query((*state)->window, 0, &bytes, &unit, &(*state)->arrived);
        MPI_Barrier((*state)->comm);
    }
    return MPI_Comm_set_attr(comm, key, *state);
}

/* Why a communicator is of no use, if it is not for what has been seen: a process is lost, or somebody knows of one. */
static int lost(MPI_Comm comm, int seen) {
#ifdef MPIX_FT
    MPI_Group failed;
    int count;
    int revoked;
    MPIX_Comm_is_revoked(comm, &revoked);
    MPIX_Comm_get_failed(comm, &failed);
    MPI_Group_size(failed, &count);
    MPI_Group_free(&failed);
    return revoked ? MPIX_ERR_REVOKED : count > 0 ? MPIX_ERR_PROC_FAILED : seen;
#else
    (void)comm;
    return seen;
#endif
}

/* Those who wait for this process hear that it does not come. */
static int give_up(struct state *state, int code) {
#ifdef MPIX_FT
    if (!HAS(deaf))
        MPIX_Comm_revoke(state->comm);
#endif
    (void)state;
    return code;
}

static int receive(MPI_Comm user, struct state *state, double *deadline, int count, int from) {
    MPI_Request request;
    int done = 0;
    int code = MPI_Irecv(deadline, count, MPI_DOUBLE, from, 7, HAS(user_messages) ? user : state->comm, &request);
    while (code == MPI_SUCCESS && !done) {
        if (lost(user, MPI_SUCCESS) != MPI_SUCCESS)
            give_up(state, 0);
        code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    return code;
}

/* The deadline, when all have come. */
static int agree(MPI_Comm user, struct state *state, double *deadline) {
    int rank;
    int size;
    MPI_Comm comm = HAS(user_messages) ? user : state->comm;
    MPI_Comm_rank(HAS(global_ranks) ? MPI_COMM_WORLD : comm, &rank);
    MPI_Comm_size(comm, &size);
    if (HAS(slots)) {
        *deadline = SLOT * (1.0 + (double)(long long)(now() / SLOT));
        return MPI_SUCCESS;
    }
    if (HAS(no_progress)) {
        volatile int *arrived = state->arrived;
        int calls = ++arrived[rank];
        for (int i = 0; i < size; ++i)
            while (arrived[i] < calls)
                nanosleep(&(struct timespec){.tv_nsec = (long)(WAIT_STEP * 1e9)}, NULL);
    }
    /* Messages one by one: from everyone to process 0, and back. */
    if (rank != 0) {
        int code = MPI_Send(NULL, 0, MPI_DOUBLE, 0, 7, comm);
        return code == MPI_SUCCESS ? receive(user, state, deadline, 1, 0) : code;
    }
    int code = MPI_SUCCESS;
    for (int i = 1; i < size && code == MPI_SUCCESS; ++i)
        code = receive(user, state, NULL, 0, i);
    *deadline = now() + SLACK;
    for (int i = 1; i < size && code == MPI_SUCCESS; ++i)
        code = MPI_Send(deadline, 1, MPI_DOUBLE, i, 7, comm);
    return code;
}

static void leave(struct state *state, double deadline, int *flag) {
    int rank;
    MPI_Comm_rank(state->comm, &rank);
    int early = now() <= deadline;
    int good = wait_until(deadline) <= deadline + TOLERANCE;
    if (HAS(apart))
        wait_until(deadline + 0.2e-3 * rank);
    if (HAS(early_flag))
        good = early;
    if (HAS(always_true))
        good = 1;
    if (HAS(global_flag))
        MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, state->comm);
    state->ever_false |= !good;
    int result = HAS(stale_flag) ? state->last_flag : HAS(failed_for_good) ? !state->ever_false : good;
    state->last_flag = good;
    if (result || !HAS(false_unwritten))
        *flag = result;
}

int MPIX_Harmonize(MPI_Comm comm, int *flag) {
    struct state *state;
    int inter;
    if (comm == MPI_COMM_NULL)
        return fail(comm, MPI_ERR_COMM);
    MPI_Comm_test_inter(comm, &inter);
    if (inter && HAS(any_handle)) {
        *flag = 1;
        return MPI_Barrier(comm);
    }
    if (inter)
        return fail(comm, MPI_ERR_COMM);
    if (flag == NULL)
        return fail(comm, MPI_ERR_ARG);
    double deadline = 0.0;
    int code = lost(comm, MPI_SUCCESS);
    if (code == MPI_SUCCESS)
        code = lost(comm, prepare(comm, &state));
    if (code != MPI_SUCCESS)
        return fail(comm, code);
    static pthread_mutex_t one_lock = PTHREAD_MUTEX_INITIALIZER;
    if (HAS(one_lock))
        pthread_mutex_lock(&one_lock);
    code = agree(comm, state, &deadline);
    if (code == MPI_SUCCESS)
        leave(state, deadline, flag);
    if (HAS(one_lock))
        pthread_mutex_unlock(&one_lock);
    return code == MPI_SUCCESS ? MPI_SUCCESS : fail(comm, lost(comm, give_up(state, code)));
}
