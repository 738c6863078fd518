/* Requests of nonblocking and persistent collectives (completion.h), from the call to their completion. A hash table
 * has all requests that are not completed. The wrappers of MPI_Wait, MPI_Test and their variants first take their
 * requests from the table, then call MPI, and complete or return them. */
#define _GNU_SOURCE
#include "completion.h"

#include "frames.h"
#include "process.h"
#include "recorded_call.h"
#include "samples.h"

#include "split_mix.h"

#include <pthread.h>
#include <stdlib.h>

#define BUCKETS 4096

/* A request of the table. A request of a nonblocking collective is in the table until its completion, a persistent
 * request until it is freed. A request belongs to one call at a time, since MPI forbids two threads to complete the
 * same request. */
struct expected {
    struct expected *next;
    MPI_Request request;
    struct call call;                       /* the collective's call */
    int persistent;                         /* 1 for a persistent collective */
    enum { IDLE, STARTING, STARTED } state; /* state of a persistent collective; else IDLE */
    int doubtful; /* 1 if the request may be complete: a completing call failed or was abandoned by a jump */
    int root;     /* root argument of a persistent collective */
    const MPI_Comm *new_comm; /* the new communicator of MPI_Comm_idup; else NULL */
    uint64_t origin;          /* origin of that communicator (communicators.h) */
};

static struct expected *buckets[BUCKETS];      /* the table: lists by hash */
static struct expected *free_entries;          /* free list */
PER_THREAD struct expected *thread_free_entry; /* a free entry of this thread, which needs no lock; NULL: none */
PER_THREAD struct expected *taken_requests;    /* list of the requests of this thread's current call */
static int outstanding;                        /* number of requests in the table or taken */
static pthread_mutex_t lock = LOCK;
PER_THREAD struct expected **scratch; /* array for the requests of a call */
PER_THREAD int scratch_size;          /* its elements */
PER_THREAD int has_destructor;        /* 1 if this thread's destructor will free its memory */
static pthread_key_t thread_key;
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;
static int has_thread_key;

/* Without concurrent threads no lock is needed, and a lock costs as much as a timestamp. */
static void lock_requests(void) {
    if (recording_threaded)
        pthread_mutex_lock(&lock);
}

static void unlock_requests(void) {
    if (recording_threaded)
        pthread_mutex_unlock(&lock);
}

/* The bucket of the table to which a request's handle belongs. */
static struct expected **bucket_of(MPI_Request request) {
    return &buckets[((uint64_t)(uintptr_t)request * GOLDEN_GAMMA) >> 52]; /* 12 bits, for 4096 buckets */
}

/* Inserts a request into the table, after requests with the same handle: MPI libraries use one handle for all
 * operations that complete immediately. Removes and returns (as a list) doubtful requests with this handle, which are
 * stale, since MPI has reused the handle. */
static struct expected *link_last(struct expected *expected) {
    struct expected *stale = NULL;
    struct expected **link = bucket_of(expected->request);
    while (*link != NULL) {
        struct expected *duplicate = *link;
        if (duplicate->doubtful && !expected->doubtful && duplicate->request == expected->request) {
            *link = duplicate->next;
            duplicate->next = stale;
            stale = duplicate;
        } else {
            link = &duplicate->next;
        }
    }
    expected->next = NULL;
    *link = expected;
    return stale;
}

static void discard(struct expected *expected);

/* Discards a list of requests. */
static void discard_all(struct expected *first) {
    for (struct expected *expected = first, *next; expected != NULL; expected = next) {
        next = expected->next;
        discard(expected);
    }
}

/* Returns a taken request to the table. `doubtful`: 1 if it may be complete. */
static void return_request(struct expected *expected, int doubtful) {
    if (expected == NULL || expected->persistent)
        return;
    expected->doubtful = doubtful;
    lock_requests();
    struct expected *stale = link_last(expected);
    unlock_requests();
    discard_all(stale);
}

/* Returns requests that this thread still has when it makes another call. They belong to a call that was abandoned by a
 * jump, so they may be complete or not. */
static void return_abandoned(void) {
    struct expected *expected = taken_requests;
    taken_requests = NULL;
    for (struct expected *next; expected != NULL; expected = next) {
        next = expected->next;
        return_request(expected, 1);
    }
}

