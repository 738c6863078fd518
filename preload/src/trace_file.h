/* The format of a trace file: a section per process. Times are ticks of the process's local clock unless a comment says
 * otherwise; struct trace_map converts them. While the program runs, each process has a separate file, mapped into
 * memory, so that the recording survives any end of the process; MPI_Finalize joins the sections of a node into one
 * file. All numbers have the byte order of the machine. Read by python/downbeat/trace/file.py.
 *
 *     header, padded to TRACE_HEADER_SIZE
 *     struct trace_directory
 *     chunks of the tables and further directories, as they were needed; in a joined file, a chunk per table
 *
 * The tables have entries of struct trace_map, _communicator, _site, _start, _phase, _row and _record. A table consists
 * of its chunks, in the order of the directories. The file grows by chunks, so its size is about that of the data.
 *
 * The profile counts all calls. There is a record of each call until the capacity is used; from then on records are a
 * sample of the calls. All processes of a communicator record the same calls without communication: the `level` of a
 * call, from a hash of its communicator and sequence number, is at least k for one of 2^k calls, and a row keeps the
 * records of calls whose level is at least its `thinning`. So a call with records on all its processes represents 2^k
 * calls, where k is the largest thinning of their rows. Readers must ignore records whose level is below their row's
 * thinning; they were not replaced yet. */
#ifndef DOWNBEAT_PRELOAD_TRACE_FILE_H
#define DOWNBEAT_PRELOAD_TRACE_FILE_H

#include <stdatomic.h>
#include <stdint.h>

#define TRACE_MAGIC "DOWNBEAT-TRACE-7"
#define TRACE_HEADER_SIZE 4096
#define TRACE_HOST_SIZE 256
#define TRACE_NAMES_SIZE 2048
#define TRACE_PHASE_SIZE 78
#define TRACE_CLOCK_SIZE 16
#define TRACE_MODULE_SIZE 448
#define TRACE_NONE UINT32_MAX /* number of an entry of a table: no entry */

/* Values of trace_header.ending: how the program ended. TRACE_RUNNING: the process is running, was killed, or ended
 * without MPI_Finalize. */
enum { TRACE_RUNNING = 0, TRACE_FINALIZED = 1, TRACE_ABORTED = 2 };

/* A row of the profile: a class of calls, from one site, of one operation and kind, on one communicator, in one class
 * of sizes, in one phase. */
struct trace_row {
    int64_t calls;         /* completed calls */
    int64_t ticks;         /* time in these calls */
    int64_t waits;         /* ticks in calls that started (persistent) or completed them */
    int64_t bytes;         /* sum over the calls whose bytes are known */
    uint32_t site;         /* number of the call site */
    uint32_t communicator; /* number of the communicator; TRACE_NONE: freed communicators of the same size */
    int32_t ranks;         /* size of the communicator */
    uint16_t operation;    /* index of its name in trace_header.names */
    uint8_t kind;          /* KIND_BLOCKING, ... */
    uint8_t size;          /* class of sizes: 0: no bytes; k: more than 2^(k-2), up to 2^(k-1) bytes; SIZE_UNKNOWN */
    uint8_t thinning;      /* a call is recorded if its level is at least this */
    uint8_t unused;
    uint16_t phase; /* 0: none; k: the k-th phase */
    /* While the program runs: */
    uint32_t held;   /* number of records and active calls that refer to the row */
    uint32_t next;   /* next row of the communicator; TRACE_NONE: last one */
    uint32_t number; /* number of this row */
};

#define SIZE_UNKNOWN 255

/* Kinds of MPI calls that are only counted. TRACE_REQUESTS: calls that complete requests, also of collectives. */
enum { TRACE_POINT_TO_POINT, TRACE_REQUESTS, TRACE_ONE_SIDED, TRACE_FILES, TRACE_COMMUNICATORS, TRACE_KINDS };

/* Counter of a kind. */
struct trace_sum {
    _Atomic int64_t calls;
    _Atomic int64_t ticks;
};

/* Capacity and number of entries of a table. `used` may exceed the capacity for records. */
struct trace_extent {
    int64_t capacity;
    _Atomic int64_t used;
};
#define TRACE_TABLES 7

/* A chunk: contiguous entries of a table. */
struct trace_chunk {
    int64_t offset;           /* bytes from the header */
    uint32_t table;           /* index of the table in trace_header.extents */
    _Atomic uint32_t entries; /* capacity; written last; 0: no chunk */
};
#define TRACE_CHUNKS 255
/* Where the chunks of tables are in the file: a page with a list. */
struct trace_directory {
    _Atomic int64_t next; /* offset of the next directory; 0: last one */
    int64_t unused;
    struct trace_chunk chunks[TRACE_CHUNKS];
};

