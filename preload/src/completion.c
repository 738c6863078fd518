/* Requests of nonblocking and persistent collectives: from the call to the completion that MPI_Wait or MPI_Test sees.
 */
#define _GNU_SOURCE
#include "completion.h"

#include "frames.h"
#include "process.h"
#include "recorded_call.h"
#include "samples.h"

#include <pthread.h>
#include <stdlib.h>

#define BUCKETS 4096

/* A request. That of a nonblocking collective is here until its completion is seen, a persistent one until it is freed.
 * One call at a time has it: MPI forbids two threads to complete one request. */
struct expected {
    struct expected *next;
    MPI_Request request;
    struct call call;
    int persistent;
    enum { IDLE, STARTING, STARTED } round; /* of a persistent one */
    int doubtful;                           /* a call that was to complete it failed, or was left: it may be gone */
    int root;
    const MPI_Comm *made; /* the communicator of MPI_Comm_idup; else NULL */
    uint64_t origin;
};

static struct expected *buckets[BUCKETS];
static struct expected *spare;
PER_THREAD struct expected *own_spare; /* one, which needs no lock */
PER_THREAD struct expected *taken;     /* by the call that sees whether they are complete; in a list by `next` */
static int outstanding;
static pthread_mutex_t lock = LOCK;
PER_THREAD struct expected **scratch;
PER_THREAD int scratch_size;
PER_THREAD int owner; /* whether the end of this thread gives back what it owns */
static pthread_key_t ends;
static pthread_once_t ends_made = PTHREAD_ONCE_INIT;
static int ends_known;

/* Without threads there is nobody to wait for, and a lock costs as much as a timestamp. */
static void lock_requests(void) {
    if (recording_threaded)
        pthread_mutex_lock(&lock);
}

static void unlock_requests(void) {
    if (recording_threaded)
        pthread_mutex_unlock(&lock);
}

static struct expected **bucket_of(MPI_Request request) {
    return &buckets[((uint64_t)(uintptr_t)request * 0x9e3779b97f4a7c15U) >> 52];
}

/* After others with the same handle: MPI libraries give one handle to all operations that completed at once. Returns
 * what was in doubt with this handle, taken out: it is gone, as MPI gave its handle to another one. */
static struct expected *link_last(struct expected *one) {
    struct expected *gone = NULL;
    struct expected **link = bucket_of(one->request);
    while (*link != NULL) {
        struct expected *other = *link;
        if (other->doubtful && !one->doubtful && other->request == one->request) {
            *link = other->next;
            other->next = gone;
            gone = other;
        } else {
            link = &other->next;
        }
    }
    one->next = NULL;
    *link = one;
    return gone;
}

static void drop(struct expected *one);

static void drop_all(struct expected *first) {
    for (struct expected *one = first, *next; one != NULL; one = next) {
        next = one->next;
        drop(one);
    }
}

static void put_back(struct expected *one, int doubtful) {
    if (one == NULL || one->persistent)
        return;
    one->doubtful = doubtful;
    lock_requests();
    struct expected *gone = link_last(one);
    unlock_requests();
    drop_all(gone);
}

/* The program calls again, so what this thread still has was taken by a call that was left without a return: it may be
 * complete or not. */
static void put_back_left(void) {
    struct expected *one = taken;
    taken = NULL;
    for (struct expected *next; one != NULL; one = next) {
        next = one->next;
        put_back(one, 1);
    }
}

static struct expected *remember(MPI_Request request, const struct call *call) {
    if (taken != NULL)
        put_back_left();
    struct expected *one = own_spare;
    struct expected *gone = NULL;
    own_spare = NULL;
    lock_requests();
    if (one == NULL) {
        one = spare;
        if (one != NULL)
            spare = one->next;
        else
            one = malloc(sizeof *one);
    }
    if (one != NULL) {
        one->request = request; /* field by field: clearing all of it takes as long as a timestamp */
        one->call = *call;
        one->persistent = 0;
        one->round = IDLE;
        one->doubtful = 0;
        one->made = NULL;
        gone = link_last(one);
        RECORDING_ADD32(outstanding, 1);
    }
    unlock_requests();
    drop_all(gone);
    return one;
}

void completion_expect(MPI_Request request, const struct call *call) { remember(request, call); }

void completion_expect_persistent(MPI_Request request, const struct call *call, int root) {
    struct expected *one = remember(request, call);
    if (one != NULL) {
        one->root = root;
        one->persistent = 1;
    }
}

