/* Requests of nonblocking and persistent collectives: from the call to the completion that MPI_Wait or MPI_Test sees.
 */
#include "preload.h"

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
    int started;
    int root;
    const MPI_Comm *made; /* the communicator of MPI_Comm_idup; else NULL */
    uint64_t origin;
};

static struct expected *buckets[BUCKETS];
static struct expected *spare;
PER_THREAD struct expected *own_spare; /* one, which needs no lock */
static int outstanding;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
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

/* After others with the same handle: MPI libraries give one handle to all operations that completed at once. */
static void link_last(struct expected *one) {
    struct expected **link = bucket_of(one->request);
    while (*link != NULL)
        link = &(*link)->next;
    one->next = NULL;
    *link = one;
}

static struct expected *remember(MPI_Request request, const struct call *call) {
    struct expected *one = own_spare;
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
        *one = (struct expected){.request = request, .call = *call};
        link_last(one);
        RECORDING_ADD32(outstanding, 1);
    }
    unlock_requests();
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

void completion_forget(const struct comm *comm) {
    lock_requests();
    for (int i = 0; outstanding > 0 && i < BUCKETS; ++i)
        for (struct expected *one = buckets[i]; one != NULL; one = one->next)
            if (one->call.comm == comm)
                one->call.comm = NULL;
    unlock_requests();
}

/* Takes a request out; a persistent one stays in. NULL if it is not ours. */
static struct expected *take(MPI_Request request, int also_persistent) {
    if (request == MPI_REQUEST_NULL)
        return NULL;
    lock_requests();
    struct expected **link = bucket_of(request);
    while (*link != NULL && (*link)->request != request)
        link = &(*link)->next;
    struct expected *one = *link;
    if (one != NULL && (!one->persistent || also_persistent))
        *link = one->next;
    unlock_requests();
    return one;
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

/* Returns whether this thread may own something: its end will give it back. */
static int may_own(void) {
    if (!owner) {
        pthread_once(&ends_made, make_ends);
        owner = ends_known && pthread_setspecific(ends, &buckets) == 0; /* any pointer but NULL */
    }
    return owner;
}

static void give_back(struct expected *one) {
    RECORDING_ADD32(outstanding, -1);
    if (own_spare == NULL && may_own())
        own_spare = one;
    else
        give_to_all(one);
}

static void put_back(struct expected *one) {
    if (one == NULL || one->persistent)
        return;
    lock_requests();
    link_last(one);
    unlock_requests();
}

/* The completion was seen at `now`, by a call that began at `begin` and saw that of so many collectives together: each
 * has its part of the time. */
static void complete(struct expected *one, int64_t begin, int64_t now, int together) {
    if (one == NULL)
        return;
    if (one->made != NULL) {
        communicators_made(*one->made, one->origin);
    } else if (!one->persistent || one->started) {
        struct call *call = &one->call;
        call->exit = now;
        elsewhere = 0;
        if (call->row != NULL)
            RECORDING_ADD(call->row->waits, (now - begin) / together);
        if (call->record != NULL) {
            call->record->waited = begin;
            call->record->together = (uint16_t)(together < UINT16_MAX ? together : UINT16_MAX);
        }
        call_complete(call);
        if (call->comm != NULL && call->comm->waiting != NULL)
            starts_completed(call);
    }
    one->started = 0;
    if (!one->persistent)
        give_back(one);
}

/* Not complete, and its completion will not be seen. */
static void lose(struct expected *one) {
    if (one != NULL && !one->persistent)
        give_back(one);
}

static int nothing_expected(void) { return inside || __atomic_load_n(&outstanding, __ATOMIC_RELAXED) == 0; }

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
        scratch[i] = take(handles[i], 0);
    return scratch;
}

/* After a call that completes all of its requests, or none (`done`); what failed is lost. */
static void complete_all(int requests, struct expected **all, int64_t begin, int64_t now, int code, int done) {
    int together = 0;
    for (int i = 0; i < requests; ++i)
        together += all[i] != NULL;
    for (int i = 0; i < requests; ++i)
        if (code != MPI_SUCCESS)
            lose(all[i]);
        else if (done)
            complete(all[i], begin, now, together);
        else
            put_back(all[i]);
}

#define ONE(Name, parameters, arguments, done)                                                                         \
    WRAP(Name);                                                                                                        \
    int Name parameters {                                                                                              \
        struct expected *one = nothing_expected() ? NULL : take(*request, 0);                                          \
        int64_t begin = timed_begin();                                                                                 \
        ++inside;                                                                                                      \
        int code = REAL(Name) arguments;                                                                               \
        --inside;                                                                                                      \
        int64_t now = timed_end(TRACE_REQUESTS, begin);                                                                \
        if (one != NULL)                                                                                               \
            complete_all(1, &one, begin, now, code, done);                                                             \
        return code;                                                                                                   \
    }

BOTH(ONE, Wait, (MPI_Request * request, MPI_Status *status), (request, status), 1)
BOTH(ONE, Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status), *flag)