/* The first page of the file, or of a section of a joined file. */
struct trace_header {
    char magic[16];
    int64_t section_size; /* bytes, header included; 0: up to the end of the file */
    int32_t world_rank;
    int32_t world_size;
    int32_t ending;     /* TRACE_RUNNING, ... */
    int32_t abort_code; /* argument of MPI_Abort, if TRACE_ABORTED */
    int64_t pid;
    int64_t began_ns;  /* realtime clock in MPI_Init, ns; for information */
    double max_wander; /* setting max_wander of the library, relative */
    union {
        struct {
            int64_t maps_capacity;
            _Atomic int64_t maps;
            int64_t communicators_capacity;
            _Atomic int64_t communicators;
            int64_t sites_capacity;
            _Atomic int64_t sites;
            int64_t starts_capacity;
            _Atomic int64_t starts;
            int64_t phases_capacity;
            _Atomic int64_t phases;
            int64_t profile_capacity;
            _Atomic int64_t profile;
            int64_t records_capacity;
            _Atomic int64_t records; /* may exceed the capacity */
        };
        struct trace_extent extents[TRACE_TABLES]; /* the same, by table */
    };
    _Atomic int64_t records_dropped; /* this and the next five: entries that were dropped for lack of space; of records,
                                        those of the sample */
    _Atomic int64_t communicators_dropped;
    _Atomic int64_t sites_dropped;
    _Atomic int64_t starts_dropped;
    _Atomic int64_t maps_dropped;
    _Atomic int64_t phases_dropped; /* calls of MPI_Pcontrol */
    struct trace_row unplaced;      /* counts all calls that have no row, for lack of space */
    struct trace_sum kinds[TRACE_KINDS];
    int64_t ready_ns; /* time from MPI_Init to MPI_Finalize for which MPI_Init's thread has waited for a processor, ns;
                         -1: unknown */
    int32_t processors;           /* number of processors of the host */
    int32_t allowed;              /* number of processors in the affinity mask in MPI_Init */
    int32_t record_size;          /* bytes of struct trace_record */
    int32_t operations;           /* number of names */
    char clock[TRACE_CLOCK_SIZE]; /* name of the clock that ticks are read from */
    char host[TRACE_HOST_SIZE];
    char names[TRACE_NAMES_SIZE]; /* names of the operations by number, each terminated by 0 */
    /* TRACE_CHECKED and the CRC-32 of the section with 0 in this field. 0 in a file that was not joined. */
    uint64_t checksum;
    int64_t directory;   /* offset of the first directory */
    int32_t growth_code; /* errno of the last failure of a table to grow; 0: none */
};

#define TRACE_CHECKED ((uint64_t)1 << 32)

/* A system clock showed `ns` when the local clock showed `ticks`, within `width` ticks. */
struct trace_reading {
    int64_t ns;
    int64_t ticks;
    int64_t width;
};

/* The system clocks, which other tools use, in this order: CLOCK_REALTIME, _MONOTONIC, _MONOTONIC_RAW, _BOOTTIME. */
#define TRACE_CLOCKS 4

/* The clock map after a synchronization, as in Downbeat_clock (downbeat/clock.h), and readings of the system clocks
 * directly after it. */
struct trace_map {
    int64_t ticks;      /* reading of the local clock at the synchronization */
    int64_t global_ns;  /* global time at this reading, ns */
    double ns_per_tick; /* duration of a tick on the global clock, ns */
    /* The error bound grows with the time from the synchronization: by `growth` per ns, and by ramp/2 per ns^2. */
    double bound_ns;
    double growth;
    double ramp;
    /* The expected error grows with the time after the synchronization. */
    double variance; /* variance of the offset, ns^2 */
    double cross;    /* covariance of offset and rate, ns */
    double rate;     /* variance of the rate, relative^2 */
    double walk;     /* variance by which the random walk of the rate grows per ns, 1/ns */
    struct trace_reading clocks[TRACE_CLOCKS];
};

/* A communicator. `identity` is the same on all its processes, without communication: a hash of its processes, of its
 * parent's identity, and of the number of children that the parent had before. */
struct trace_communicator {
    uint64_t identity;
    int32_t size; /* of the local group */
    int32_t rank;
    uint8_t inter;               /* 1 for an intercommunicator */
    uint8_t second;              /* on an intercommunicator, 1 if this process's group does not have the lowest rank in
                                    MPI_COMM_WORLD; both groups have the same identity */
    uint8_t has_outside_members; /* 1 if the group (the remote group of an intercommunicator) has processes outside
                                    MPI_COMM_WORLD. These have a separate trace with another clock, or none. */
    uint8_t unused;
    uint32_t first_row; /* first row in the profile, while the program runs; TRACE_NONE: none */
    uint8_t freed;      /* 1 if the program has freed it */
    uint8_t pinned;     /* 1 if a struct trace_start refers to it */
    char name[70];      /* from MPI_Comm_set_name */
};