/* Adds a request to the table; NULL if out of memory. */
static struct expected *add_request(MPI_Request request, const struct call *call) {
    if (taken_requests != NULL)
        return_abandoned();
    struct expected *expected = thread_free_entry;
    struct expected *stale = NULL;
    thread_free_entry = NULL;
    lock_requests();
    if (expected == NULL) {
        expected = free_entries;
        if (expected != NULL)
            free_entries = expected->next;
        else
            expected = malloc(sizeof *expected);
    }
    if (expected != NULL) {
        expected->request = request; /* field by field: clearing the structure takes as long as a timestamp */
        expected->call = *call;
        expected->persistent = 0;
        expected->state = IDLE;
        expected->doubtful = 0;
        expected->new_comm = NULL;
        stale = link_last(expected);
        RECORDING_ADD32(outstanding, 1);
    }
    unlock_requests();
    discard_all(stale);
    return expected;
}

void completion_expect(MPI_Request request, const struct call *call) { add_request(request, call); }

void completion_expect_persistent(MPI_Request request, const struct call *call, int root) {
    struct expected *expected = add_request(request, call);
    if (expected != NULL) {
        expected->root = root;
        expected->persistent = 1;
    }
}

void completion_expect_communicator(MPI_Request request, const MPI_Comm *handle, uint64_t origin) {
    struct expected *expected = add_request(request, &(struct call){.comm = NULL});
    if (expected != NULL) {
        expected->new_comm = handle;
        expected->origin = origin;
    }
}

/* Discards doubtful requests of a freed communicator, which cannot complete any more. Other requests of it lose their
 * communicator. */
void completion_forget(const struct comm *comm) {
    struct expected *stale = NULL;
    for (struct expected *expected = taken_requests; expected != NULL; expected = expected->next)
        if (expected->call.comm == comm)
            expected->call.comm = NULL;
    lock_requests();
    for (int i = 0; outstanding > 0 && i < BUCKETS; ++i)
        for (struct expected **link = &buckets[i]; *link != NULL;) {
            struct expected *expected = *link;
            if (expected->call.comm == comm && expected->doubtful) {
                *link = expected->next;
                expected->next = stale;
                stale = expected;
                continue;
            }
            if (expected->call.comm == comm)
                expected->call.comm = NULL;
            link = &expected->next;
        }
    unlock_requests();
    discard_all(stale);
}

/* Returns the pointer in the table to the first request with this handle; it points to NULL if there is no such
 * request. The caller holds the lock. */
static struct expected **find_link(MPI_Request request) {
    struct expected **link = bucket_of(request);
    while (*link != NULL && (*link)->request != request)
        link = &(*link)->next;
    return link;
}

/* Moves a request from the table to `taken_requests`; a persistent request stays in the table. Returns NULL if the
 * request is not in the table. */
static struct expected *take(MPI_Request request) {
    if (request == MPI_REQUEST_NULL)
        return NULL;
    lock_requests();
    struct expected **link = find_link(request);
    struct expected *expected = *link;
    if (expected != NULL && !expected->persistent) {
        *link = expected->next;
        expected->next = taken_requests;
        taken_requests = expected;
    }
    unlock_requests();
    return expected;
}

/* Returns the table's persistent request with this handle; NULL if the table has no such request. */
static struct expected *find_persistent(MPI_Request request) {
    if (request == MPI_REQUEST_NULL)
        return NULL;
    lock_requests();
    struct expected *expected = *find_link(request);
    unlock_requests();
    return expected != NULL && expected->persistent ? expected : NULL;
}

/* Adds an entry to the free list that all threads share. */
static void free_shared(struct expected *expected) {
    lock_requests();
    expected->next = free_entries;
    free_entries = expected;
    unlock_requests();
}

/* Frees the memory of a thread that ends, because programs may start and end threads for years. */
static void end_thread(void *value) {
    (void)value;
    if (thread_free_entry != NULL)
        free_shared(thread_free_entry);
    free(scratch);
    thread_free_entry = NULL;
    scratch = NULL;
    scratch_size = 0;
    has_destructor = 0;
}

static void make_thread_key(void) { has_thread_key = pthread_key_create(&thread_key, end_thread) == 0; }

