#define _GNU_SOURCE
#include "recording.h"

#include "collectives.h"
#include "crc32.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Entries that tables may have, and one more per record; the file has room for those alone that are used. */
#define MAPS (1 << 20)
#define COMMUNICATORS (1 << 20)
#define SITES (1 << 16)
#define STARTS 512
#define ROWS (1 << 20)
/* Bytes by which the file grows at a time: a pause of some 0.1 ms for records. */
#define CHUNK 65536
#define RECORDS_CHUNK (1 << 20)

#define NAME(Name, name, parameters, arguments, bytes, root) #name "\0"
static const char operation_names[] = BARRIER(NAME) COLLECTIVES(NAME, int, int);
_Static_assert(sizeof operation_names <= TRACE_NAMES_SIZE, "names have their place in the header");

/* In the order of the file, and of the header's fields. */
enum table { MAPS_TABLE, COMMUNICATORS_TABLE, SITES_TABLE, STARTS_TABLE, PROFILE_TABLE, RECORDS_TABLE, TABLES };
static const int64_t entry_sizes[TABLES] = {sizeof(struct trace_map),  sizeof(struct trace_communicator),
                                            sizeof(struct trace_site), sizeof(struct trace_start),
                                            sizeof(struct trace_row),  sizeof(struct trace_record)};
_Static_assert(TABLES == TRACE_TABLES, "the header has an extent per table");

static struct {
    int file;
    struct trace_header *header;
    char *tables[TABLES];
    size_t mapped;                  /* bytes */
    _Atomic int64_t stored[TABLES]; /* entries that the file has room for now */
    _Atomic int full;               /* no room for more records: they take the places of others */
    pthread_mutex_t lock;
    uint32_t spare_communicator; /* places that are free, in a list by `first_row` */
    uint32_t spare_row;          /* by `next` */
    uint32_t *buckets;           /* first row, in a list by `chain` */
    uint32_t buckets_mask;
    uint32_t placed; /* rows in buckets */
    int64_t hand;    /* the next record that may lose its place */
    int64_t looked;  /* at so many, since thinning has risen */
    double quota;    /* records that a row may have, as expected */
    int64_t ready_ns;
} own = {.file = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .spare_communicator = TRACE_NONE, .spare_row = TRACE_NONE};

Downbeat_clock recording_clock;
int recording_by_counter;
int recording_threaded;

static struct trace_extent *extent_of(struct trace_header *header, int table) { return &header->extents[table]; }

static int64_t offset_of(struct trace_header *header, int table) {
    int64_t offset = TRACE_HEADER_SIZE;
    for (int i = 0; i < table; ++i)
        offset += extent_of(header, i)->capacity * entry_sizes[i];
    return offset;
}

#define ROWS_TABLE ((struct trace_row *)(void *)own.tables[PROFILE_TABLE])
#define RECORDS ((struct trace_record *)(void *)own.tables[RECORDS_TABLE])

/* How long this thread has waited for a processor, ns; -1: the kernel does not say. */
static int64_t ready_ns(void) {
    char text[128] = "";
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    if (file == NULL)
        return -1;
    const char *second = fgets(text, sizeof text, file) != NULL ? strchr(text, ' ') : NULL;
    fclose(file);
    return second != NULL ? strtoll(second, NULL, 10) : -1;
}

static void write_header(const struct trace_header *sizes, int world_rank, int world_size) {
    struct timespec now;
    cpu_set_t allowed;
    clock_gettime(CLOCK_REALTIME, &now);
    *own.header = *sizes;
    own.header->section_size = (int64_t)own.mapped;
    own.header->world_rank = world_rank;
    own.header->world_size = world_size;
    own.header->ending = TRACE_RUNNING;
    own.header->pid = getpid();
    own.header->began_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    own.header->unplaced.thinning = UINT8_MAX;
    own.header->ready_ns = -1;
    own.header->processors = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    own.header->allowed = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
    own.header->record_size = (int32_t)sizeof(struct trace_record);
    own.header->operations = OPERATIONS;
    gethostname(own.header->host, TRACE_HOST_SIZE - 1);
    memcpy(own.header->names, operation_names, sizeof operation_names);
    /* Last: a file without it is not read. */
    memcpy(own.header->magic, TRACE_MAGIC, sizeof own.header->magic);
}

/* Room is taken before it is written to: a mapped file on a full file system would end the program. A signal would
 * undo it, and a program may have a timer that is faster. */
static int allocate(int64_t offset, int64_t size) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int code = posix_fallocate(own.file, offset, size);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