void completion_expect_communicator(MPI_Request request, const MPI_Comm *handle, uint64_t origin) {
    struct expected *one = remember(request, &(struct call){.comm = NULL});
    if (one != NULL) {
        one->made = handle;
        one->origin = origin;
    }
}

/* Requests in doubt will not complete any more. */
void completion_forget(const struct comm *comm) {
    struct expected *gone = NULL;
    for (struct expected *one = taken; one != NULL; one = one->next)
        if (one->call.comm == comm)
            one->call.comm = NULL;
    lock_requests();
    for (int i = 0; outstanding > 0 && i < BUCKETS; ++i)
        for (struct expected **link = &buckets[i]; *link != NULL;) {
            struct expected *one = *link;
            if (one->call.comm == comm && one->doubtful) {
                *link = one->next;
                one->next = gone;
                gone = one;
                continue;
            }
            if (one->call.comm == comm)
                one->call.comm = NULL;
            link = &one->next;
        }
    unlock_requests();
    drop_all(gone);
}

static struct expected **find_link(MPI_Request request) {
    struct expected **link = bucket_of(request);
    while (*link != NULL && (*link)->request != request)
        link = &(*link)->next;
    return link;
}

/* Takes a request out of the table, for the call that this thread is in; a persistent one stays there. NULL if it is
 * not ours. */
static struct expected *take(MPI_Request request) {
    if (request == MPI_REQUEST_NULL)
        return NULL;
    lock_requests();
    struct expected **link = find_link(request);
    struct expected *one = *link;
    if (one != NULL && !one->persistent) {
        *link = one->next;
        one->next = taken;
        taken = one;
    }
    unlock_requests();
    return one;
}

static struct expected *find_persistent(MPI_Request request) {
    if (request == MPI_REQUEST_NULL)
        return NULL;
    lock_requests();
    struct expected *one = *find_link(request);
    unlock_requests();
    return one != NULL && one->persistent ? one : NULL;
}

static void give_to_all(struct expected *one) {
    lock_requests();
    one->next = spare;
    spare = one;
    unlock_requests();
}

/* A program may start and end threads for years. */
static void end_thread(void *anything) {
    (void)anything;
    if (own_spare != NULL)
        give_to_all(own_spare);
    free(scratch);
    own_spare = NULL;
    scratch = NULL;
    scratch_size = 0;
    owner = 0;
}

static void make_ends(void) { ends_known = pthread_key_create(&ends, end_thread) == 0; }

static int become_owner(void) {
    pthread_once(&ends_made, make_ends);
    owner = ends_known && pthread_setspecific(ends, &buckets) == 0; /* any pointer but NULL */
    return owner;
}

/* Whether this thread may own something: its end will give it back. */
static int may_own(void) { return owner || become_owner(); }

static void give_back(struct expected *one) {
    RECORDING_ADD32(outstanding, -1);
    if (own_spare == NULL && may_own())
        own_spare = one;
    else
        give_to_all(one);
}

/* Its completion will not be seen. */
static void drop(struct expected *one) {
    if (one->call.row != NULL && (!one->persistent || one->round == STARTED))
        recording_hold(one->call.row, -1);
    give_back(one);
}

/* The completion was seen at `now`, by a call that began at `begin` and saw that of so many collectives together: each
 * has its part of the time. */
static void complete(struct expected *one, int64_t begin, int64_t now, int together) {
    if (one == NULL)
        return;
    if (one->made != NULL) {
        communicators_made(*one->made, one->origin);
    } else if (!one->persistent || one->round == STARTED) {
        struct call *call = &one->call;
        call->exit = now;
        elsewhere = 0;
        if (call->row != NULL)
            RECORDING_ADD(call->row->waits, together == 1 ? now - begin : (now - begin) / together);
        if (call->record != NULL) {
            call->record->waited = begin;
            call->record->together = (uint16_t)(together < UINT16_MAX ? together : UINT16_MAX);
        }
        call_complete(call);
        if (call->comm != NULL && call->comm->waiting != NULL)
            samples_complete(call->comm, &(struct sampled_operation){call->bytes, call->operation, call->kind},
                             call->entry, call->exit);
    }
    one->round = IDLE;
    if (!one->persistent)
        give_back(one);
}

/* Whether any of ours may be among the requests of a call. */
static inline int expecting(int program) {
    if (!program || !begun)
        return 0;
    if (__builtin_expect(taken != NULL, 0))
        put_back_left();
    return __atomic_load_n(&outstanding, __ATOMIC_RELAXED) != 0;
}