/* Registers this thread's destructor; returns 1 on success. */
static int set_destructor(void) {
    pthread_once(&thread_key_once, make_thread_key);
    has_destructor = has_thread_key && pthread_setspecific(thread_key, &buckets) == 0; /* any pointer except NULL */
    return has_destructor;
}

/* Returns 1 if this thread's destructor will free its memory; registers the destructor if necessary. */
static int ensure_destructor(void) { return has_destructor || set_destructor(); }

/* Frees the entry of a request; each thread keeps one for its next request. */
static void free_request(struct expected *expected) {
    RECORDING_ADD32(outstanding, -1);
    if (thread_free_entry == NULL && ensure_destructor())
        thread_free_entry = expected;
    else
        free_shared(expected);
}

/* Removes a request whose completion cannot be observed. */
static void discard(struct expected *expected) {
    /* These calls hold their row until they are complete. */
    if (expected->call.row != NULL && (!expected->persistent || expected->state == STARTED))
        recording_release(expected->call.row);
    free_request(expected);
}

/* Completes a request at `now`, by a call that began at `begin` and completed this number of `collectives`; the time of
 * the call is divided among them. Does nothing if `expected` is NULL. */
static void complete(struct expected *expected, int64_t begin, int64_t now, int collectives) {
    if (expected == NULL)
        return;
    if (expected->new_comm != NULL) {
        communicators_created(*expected->new_comm, expected->origin);
    } else if (!expected->persistent || expected->state == STARTED) {
        struct call *call = &expected->call;
        call->exit = now;
        ticks_in_other_calls = 0;
        if (call->row != NULL)
            RECORDING_ADD(call->row->waits, collectives == 1 ? now - begin : (now - begin) / collectives);
        if (call->record != NULL) {
            call->record->waited = begin;
            call->record->together = (uint16_t)(collectives < UINT16_MAX ? collectives : UINT16_MAX);
        }
        call_complete(call);
        if (call->comm != NULL && call->comm->waiting != NULL)
            samples_complete(call->comm, &(struct sampled_operation){call->bytes, call->operation, call->kind},
                             call->entry, call->exit);
    }
    expected->state = IDLE;
    if (!expected->persistent)
        free_request(expected);
}

/* Returns 1 if a call may complete a request of the table. */
static inline int may_complete(int is_program_call) {
    if (!is_program_call || !library_begun)
        return 0;
    if (__builtin_expect(taken_requests != NULL, 0))
        return_abandoned();
    return __atomic_load_n(&outstanding, __ATOMIC_RELAXED) != 0;
}

/* Ends a call that completes requests. Returns 1 if the requests that it has taken are still valid, i.e. if no jump has
 * abandoned it. */
static int leave_completion(uintptr_t frame) {
    if (!frame_leave(frame))
        return 0;
    taken_requests = NULL;
    return 1;
}

/* Takes all requests of a call from the table. Returns an array of this thread with NULL for handles that are not in
 * the table; NULL if out of memory. */
static struct expected **take_all(int requests, const MPI_Request *handles) {
    if (requests > scratch_size) {
        struct expected **larger = ensure_destructor() ? realloc(scratch, (size_t)requests * sizeof *scratch) : NULL;
        if (larger == NULL)
            return NULL;
        scratch = larger;
        scratch_size = requests;
    }
    for (int i = 0; i < requests; ++i)
        scratch[i] = take(handles[i]);
    return scratch;
}

/* Ends a call that has completed all of its requests (done = 1) or none. `code` is MPI's error code. */
static void complete_all(int requests, struct expected **batch, int64_t begin, int64_t now, int code, int done) {
    int collectives = 0;
    for (int i = 0; i < requests; ++i)
        collectives += batch[i] != NULL;
    for (int i = 0; i < requests; ++i)
        if (code == MPI_SUCCESS && done)
            complete(batch[i], begin, now, collectives);
        else
            return_request(batch[i], code != MPI_SUCCESS);
}