/* Makes room for `entries` of a table; those who call it hold the lock. Returns 0, or an errno. */
static int reserve(int table, int64_t entries) {
    int64_t each = entry_sizes[table];
    int64_t chunk = (table == RECORDS_TABLE ? RECORDS_CHUNK : CHUNK) / each;
    while (own.stored[table] < entries) {
        int64_t more = extent_of(own.header, table)->capacity - own.stored[table];
        more = more > chunk ? chunk : more;
        int64_t offset = own.tables[table] + own.stored[table] * each - (char *)own.header;
        int code = more > 0 ? allocate(offset, more * each) : ENOSPC;
        if (code != 0)
            return code;
#ifdef MADV_POPULATE_WRITE
        /* So that the first write to a page does not look like a late process. An old kernel refuses it: no matter. */
        int64_t page = sysconf(_SC_PAGESIZE);
        int64_t begin = (offset + page - 1) / page * page;
        if (table == RECORDS_TABLE && offset + more * each > begin)
            (void)madvise((char *)own.header + begin, (size_t)(offset + more * each - begin), MADV_POPULATE_WRITE);
#endif
        own.stored[table] += more;
    }
    return 0;
}

int recording_open(const char *path, int world_rank, int world_size, int64_t records, int threaded) {
    struct trace_header sizes = {.maps_capacity = MAPS,
                                 .communicators_capacity = records + COMMUNICATORS,
                                 .sites_capacity = SITES,
                                 .starts_capacity = STARTS,
                                 .profile_capacity = records + ROWS,
                                 .records_capacity = records};
    recording_threaded = threaded;
    own.file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (own.file < 0)
        return errno;
    own.mapped = (size_t)offset_of(&sizes, TABLES);
    int code = allocate(0, TRACE_HEADER_SIZE);
    void *mapped = MAP_FAILED;
    if (code == 0) {
        mapped = mmap(NULL, own.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, own.file, 0);
        code = mapped == MAP_FAILED ? errno : 0;
    }
    if (mapped != MAP_FAILED) {
        own.header = mapped;
        write_header(&sizes, world_rank, world_size);
        for (int i = 0; i < TABLES; ++i)
            own.tables[i] = (char *)own.header + offset_of(&sizes, i);
        for (int i = 0; code == 0 && i < RECORDS_TABLE; ++i)
            code = reserve(i, 1);
    }
    if (code != 0)
        close(own.file);
    own.quota = (double)records;
    own.ready_ns = ready_ns();
    return code;
}

static void *entry_of(int table, uint32_t number) { return own.tables[table] + number * entry_sizes[table]; }

void recording_close(void) {
    munmap(own.header, own.mapped);
    own.header = NULL;
    close(own.file);
}

void recording_end(int ending, int abort_code) {
    if (own.header == NULL)
        return;
    int64_t ready = ready_ns();
    if (ready >= 0 && own.ready_ns >= 0)
        own.header->ready_ns = ready - own.ready_ns;
    own.header->abort_code = abort_code;
    own.header->ending = ending;
}

void recording_set_clock(const Downbeat_clock *clock, const char *name, double max_wander) {
    recording_clock = *clock;
    own.header->max_wander = max_wander;
    snprintf(own.header->clock, sizeof own.header->clock, "%s", name);
#if defined(__x86_64__)
    unsigned processor;
    int64_t before = (int64_t)__rdtscp(&processor);
    int64_t reading = clock->read(clock->clock);
    recording_by_counter = before <= reading && reading <= (int64_t)__rdtscp(&processor);
#endif
}

/* If there is no room, the last one is replaced: what is known of the end of the program matters most. */
void recording_add_map(const struct trace_map *map) {
    int64_t number = own.header->maps;
    if (reserve(MAPS_TABLE, number + 1) != 0) {
        ++own.header->maps_dropped;
        --number;
    }
    memcpy(entry_of(MAPS_TABLE, (uint32_t)number), map, sizeof *map);
    own.header->maps = number + 1;
}

double recording_tick_ns(void) { return recording_clock.tick; }

void recording_add_kind(int kind, int64_t ticks) {
    RECORDING_ADD(own.header->kinds[kind].calls, 1);
    RECORDING_ADD(own.header->kinds[kind].ticks, ticks);
}

/* --- tables; those who call these hold the lock */

/* The number of the next entry of a table, or TRACE_NONE. */
static uint32_t next_entry(int table, _Atomic int64_t *dropped) {
    int64_t number = extent_of(own.header, table)->used;
    if (reserve(table, number + 1) == 0)
        return (uint32_t)number;
    if (dropped != NULL)
        ++*dropped;
    return TRACE_NONE;
}