/* Returns whether what the call has taken still is its own. */
static int leave_expecting(uintptr_t frame) {
    if (!frame_leave(frame))
        return 0;
    taken = NULL;
    return 1;
}

/* Takes out all of the requests; NULL where there is none. */
static struct expected **take_all(int requests, const MPI_Request *handles) {
    if (requests > scratch_size) {
        struct expected **larger = may_own() ? realloc(scratch, (size_t)requests * sizeof *scratch) : NULL;
        if (larger == NULL)
            return NULL;
        scratch = larger;
        scratch_size = requests;
    }
    for (int i = 0; i < requests; ++i)
        scratch[i] = take(handles[i]);
    return scratch;
}

/* After a call that completes all of its requests, or none (`done`). */
static void complete_all(int requests, struct expected **all, int64_t begin, int64_t now, int code, int done) {
    int together = 0;
    for (int i = 0; i < requests; ++i)
        together += all[i] != NULL;
    for (int i = 0; i < requests; ++i)
        if (code == MPI_SUCCESS && done)
            complete(all[i], begin, now, together);
        else
            put_back(all[i], code != MPI_SUCCESS);
}

#define ONE(Name, parameters, arguments, done)                                                                         \
    WRAP(Name);                                                                                                        \
    int Name parameters {                                                                                              \
        FRAME(frame);                                                                                                  \
        int program = frame_enter(frame);                                                                              \
        struct expected *one = expecting(program) ? take(*request) : NULL;                                             \
        int64_t begin = timed_begin(program);                                                                          \
        int code = REAL(Name) arguments;                                                                               \
        int own = leave_expecting(frame);                                                                              \
        int64_t now = timed_end(TRACE_REQUESTS, begin);                                                                \
        if (one != NULL && own && code == MPI_SUCCESS && (done))                                                       \
            complete(one, begin, now, 1);                                                                              \
        else if (one != NULL && own)                                                                                   \
            put_back(one, code != MPI_SUCCESS);                                                                        \
        return code;                                                                                                   \
    }

BOTH(ONE, Wait, (MPI_Request * request, MPI_Status *status), (request, status), 1)
BOTH(ONE, Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status), *flag)

#define ALL(Name, parameters, arguments, done)                                                                         \
    WRAP(Name);                                                                                                        \
    int Name parameters {                                                                                              \
        FRAME(frame);                                                                                                  \
        int program = frame_enter(frame);                                                                              \
        struct expected **all = expecting(program) && count > 0 ? take_all(count, array_of_requests) : NULL;           \
        int64_t begin = timed_begin(program);                                                                          \
        int code = REAL(Name) arguments;                                                                               \
        int own = leave_expecting(frame);                                                                              \
        int64_t now = timed_end(TRACE_REQUESTS, begin);                                                                \
        if (all != NULL && own)                                                                                        \
            complete_all(count, all, begin, now, code, done);                                                          \
        return code;                                                                                                   \
    }

BOTH(ALL, Waitall, (int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]),
     (count, array_of_requests, array_of_statuses), 1)
BOTH(ALL, Testall, (int count, MPI_Request array_of_requests[], int *flag, MPI_Status array_of_statuses[]),
     (count, array_of_requests, flag, array_of_statuses), *flag)

/* Completes the requests at `indices`, and puts the others back. */
static void complete_some(int requests, struct expected **all, int64_t begin, int64_t now, int code, int found,
                          const int *indices) {
    int together = 0;
    for (int i = 0; i < found; ++i)
        together += all[indices[i]] != NULL;
    for (int i = 0; i < found; ++i) {
        complete(all[indices[i]], begin, now, together);
        all[indices[i]] = NULL;
    }
    for (int i = 0; i < requests; ++i)
        put_back(all[i], code != MPI_SUCCESS);
}

/* A call that completes some of its requests: `found` of them, at `indices`. */
#define SOME(Name, parameters, arguments, found, indices)                                                              \
    WRAP(Name);                                                                                                        \
    int Name parameters {                                                                                              \
        FRAME(frame);                                                                                                  \
        int program = frame_enter(frame);                                                                              \
        struct expected **all = expecting(program) && count > 0 ? take_all(count, array_of_requests) : NULL;           \
        int64_t begin = timed_begin(program);                                                                          \
        int code = REAL(Name) arguments;                                                                               \
        int own = leave_expecting(frame);                                                                              \
        int64_t now = timed_end(TRACE_REQUESTS, begin);                                                                \
        if (all != NULL && own)                                                                                        \
            complete_some(count, all, begin, now, code, code == MPI_SUCCESS ? found : 0, indices);                     \
        return code;                                                                                                   \
    }