/* Wrapper of a call that completes one request; `done` is 1 if it has. */
#define SINGLE_COMPLETION(Name, parameters, arguments, done)                                                           \
    WRAP(Name);                                                                                                        \
    int Name parameters {                                                                                              \
        FRAME(frame);                                                                                                  \
        int is_program_call = frame_enter(frame);                                                                      \
        struct expected *expected = may_complete(is_program_call) ? take(*request) : NULL;                             \
        int64_t begin = timed_begin(is_program_call);                                                                  \
        int code = REAL(Name) arguments;                                                                               \
        int valid = leave_completion(frame);                                                                           \
        int64_t now = timed_end(TRACE_REQUESTS, begin);                                                                \
        if (expected != NULL && valid && code == MPI_SUCCESS && (done))                                                \
            complete(expected, begin, now, 1);                                                                         \
        else if (expected != NULL && valid)                                                                            \
            return_request(expected, code != MPI_SUCCESS);                                                             \
        return code;                                                                                                   \
    }

BOTH(SINGLE_COMPLETION, Wait, (MPI_Request * request, MPI_Status *status), (request, status), 1)
BOTH(SINGLE_COMPLETION, Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status), *flag)

/* Wrapper of a call that completes all of its requests; `done` is 1 if it has. */
#define ALL_COMPLETION(Name, parameters, arguments, done)                                                              \
    WRAP(Name);                                                                                                        \
    int Name parameters {                                                                                              \
        FRAME(frame);                                                                                                  \
        int is_program_call = frame_enter(frame);                                                                      \
        struct expected **batch =                                                                                      \
            may_complete(is_program_call) && count > 0 ? take_all(count, array_of_requests) : NULL;                    \
        int64_t begin = timed_begin(is_program_call);                                                                  \
        int code = REAL(Name) arguments;                                                                               \
        int valid = leave_completion(frame);                                                                           \
        int64_t now = timed_end(TRACE_REQUESTS, begin);                                                                \
        if (batch != NULL && valid)                                                                                    \
            complete_all(count, batch, begin, now, code, done);                                                        \
        return code;                                                                                                   \
    }

BOTH(ALL_COMPLETION, Waitall, (int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]),
     (count, array_of_requests, array_of_statuses), 1)
BOTH(ALL_COMPLETION, Testall, (int count, MPI_Request array_of_requests[], int *flag, MPI_Status array_of_statuses[]),
     (count, array_of_requests, flag, array_of_statuses), *flag)

/* Ends a call that has completed the `outcount` requests at `indices`; the other requests return to the table. */
static void complete_some(int requests, struct expected **batch, int64_t begin, int64_t now, int code, int outcount,
                          const int *indices) {
    int collectives = 0;
    for (int i = 0; i < outcount; ++i)
        collectives += batch[indices[i]] != NULL;
    for (int i = 0; i < outcount; ++i) {
        complete(batch[indices[i]], begin, now, collectives);
        batch[indices[i]] = NULL;
    }
    for (int i = 0; i < requests; ++i)
        return_request(batch[i], code != MPI_SUCCESS);
}

/* Wrapper of a call that completes `outcount` of its requests, at `indices`. */
#define SOME_COMPLETION(Name, parameters, arguments, outcount, indices)                                                \
    WRAP(Name);                                                                                                        \
    int Name parameters {                                                                                              \
        FRAME(frame);                                                                                                  \
        int is_program_call = frame_enter(frame);                                                                      \
        struct expected **batch =                                                                                      \
            may_complete(is_program_call) && count > 0 ? take_all(count, array_of_requests) : NULL;                    \
        int64_t begin = timed_begin(is_program_call);                                                                  \
        int code = REAL(Name) arguments;                                                                               \
        int valid = leave_completion(frame);                                                                           \
        int64_t now = timed_end(TRACE_REQUESTS, begin);                                                                \
        if (batch != NULL && valid)                                                                                    \
            complete_some(count, batch, begin, now, code, code == MPI_SUCCESS ? outcount : 0, indices);                \
        return code;                                                                                                   \
    }

BOTH(SOME_COMPLETION, Waitany, (int count, MPI_Request array_of_requests[], int *index, MPI_Status *status),
     (count, array_of_requests, index, status), *index != MPI_UNDEFINED, index)
BOTH(SOME_COMPLETION, Testany, (int count, MPI_Request array_of_requests[], int *index, int *flag, MPI_Status *status),
     (count, array_of_requests, index, flag, status), *flag &&*index != MPI_UNDEFINED, index)