static uint32_t add(int table, const void *entry, _Atomic int64_t *dropped) {
    pthread_mutex_lock(&own.lock);
    uint32_t number = next_entry(table, dropped);
    if (number != TRACE_NONE) {
        memcpy(entry_of(table, number), entry, (size_t)entry_sizes[table]);
        ++extent_of(own.header, table)->used;
    }
    pthread_mutex_unlock(&own.lock);
    return number;
}

uint32_t recording_add_site(const struct trace_site *site) {
    return add(SITES_TABLE, site, &own.header->sites_dropped);
}

uint32_t recording_add_start(const struct trace_start *start) {
    if (start->communicator != TRACE_NONE)
        recording_communicator(start->communicator)->pinned = 1;
    return add(STARTS_TABLE, start, &own.header->starts_dropped);
}

uint32_t recording_add_communicator(const struct trace_communicator *communicator) {
    pthread_mutex_lock(&own.lock);
    uint32_t number = own.spare_communicator;
    if (number != TRACE_NONE) {
        own.spare_communicator = recording_communicator(number)->first_row;
    } else {
        number = next_entry(COMMUNICATORS_TABLE, &own.header->communicators_dropped);
        own.header->communicators += number != TRACE_NONE;
    }
    if (number != TRACE_NONE) {
        *recording_communicator(number) = *communicator;
        recording_communicator(number)->first_row = TRACE_NONE;
    }
    pthread_mutex_unlock(&own.lock);
    return number;
}

struct trace_communicator *recording_communicator(uint32_t number) {
    return entry_of(COMMUNICATORS_TABLE, number);
}

struct trace_site *recording_site(uint32_t number) {
    return entry_of(SITES_TABLE, number);
}

struct trace_start *recording_start(uint32_t number) {
    return entry_of(STARTS_TABLE, number);
}

uint32_t recording_starts(void) { return (uint32_t)own.header->starts; }

/* --- the profile */

static uint32_t hash_key(const struct trace_row *key) {
    uint64_t hash = ((uint64_t)key->site << 32 | key->communicator) * 0x9e3779b97f4a7c15U;
    hash ^=
        ((uint64_t)(uint32_t)key->ranks << 32 | (uint32_t)key->operation << 16 | (uint32_t)key->kind << 8 | key->size) *
        0xbf58476d1ce4e5b9U;
    return (uint32_t)((hash * 0x94d049bb133111ebU) >> 32);
}

static int same_key(const struct trace_row *a, const struct trace_row *b) {
    return a->site == b->site && a->communicator == b->communicator && a->operation == b->operation &&
           a->kind == b->kind && a->size == b->size && a->ranks == b->ranks;
}

/* Makes room for a row in the buckets; returns whether there are any. */
static int reserve_buckets(void) {
    if (own.buckets != NULL && own.placed <= own.buckets_mask)
        return 1;
    uint32_t size = own.buckets != NULL ? 2 * (own.buckets_mask + 1) : 1024;
    uint32_t *larger = malloc(size * sizeof *larger);
    if (larger == NULL)
        return own.buckets != NULL;
    memset(larger, 0xff, size * sizeof *larger);
    for (uint32_t i = 0; own.buckets != NULL && i <= own.buckets_mask; ++i)
        for (uint32_t number = own.buckets[i], chain; number != TRACE_NONE; number = chain) {
            struct trace_row *row = &ROWS_TABLE[number];
            uint32_t *bucket = &larger[hash_key(row) & (size - 1)];
            chain = row->chain;
            row->chain = *bucket;
            *bucket = number;
        }
    free(own.buckets);
    own.buckets = larger;
    own.buckets_mask = size - 1;
    return 1;
}

static struct trace_row *find_row(const struct trace_row *key) {
    if (!reserve_buckets())
        return &own.header->unplaced;
    uint32_t *bucket = &own.buckets[hash_key(key) & own.buckets_mask];
    for (uint32_t number = *bucket; number != TRACE_NONE; number = ROWS_TABLE[number].chain)
        if (same_key(&ROWS_TABLE[number], key))
            return &ROWS_TABLE[number];
    uint32_t number = own.spare_row;
    if (number != TRACE_NONE) {
        own.spare_row = ROWS_TABLE[number].next;
    } else {
        number = next_entry(PROFILE_TABLE, NULL);
        own.header->profile += number != TRACE_NONE;
    }
    if (number == TRACE_NONE)
        return &own.header->unplaced;
    struct trace_row *row = &ROWS_TABLE[number];
    *row = *key;
    row->chain = *bucket;
    row->next = TRACE_NONE;
    *bucket = number;
    ++own.placed;
    if (key->communicator != TRACE_NONE) {
        struct trace_communicator *communicator = recording_communicator(key->communicator);
        row->next = communicator->first_row;
        communicator->first_row = number;
    }
    return row;
}

