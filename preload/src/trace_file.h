/* The file of a trace: what one process recorded is a section. While the program runs, each process has a file of its
 * own, mapped into memory, so that what was recorded survives whatever ends the process; MPI_Finalize joins the
 * sections of a node in one file. All numbers have the byte order of the machine; python/downbeat/trace/file.py reads
 * them.
 *
 *     header, padded to TRACE_HEADER_SIZE
 *     struct trace_directory
 *     chunks of the tables and further directories, as they were needed; in a joined file, a chunk per table
 *
 * The tables have entries of struct trace_map, _communicator, _site, _start, _phase, _row and _record. A table is what
 * is in its chunks, in the order of the directories. The file grows by a chunk at a time, so what is mapped is about
 * what is used.
 *
 * The profile has all calls, added up. Records are of all calls, too, until they fill their room; from then on they are
 * a sample that is the same on all processes of a communicator, without a message: a call has a `level`, a hash of its
 * communicator and its number there, which is k or more in one of 2^k calls. A row keeps the records of the calls
 * whose level is no less than its `thinning`. So a call that was recorded by all of its processes stands for
 * 2^(largest thinning of their rows) calls. Records of a lower level than their row's thinning are to be ignored: their
 * place was not needed yet.
 */
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
#define TRACE_NONE UINT32_MAX

/* How the program ended. A file that still says TRACE_RUNNING is of a process that was killed or ended without
 * MPI_Finalize. */
enum { TRACE_RUNNING = 0, TRACE_FINALIZED = 1, TRACE_ABORTED = 2 };

/* Calls that one place of the program made of one operation, on one communicator, in one class of sizes, in one phase.
 */
struct trace_row {
    int64_t calls; /* complete */
    int64_t ticks; /* in these calls */
    int64_t waits; /* ticks in calls that started them (persistent ones) or saw their completion */
    int64_t bytes; /* where they are known */
    uint32_t site;
    uint32_t communicator; /* TRACE_NONE: several that are freed, of as many ranks */
    int32_t ranks;         /* of the communicator */
    uint16_t operation;
    uint8_t kind;
    uint8_t size;     /* class: 0: no bytes; k: up to 2^(k-1), and more than half of it; SIZE_UNKNOWN */
    uint8_t thinning; /* a call is recorded if its level is no less */
    uint8_t unused;
    uint16_t phase; /* 0: in none; k: the k-th, from 1 */
    /* While the program runs: */
    uint32_t held; /* by records, and by calls that have begun */
    uint32_t next; /* row of the communicator */
    uint32_t number;
};

#define SIZE_UNKNOWN 255

/* Calls of MPI that are only added up. TRACE_REQUESTS completes what others began, collectives too. */
enum { TRACE_POINT_TO_POINT, TRACE_REQUESTS, TRACE_ONE_SIDED, TRACE_FILES, TRACE_COMMUNICATORS, TRACE_KINDS };

struct trace_sum {
    _Atomic int64_t calls;
    _Atomic int64_t ticks;
};

/* How many entries a table may have, and how many there are. */
struct trace_extent {
    int64_t capacity;
    _Atomic int64_t used;
};
#define TRACE_TABLES 7

/* A part of a table. */
struct trace_chunk {
    int64_t offset; /* bytes, from the header */
    uint32_t table;
    _Atomic uint32_t entries; /* that it has room for; written last. 0: there is no chunk */
};
#define TRACE_CHUNKS 255
struct trace_directory {
    _Atomic int64_t next; /* offset of the next one; 0: there is none */
    int64_t unused;
    struct trace_chunk chunks[TRACE_CHUNKS];
};

struct trace_header {
    char magic[16];
    int64_t section_size; /* bytes, header included; 0: up to the end of the file, which grows */
    int32_t world_rank;
    int32_t world_size;
    int32_t ending;
    int32_t abort_code;
    int64_t pid;
    int64_t began_ns;  /* of the realtime clock, for people */
    double max_wander; /* the library's setting */
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
            _Atomic int64_t records; /* slots taken */
        };
        struct trace_extent extents[TRACE_TABLES]; /* the same, in the order of the file */
    };
    _Atomic int64_t records_dropped; /* of the sample, for lack of room */
    _Atomic int64_t communicators_dropped;
    _Atomic int64_t sites_dropped;
    _Atomic int64_t starts_dropped;
    _Atomic int64_t maps_dropped;
    _Atomic int64_t phases_dropped; /* calls of MPI_Pcontrol */
    struct trace_row unplaced;      /* of calls that have no row, for lack of room */
    struct trace_sum kinds[TRACE_KINDS];
    int64_t ready_ns;   /* that the thread of MPI_Init waited for a processor until MPI_Finalize; -1: not known */
    int32_t processors; /* of the host */
    int32_t allowed;    /* of them for this process, in MPI_Init */
    int32_t record_size;
    int32_t operations;
    char clock[TRACE_CLOCK_SIZE]; /* the library's setting: what ticks are read from */
    char host[TRACE_HOST_SIZE];
    char names[TRACE_NAMES_SIZE]; /* of the operations by number, each ends with 0 */
    /* TRACE_CHECKED and the CRC-32 of the section as it is while this field is 0. A file that was not joined has none.
     */
    uint64_t checksum;
    int64_t directory;   /* offset of the first one */
    int32_t growth_code; /* why a table could not grow when it was to: the last errno; 0: all could */
};