#define ALL(Name, parameters, arguments, done)                                                                         \
    WRAP(Name);                                                                                                        \
    int Name parameters {                                                                                              \
        struct expected **all = nothing_expected() || count <= 0 ? NULL : take_all(count, array_of_requests);          \
        int64_t begin = timed_begin();                                                                                 \
        ++inside;                                                                                                      \
        int code = REAL(Name) arguments;                                                                               \
        --inside;                                                                                                      \
        int64_t now = timed_end(TRACE_REQUESTS, begin);                                                                \
        if (all != NULL)                                                                                               \
            complete_all(count, all, begin, now, code, done);                                                          \
        return code;                                                                                                   \
    }

BOTH(ALL, Waitall, (int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]),
     (count, array_of_requests, array_of_statuses), 1)
BOTH(ALL, Testall, (int count, MPI_Request array_of_requests[], int *flag, MPI_Status array_of_statuses[]),
     (count, array_of_requests, flag, array_of_statuses), *flag)

/* Completes the requests at `indices`, and puts the others back. */
static void complete_some(int requests, struct expected **all, int64_t begin, int64_t now, int found,
                          const int *indices) {
    int together = 0;
    for (int i = 0; i < found; ++i)
        together += all[indices[i]] != NULL;
    for (int i = 0; i < found; ++i) {
        complete(all[indices[i]], begin, now, together);
        all[indices[i]] = NULL;
    }
    for (int i = 0; i < requests; ++i)
        put_back(all[i]);
}

/* A call that completes some of its requests: `found` of them, at `indices`. */
#define SOME(Name, parameters, arguments, found, indices)                                                              \
    WRAP(Name);                                                                                                        \
    int Name parameters {                                                                                              \
        struct expected **all = nothing_expected() || count <= 0 ? NULL : take_all(count, array_of_requests);          \
        int64_t begin = timed_begin();                                                                                 \
        ++inside;                                                                                                      \
        int code = REAL(Name) arguments;                                                                               \
        --inside;                                                                                                      \
        int64_t now = timed_end(TRACE_REQUESTS, begin);                                                                \
        if (all != NULL)                                                                                               \
            complete_some(count, all, begin, now, code == MPI_SUCCESS ? found : 0, indices);                           \
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

static void forget_request(MPI_Request request) {
    struct expected *one = nothing_expected() ? NULL : take(request, 1);
    if (one != NULL)
        give_back(one);
}

#define FREE(Function, parameters)                                                                                     \
    WRAP(Function);                                                                                                    \
    int Function parameters {                                                                                          \
        forget_request(*request);                                                                                      \
        ++inside;                                                                                                      \
        int code = REAL(Function)(request);                                                                            \
        --inside;                                                                                                      \
        return code;                                                                                                   \
    }
BOTH(FREE, Request_free, (MPI_Request * request))

/* A start of a persistent collective is a call of its own. */
static struct expected *begin_round(MPI_Request request) {
    struct expected *one = take(request, 0);
    if (one == NULL || !one->persistent) {
        put_back(one);
        return NULL;
    }
    ++one->call.round;
    if (!active || one->call.comm == NULL)
        return NULL;
    one->call.template = 0;
    call_enter(&one->call, one->call.bytes, one->root);
    --inside;
    one->started = 1;
    return one;
}

/* The call that started it returned at `now`, having started so many collectives together. */
static void end_start(const struct expected *one, int code, int64_t now, int together) {
    if (one == NULL || code != MPI_SUCCESS)
        return;
    elsewhere = 0;
    if (one->call.row != NULL)
        RECORDING_ADD(one->call.row->waits, (now - one->call.entry) / together);
    if (one->call.record != NULL)
        one->call.record->returned = now;
}

static int begin_rounds(int count, const MPI_Request *requests) {
    int together = 0;
    for (int i = 0; i < count && !nothing_expected(); ++i)
        together += begin_round(requests[i]) != NULL;
    return together;
}

static void end_starts(int count, const MPI_Request *requests, int code, int64_t now, int together) {
    for (int i = 0; i < count && together > 0; ++i) {
        struct expected *one = take(requests[i], 0);
        if (one != NULL && one->persistent && one->started)
            end_start(one, code, now, together);
        put_back(one);
    }
}

#define STARTS(Function, parameters, arguments, count, requests)                                                       \
    WRAP(Function);                                                                                                    \
    int Function parameters {                                                                                          \
        int64_t begin = timed_begin();                                                                                 \
        int together = begin_rounds(count, requests);                                                                  \
        ++inside;                                                                                                      \
        int code = REAL(Function) arguments;                                                                           \
        --inside;                                                                                                      \
        end_starts(count, requests, code, timed_end(TRACE_REQUESTS, begin), together);                                 \
        return code;                                                                                                   \
    }
BOTH(STARTS, Start, (MPI_Request * request), (request), 1, request)
BOTH(STARTS, Startall, (int count, MPI_Request array_of_requests[]), (count, array_of_requests), count,
     array_of_requests)