struct trace_row *recording_row(const struct trace_row *key) {
    pthread_mutex_lock(&own.lock);
    struct trace_row *row = find_row(key);
    pthread_mutex_unlock(&own.lock);
    return row;
}

uint32_t recording_row_number(const struct trace_row *row) { return (uint32_t)(row - ROWS_TABLE); }

/* Adds a row to that of all freed communicators of as many ranks, and gives its place back. */
static void fold(struct trace_row *row) {
    uint32_t number = (uint32_t)(row - ROWS_TABLE);
    uint32_t *link = &own.buckets[hash_key(row) & own.buckets_mask];
    struct trace_row sum = *row;
    while (*link != number)
        link = &ROWS_TABLE[*link].chain;
    *link = row->chain;
    --own.placed;
    memset(row, 0, sizeof *row);
    row->next = own.spare_row;
    own.spare_row = number;
    struct trace_row key = {.site = sum.site,
                            .communicator = TRACE_NONE,
                            .ranks = sum.ranks,
                            .operation = sum.operation,
                            .kind = sum.kind,
                            .size = sum.size};
    struct trace_row *all = find_row(&key);
    all->calls += sum.calls;
    all->ticks += sum.ticks;
    all->waits += sum.waits;
    all->bytes += sum.bytes;
}

/* Gives the place of a freed communicator back, unless a record, a call or a start needs it. */
static void release(uint32_t number) {
    struct trace_communicator *communicator = recording_communicator(number);
    if (!communicator->freed || communicator->pinned)
        return;
    for (uint32_t row = communicator->first_row; row != TRACE_NONE; row = ROWS_TABLE[row].next)
        if (ROWS_TABLE[row].held != 0)
            return;
    for (uint32_t row = communicator->first_row, next; row != TRACE_NONE; row = next) {
        next = ROWS_TABLE[row].next;
        fold(&ROWS_TABLE[row]);
    }
    memset(communicator, 0, sizeof *communicator);
    communicator->first_row = own.spare_communicator;
    own.spare_communicator = number;
}

void recording_free_communicator(uint32_t number) {
    if (own.header == NULL || number == TRACE_NONE)
        return;
    pthread_mutex_lock(&own.lock);
    recording_communicator(number)->freed = 1;
    release(number);
    pthread_mutex_unlock(&own.lock);
}

void recording_hold(struct trace_row *row, int more) { RECORDING_ADD32(row->held, more); }

/* --- records */

/* Raises thinning until half of the records are expected to lose their places: first where most are. */
static void raise_thinning(void) {
    const double half = (double)own.stored[RECORDS_TABLE] / 2;
    int raised = 0;
    double expected = 2 * half + 1;
    while (!raised || expected > half) {
        expected = 0.0;
        for (int64_t i = 0; i < own.header->profile; ++i) {
            struct trace_row *row = &ROWS_TABLE[i];
            uint8_t thinning = row->thinning;
            double calls = ldexp((double)__atomic_load_n(&row->calls, __ATOMIC_RELAXED), -thinning);
            while (calls > own.quota && thinning < 62) {
                calls /= 2;
                ++thinning;
            }
            raised |= thinning > row->thinning;
            __atomic_store_n(&row->thinning, thinning, __ATOMIC_RELAXED); /* other threads may read it */
            expected += calls;
        }
        if (own.quota < 1e-9)
            break;
        if (!raised || expected > half)
            own.quota /= 2;
    }
    own.looked = 0;
}

/* The place of a record that its row does not keep any more; NULL if there is none. */
static struct trace_record *replaceable(void) {
    int64_t stored = own.stored[RECORDS_TABLE];
    for (int64_t tries = 0; tries <= 2 * stored; ++tries) {
        if (own.looked++ >= stored)
            raise_thinning();
        struct trace_record *record = &RECORDS[own.hand];
        own.hand = (own.hand + 1) % stored;
        if (atomic_load_explicit(&record->state, memory_order_acquire) != RECORD_COMPLETE)
            continue; /* a call that has not ended writes there */
        struct trace_row *row = &ROWS_TABLE[record->row];
        if (record->level >= row->thinning)
            continue;
        atomic_store_explicit(&record->state, RECORD_EMPTY, memory_order_relaxed);
        if (__atomic_sub_fetch(&row->held, 1, __ATOMIC_RELAXED) == 0 && row->communicator != TRACE_NONE)
            release(row->communicator);
        return record;
    }
    return NULL;
}