BOTH(SOME, Waitany, (int count, MPI_Request array_of_requests[], int *index, MPI_Status *status),
     (count, array_of_requests, index, status), *index != MPI_UNDEFINED, index)
BOTH(SOME, Testany, (int count, MPI_Request array_of_requests[], int *index, int *flag, MPI_Status *status),
     (count, array_of_requests, index, flag, status), *flag &&*index != MPI_UNDEFINED, index)
BOTH(SOME, Waitsome,
     (int count, MPI_Request array_of_requests[], int *found, int indices[], MPI_Status array_of_statuses[]),
     (count, array_of_requests, found, indices, array_of_statuses), *found != MPI_UNDEFINED ? *found : 0, indices)
BOTH(SOME, Testsome,
     (int count, MPI_Request array_of_requests[], int *found, int indices[], MPI_Status array_of_statuses[]),
     (count, array_of_requests, found, indices, array_of_statuses), *found != MPI_UNDEFINED ? *found : 0, indices)

/* Takes a request out, also a persistent one. */
static void forget_request(MPI_Request request) {
    lock_requests();
    struct expected **link = find_link(request);
    struct expected *one = *link;
    if (one != NULL)
        *link = one->next;
    unlock_requests();
    if (one != NULL)
        drop(one);
}

#define FREE(Function, parameters)                                                                                     \
    WRAP(Function);                                                                                                    \
    int Function parameters {                                                                                          \
        FRAME(frame);                                                                                                  \
        if (expecting(frame_enter(frame)) && *request != MPI_REQUEST_NULL)                                             \
            forget_request(*request);                                                                                  \
        int code = REAL(Function)(request);                                                                            \
        frame_leave(frame);                                                                                            \
        return code;                                                                                                   \
    }
BOTH(FREE, Request_free, (MPI_Request * request))

/* A start of a persistent collective is a call of its own. */
static struct expected *begin_round(MPI_Request request) {
    struct expected *one = find_persistent(request);
    if (one == NULL)
        return NULL;
    ++one->call.round;
    if (!active || one->call.comm == NULL)
        return NULL;
    one->call.template = 0;
    call_record(&one->call, one->call.bytes, one->root);
    one->round = STARTING;
    return one;
}

/* The call that started it returned at `now`, having started so many collectives together. */
static void end_start(struct expected *one, int code, int64_t now, int together) {
    one->round = code == MPI_SUCCESS ? STARTED : IDLE;
    if (code != MPI_SUCCESS)
        return;
    elsewhere = 0;
    if (one->call.row != NULL) {
        recording_hold(one->call.row, 1);
        RECORDING_ADD(one->call.row->waits, (now - one->call.entry) / together);
    }
    if (one->call.record != NULL)
        one->call.record->returned = now;
}

static int begin_rounds(int count, const MPI_Request *requests) {
    int together = 0;
    for (int i = 0; i < count; ++i)
        together += begin_round(requests[i]) != NULL;
    return together;
}

static void end_starts(int count, const MPI_Request *requests, int code, int64_t now, int together) {
    for (int i = 0; i < count && together > 0; ++i) {
        struct expected *one = find_persistent(requests[i]);
        if (one != NULL && one->round == STARTING)
            end_start(one, code, now, together);
    }
}

#define STARTS(Function, parameters, arguments, count, requests)                                                       \
    WRAP(Function);                                                                                                    \
    int Function parameters {                                                                                          \
        FRAME(frame);                                                                                                  \
        int program = frame_enter(frame);                                                                              \
        int64_t begin = timed_begin(program);                                                                          \
        int together = expecting(program) ? begin_rounds(count, requests) : 0;                                         \
        int code = REAL(Function) arguments;                                                                           \
        frame_leave(frame);                                                                                            \
        end_starts(count, requests, code, timed_end(TRACE_REQUESTS, begin), together);                                 \
        return code;                                                                                                   \
    }
BOTH(STARTS, Start, (MPI_Request * request), (request), 1, request)
BOTH(STARTS, Startall, (int count, MPI_Request array_of_requests[]), (count, array_of_requests), count,
     array_of_requests)