#define TRACE_CHECKED ((uint64_t)1 << 32)

/* A clock of the system showed `ns` when the local clock was at `ticks`, give or take `width` ticks. */
struct trace_reading {
    int64_t ns;
    int64_t ticks;
    int64_t width;
};

/* The clocks that other tools stamp with, in this order: CLOCK_REALTIME, _MONOTONIC, _MONOTONIC_RAW, _BOOTTIME. */
#define TRACE_CLOCKS 4

/* The clock after a synchronization, as Downbeat_clock; and those of the system, read right after it. */
struct trace_map {
    int64_t ticks;
    int64_t global_ns;
    double ns_per_tick;
    double bound_ns;
    double growth;
    double ramp;
    double variance; /* of the error to be expected, and likewise */
    double cross;
    double rate;
    double walk;
    struct trace_reading clocks[TRACE_CLOCKS];
};

/* A communicator. Processes agree without a message on which is which: `identity` is a hash of its processes, of its
 * parent's identity, and of how many the parent had before it. */
struct trace_communicator {
    uint64_t identity;
    int32_t size;
    int32_t rank;
    uint8_t inter;
    uint8_t second; /* of an intercommunicator: this process is not in the group that has the lowest rank in
                       MPI_COMM_WORLD. Two groups of one trace have one identity, and differ in this. */
    uint8_t has_outside_members; /* processes that are not in MPI_COMM_WORLD: of an intercommunicator, the remote group;
                                    of another one, its own. They have a trace of their own, on another clock, or none.
                                  */
    uint8_t unused;
    uint32_t first_row; /* of the profile, while the program runs */
    uint8_t freed;
    uint8_t pinned; /* a start has its number */
    char name[70];
};

struct trace_site {
    uint64_t offset; /* of the return address in its module, as its own table of symbols counts; in Python the line */
    char module[448];
    char symbol[520];  /* "": none is known */
    char build_id[48]; /* of the module, hexadecimal; "": it has none; TRACE_PYTHON */
};
#define TRACE_PYTHON "python" /* the module is a file of Python, the symbol a function there */

/* Samples after harmonized barriers: of one site, one following operation, one class of sizes. ns. */
struct trace_start {
    uint32_t barrier_site;
    uint32_t communicator;
    uint16_t operation;
    uint16_t kind;
    int32_t unused;
    int64_t size;       /* class: bytes up to this, and more than half of it */
    int64_t samples;    /* that are in sum_ns */
    int64_t valid;      /* with all flags 1 */
    int64_t rejected;   /* with a flag of 0 */
    int64_t unresolved; /* unknown: no barrier followed */
    int64_t skipped;    /* at the beginning, as asked */
    double sum_ns;
    double min_ns;
    double max_ns;
    double valid_sum_ns;
    double lateness_sum_ns; /* over samples that are resolved: how late the latest process left the barrier */
    double lateness_max_ns;
    double bound_max_ns; /* of the error of the clock */
};

/* A phase of the program, from MPI_Pcontrol(1, name) to MPI_Pcontrol(-1, name). */
struct trace_phase {
    int64_t begins;
    int64_t ends;
    int64_t cut;                 /* begins without an end: that of the phase around it came first */
    int64_t strays;              /* ends without a begin */
    int64_t ticks;               /* in it */
    int64_t began;               /* the last time, ticks */
    uint16_t parent;             /* as in rows: the phase around it */
    char name[TRACE_PHASE_SIZE]; /* UTF-8 */
};

enum { KIND_BLOCKING = 0, KIND_NONBLOCKING = 1, KIND_PERSISTENT = 2 };
/* The root itself (MPI_ROOT); another process of its group (MPI_PROC_NULL). */
enum { ROOT_ITSELF = -2, ROOT_BESIDE = -3 };
enum { RECORD_EMPTY = 0, RECORD_ENTERED = 1, RECORD_COMPLETE = 2 };

struct trace_record {
    int64_t entry;     /* ticks */
    int64_t returned;  /* of the call; of a blocking one, exit is the same */
    int64_t waited;    /* begin of the call in which the completion was seen; 0: blocking, or none was seen */
    int64_t exit;      /* return of that call */
    int64_t bytes;     /* -1: not known */
    uint32_t sequence; /* number of the collective on its communicator */
    uint32_t round;    /* number of the start of a persistent one */
    int32_t root;      /* -1: there is none. On an intercommunicator: a rank of the remote group, or one of these: */
    uint32_t row;      /* of the profile */
    uint16_t thread;
    uint16_t together; /* collectives whose completion the same call saw; 0: blocking */
    uint8_t level;
    _Atomic uint8_t state; /* written last */
    uint16_t elsewhere;    /* ticks of the thread in other MPI calls since it left a collective, or a call that started
                              one: the lower 11 bits, shifted left by the upper 5 */
};

_Static_assert(sizeof(struct trace_header) <= TRACE_HEADER_SIZE, "the header has its place");
_Static_assert(sizeof(struct trace_directory) == TRACE_HEADER_SIZE, "a directory is a page");
_Static_assert(sizeof(struct trace_record) == 64, "a record is a cache line");
_Static_assert(sizeof(struct trace_row) == 64, "a row is a cache line");
_Static_assert(sizeof(struct trace_phase) == 128, "no padding");
_Static_assert(sizeof(struct trace_site) == 1024 && sizeof(struct trace_communicator) == 96, "no padding");

#endif