/* A place for a call that begins when all room is used. */
static struct trace_record *replace(const struct trace_row *row, int level) {
    struct trace_record *record = NULL;
    pthread_mutex_lock(&own.lock);
    if (own.stored[RECORDS_TABLE] > 0)
        record = replaceable();
    if (record == NULL && level >= row->thinning)
        ++own.header->records_dropped;
    pthread_mutex_unlock(&own.lock);
    return record;
}

/* A place that was not used yet. */
static struct trace_record *unused(void) {
    int64_t number = own.header->records;
    if (recording_threaded)
        number = atomic_fetch_add_explicit(&own.header->records, 1, memory_order_relaxed);
    else
        atomic_store_explicit(&own.header->records, number + 1, memory_order_relaxed);
    if (number >= own.stored[RECORDS_TABLE]) {
        pthread_mutex_lock(&own.lock);
        if (reserve(RECORDS_TABLE, number + 1) != 0 && !own.full) {
            own.full = 1;
            own.looked = own.stored[RECORDS_TABLE];
        }
        pthread_mutex_unlock(&own.lock);
    }
    return number < own.stored[RECORDS_TABLE] ? &RECORDS[number] : NULL;
}

struct trace_record *recording_take(struct trace_row *row, int level) {
    struct trace_record *record = own.full ? NULL : unused();
    /* The row is held first: its communicator may be freed. */
    recording_hold(row, 1);
    if (record == NULL)
        record = replace(row, level);
    if (record == NULL)
        recording_hold(row, -1);
    return record;
}

static int copy(int target, int source, int64_t offset, int64_t size, struct crc32 *crc) {
    char buffer[65536];
    while (size > 0) {
        size_t most = size < (int64_t)sizeof buffer ? (size_t)size : sizeof buffer;
        ssize_t got = pread(source, buffer, most, offset);
        if (got <= 0)
            return got == 0 ? EIO : errno;
        for (ssize_t done = 0; done < got;) {
            ssize_t written = write(target, buffer + done, (size_t)(got - done));
            if (written < 0)
                return errno;
            done += written;
        }
        crc32_add(crc, buffer, (size_t)got);
        offset += got;
        size -= got;
    }
    return 0;
}

static int write_page(int target, const char page[TRACE_HEADER_SIZE], off_t offset) {
    ssize_t written = pwrite(target, page, TRACE_HEADER_SIZE, offset);
    return written == TRACE_HEADER_SIZE ? 0 : written < 0 ? errno : EIO;
}

int recording_append(int target, const char *path) {
    union {
        struct trace_header header;
        char page[TRACE_HEADER_SIZE];
    } front;
    int source = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (source < 0)
        return errno;
    ssize_t got = pread(source, front.page, sizeof front.page, 0);
    int64_t end = lseek(source, 0, SEEK_END);
    if (got != (ssize_t)sizeof front.page || memcmp(front.header.magic, TRACE_MAGIC, 16) != 0) {
        close(source);
        return EIO;
    }
    struct trace_header *small = &front.header;
    struct trace_header large = *small;
    int64_t room = (end - offset_of(&large, RECORDS_TABLE)) / (int64_t)sizeof(struct trace_record);
    for (int i = 0; i < TABLES; ++i)
        extent_of(small, i)->capacity = extent_of(&large, i)->used;
    if (small->records > room)
        small->records_capacity = room > 0 ? room : 0;
    small->records = small->records_capacity;
    small->section_size = offset_of(small, TABLES);

    struct crc32 crc;
    crc32_begin(&crc);
    crc32_add(&crc, front.page, sizeof front.page);
    off_t begin = lseek(target, 0, SEEK_CUR);
    int code = write_page(target, front.page, begin);
    if (code == 0 && lseek(target, TRACE_HEADER_SIZE, SEEK_CUR) < 0)
        code = errno;
    for (int i = 0; code == 0 && i < TABLES; ++i)
        code = copy(target, source, offset_of(&large, i), extent_of(small, i)->capacity * entry_sizes[i], &crc);
    small->checksum = TRACE_CHECKED | crc32_value(&crc);
    if (code == 0)
        code = write_page(target, front.page, begin);
    close(source);
    return code;
}