BOTH(SOME_COMPLETION, Waitsome,
     (int count, MPI_Request array_of_requests[], int *outcount, int indices[], MPI_Status array_of_statuses[]),
     (count, array_of_requests, outcount, indices, array_of_statuses), *outcount != MPI_UNDEFINED ? *outcount : 0,
     indices)
BOTH(SOME_COMPLETION, Testsome,
     (int count, MPI_Request array_of_requests[], int *outcount, int indices[], MPI_Status array_of_statuses[]),
     (count, array_of_requests, outcount, indices, array_of_statuses), *outcount != MPI_UNDEFINED ? *outcount : 0,
     indices)

/* Removes a request, also a persistent one. */
static void forget_request(MPI_Request request) {
    lock_requests();
    struct expected **link = find_link(request);
    struct expected *expected = *link;
    if (expected != NULL)
        *link = expected->next;
    unlock_requests();
    if (expected != NULL)
        discard(expected);
}

#define FREE_REQUEST(Function, parameters)                                                                             \
    WRAP(Function);                                                                                                    \
    int Function parameters {                                                                                          \
        FRAME(frame);                                                                                                  \
        if (may_complete(frame_enter(frame)) && *request != MPI_REQUEST_NULL)                                          \
            forget_request(*request);                                                                                  \
        int code = REAL(Function)(request);                                                                            \
        frame_leave(frame);                                                                                            \
        return code;                                                                                                   \
    }
BOTH(FREE_REQUEST, Request_free, (MPI_Request * request))

/* Begins a start of a persistent collective, which is recorded as a separate call. Returns NULL if the request is not
 * that of a persistent collective, or if the start is not recorded. */
static struct expected *begin_round(MPI_Request request) {
    struct expected *expected = find_persistent(request);
    if (expected == NULL)
        return NULL;
    ++expected->call.round;
    if (!library_enabled || expected->call.comm == NULL)
        return NULL;
    expected->call.is_persistent_init = 0;
    call_record(&expected->call, expected->call.bytes, expected->root);
    expected->state = STARTING;
    return expected;
}

/* Ends a start, by a call that returned at `now` and started this number of `collectives`; the time of the call is
 * divided among them. */
static void end_start(struct expected *expected, int code, int64_t now, int collectives) {
    expected->state = code == MPI_SUCCESS ? STARTED : IDLE;
    if (code != MPI_SUCCESS)
        return;
    ticks_in_other_calls = 0;
    if (expected->call.row != NULL) {
        recording_hold(expected->call.row);
        RECORDING_ADD(expected->call.row->waits, (now - expected->call.entry) / collectives);
    }
    if (expected->call.record != NULL)
        expected->call.record->returned = now;
}

/* Begins the starts of all persistent collectives of a call. Returns their number. */
static int begin_rounds(int count, const MPI_Request *requests) {
    int collectives = 0;
    for (int i = 0; i < count; ++i)
        collectives += begin_round(requests[i]) != NULL;
    return collectives;
}

/* Ends the starts that begin_rounds() began; `collectives` is its result. For the other arguments, see end_start(). */
static void end_starts(int count, const MPI_Request *requests, int code, int64_t now, int collectives) {
    for (int i = 0; i < count && collectives > 0; ++i) {
        struct expected *expected = find_persistent(requests[i]);
        if (expected != NULL && expected->state == STARTING)
            end_start(expected, code, now, collectives);
    }
}

#define PERSISTENT_STARTS(Function, parameters, arguments, count, requests)                                            \
    WRAP(Function);                                                                                                    \
    int Function parameters {                                                                                          \
        FRAME(frame);                                                                                                  \
        int is_program_call = frame_enter(frame);                                                                      \
        int64_t begin = timed_begin(is_program_call);                                                                  \
        int collectives = may_complete(is_program_call) ? begin_rounds(count, requests) : 0;                           \
        int code = REAL(Function) arguments;                                                                           \
        frame_leave(frame);                                                                                            \
        end_starts(count, requests, code, timed_end(TRACE_REQUESTS, begin), collectives);                              \
        return code;                                                                                                   \
    }
BOTH(PERSISTENT_STARTS, Start, (MPI_Request * request), (request), 1, request)
BOTH(PERSISTENT_STARTS, Startall, (int count, MPI_Request array_of_requests[]), (count, array_of_requests), count,
     array_of_requests)