/* A call site. */
struct trace_site {
    uint64_t offset;                /* return address, relative like the module's symbol table; in Python the line */
    char module[TRACE_MODULE_SIZE]; /* path of the executable or library */
    char symbol[520];               /* "": unknown */
    char build_id[48];              /* build ID of the module, hexadecimal; "": none; TRACE_PYTHON: a Python site */
};
#define TRACE_PYTHON "python" /* `module` is a Python file, `symbol` a function */

/* A class of samples after harmonized barriers: one barrier site, one following operation, one class of sizes. A sample
 * is the time from the exit of the barrier to the end of the operation. Times are ns. */
struct trace_start {
    uint32_t barrier_site; /* call site of the barrier */
    uint32_t communicator;
    uint16_t operation; /* the operation after the barrier */
    uint16_t kind;
    int32_t unused;
    int64_t size;       /* class of sizes: more than size/2, up to `size` bytes; -1: unknown */
    int64_t samples;    /* number of samples in sum_ns */
    int64_t valid;      /* samples with all flags 1 */
    int64_t rejected;   /* samples with a flag of 0 */
    int64_t unresolved; /* samples whose flags are unknown, since no barrier followed */
    int64_t skipped;    /* samples skipped at the beginning (DOWNBEAT_PRELOAD_SKIP) */
    double sum_ns;      /* sum, smallest and largest of all samples */
    double min_ns;
    double max_ns;
    double valid_sum_ns;    /* sum of the valid samples */
    double lateness_sum_ns; /* sum over resolved samples of the largest lateness of all processes */
    double lateness_max_ns; /* maximum of it */
    double bound_max_ns;    /* largest clock error bound */
};

/* A phase of the program, from MPI_Pcontrol(1, name) to MPI_Pcontrol(-1, name). */
struct trace_phase {
    int64_t begins;              /* number of MPI_Pcontrol(1, name) */
    int64_t ends;                /* number of MPI_Pcontrol(-1, name) that have ended it */
    int64_t cut;                 /* begins without an end before the enclosing phase ended */
    int64_t strays;              /* ends without a begin */
    int64_t ticks;               /* time in the phase */
    int64_t began;               /* reading at the last begin */
    uint16_t parent;             /* number of the enclosing phase; 0: none */
    char name[TRACE_PHASE_SIZE]; /* UTF-8 */
};

enum { KIND_BLOCKING = 0, KIND_NONBLOCKING = 1, KIND_PERSISTENT = 2 };
/* Values of `root` on an intercommunicator: this process is the root (MPI_ROOT), or another process of its group is
 * (MPI_PROC_NULL). */
enum { ROOT_ITSELF = -2, ROOT_IN_GROUP = -3 };
/* States of a record: unused; the call has begun; the call is completed. */
enum { RECORD_EMPTY = 0, RECORD_ENTERED = 1, RECORD_COMPLETE = 2 };

/* A record of a call. */
struct trace_record {
    int64_t entry;     /* entry of the call, ticks */
    int64_t returned;  /* return of the call, ticks; equal to `exit` if blocking */
    int64_t waited;    /* begin of the call that completed it, ticks; 0: blocking, or not completed */
    int64_t exit;      /* return of the call that completed it, ticks */
    int64_t bytes;     /* -1: unknown */
    uint32_t sequence; /* number of the collective on its communicator */
    uint32_t round;    /* number of the start of a persistent collective, from 1; else 0 */
    int32_t root;      /* -1: none; on an intercommunicator a rank of the remote group, ROOT_ITSELF or ROOT_IN_GROUP */
    uint32_t row;      /* number of its row in the profile */
    uint16_t thread;   /* number of the thread, in the order of their first records */
    uint16_t together; /* number of collectives that the same call completed; 0: blocking */
    uint8_t level;     /* level of the call (see above) */
    _Atomic uint8_t state; /* RECORD_EMPTY, ...; written last */
    uint16_t elsewhere; /* ticks of the thread in MPI calls that are only counted, since its last collective or the last
                           call that started a collective: the lower 11 bits, shifted left by the upper 5 bits */
};

_Static_assert(sizeof(struct trace_header) <= TRACE_HEADER_SIZE, "the header fits into its space");
_Static_assert(sizeof(struct trace_directory) == TRACE_HEADER_SIZE, "a directory is a page");
_Static_assert(sizeof(struct trace_record) == 64, "a record is a cache line");
_Static_assert(sizeof(struct trace_row) == 64, "a row is a cache line");
_Static_assert(sizeof(struct trace_phase) == 128, "no padding");
_Static_assert(sizeof(struct trace_site) == 1024 && sizeof(struct trace_communicator) == 96, "no padding");

#endif
