#define _GNU_SOURCE
#include "recording.h"

#include "collectives.h"
#include "crc32.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAPS 4096
#define COMMUNICATORS 4096
#define SITES 2048
#define STARTS 512
_Static_assert(SITES < UINT16_MAX, "a record has the number of its site");
/* Records for which the file grows at a time: 1 MB, a pause of some 0.1 ms. */
#define CHUNK 16384

#define NAME(Name, name, parameters, arguments, bytes, root) #name "\0"
static const char operation_names[] = BARRIER(NAME) COLLECTIVES(NAME, int, int);
_Static_assert(sizeof operation_names <= TRACE_NAMES_SIZE, "names have their place in the header");

static struct {
    int file;
    struct trace_header *header;
    struct trace_map *maps;
    struct trace_communicator *communicators;
    struct trace_site *sites;
    struct trace_start *starts;
    struct trace_record *records;
    size_t mapped;          /* bytes */
    _Atomic int64_t stored; /* records that the file has room for now */
    _Atomic int full;
    pthread_mutex_t lock;
    Downbeat_clock clock;
} own = {.file = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t tables_size(const struct trace_header *header) {
    return header->maps_capacity * (int64_t)sizeof(struct trace_map) +
           header->communicators_capacity * (int64_t)sizeof(struct trace_communicator) +
           header->sites_capacity * (int64_t)sizeof(struct trace_site) +
           header->starts_capacity * (int64_t)sizeof(struct trace_start);
}

static int64_t records_offset(const struct trace_header *header) { return TRACE_HEADER_SIZE + tables_size(header); }

static void find_tables(void) {
    own.maps = (struct trace_map *)((char *)own.header + TRACE_HEADER_SIZE);
    own.communicators = (struct trace_communicator *)(own.maps + own.header->maps_capacity);
    own.sites = (struct trace_site *)(own.communicators + own.header->communicators_capacity);
    own.starts = (struct trace_start *)(own.sites + own.header->sites_capacity);
    own.records = (struct trace_record *)(own.starts + own.header->starts_capacity);
}

static void write_header(const struct trace_header *sizes, int world_rank, int world_size) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *own.header = *sizes;
    own.header->section_size = (int64_t)own.mapped;
    own.header->world_rank = world_rank;
    own.header->world_size = world_size;
    own.header->ending = TRACE_RUNNING;
    own.header->pid = getpid();
    own.header->began_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    own.header->record_size = (int32_t)sizeof(struct trace_record);
    own.header->operations = OPERATIONS;
    gethostname(own.header->host, TRACE_HOST_SIZE - 1);
    memcpy(own.header->names, operation_names, sizeof operation_names);
    /* Last: a file without it is not read. */
    memcpy(own.header->magic, TRACE_MAGIC, sizeof own.header->magic);
}

int recording_open(const char *path, int world_rank, int world_size, int64_t records) {
    const struct trace_header sizes = {.maps_capacity = MAPS,
                                       .communicators_capacity = COMMUNICATORS,
                                       .sites_capacity = SITES,
                                       .starts_capacity = STARTS,
                                       .records_capacity = records};
    int64_t front = records_offset(&sizes);
    own.file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (own.file < 0)
        return errno;
    /* Room is taken before it is written to: a mapped file on a full file system would end the program. */
    int code = posix_fallocate(own.file, 0, front);
    if (code != 0) {
        close(own.file);
        return code;
    }
    own.mapped = (size_t)(front + records * (int64_t)sizeof(struct trace_record));
    void *mapped = mmap(NULL, own.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, own.file, 0);
    if (mapped == MAP_FAILED) {
        code = errno;
        close(own.file);
        return code;
    }
    own.header = mapped;
    write_header(&sizes, world_rank, world_size);
    find_tables();
    return 0;
}

void recording_close(void) {
    munmap(own.header, own.mapped);
    own.header = NULL;
    close(own.file);
}

void recording_end(int ending, int abort_code) {
    if (own.header == NULL)
        return;
    own.header->abort_code = abort_code;
    own.header->ending = ending;
}

void recording_set_clock(const Downbeat_clock *clock, double max_wander) {
    own.clock = *clock;
    own.header->max_wander = max_wander;
}

/* If there is no room, the last one is replaced: what is known of the end of the program matters most. */
void recording_add_map(const Downbeat_clock *clock) {
    int64_t number = own.header->maps;
    if (number == own.header->maps_capacity) {
        ++own.header->maps_dropped;
        --number;
    }
    own.maps[number] = (struct trace_map){.ticks = clock->ticks,
                                          .global_ns = clock->global,
                                          .ns_per_tick = clock->tick,
                                          .bound_ns = clock->bound,
                                          .growth = clock->growth,
                                          .variance = clock->variance,
                                          .cross = clock->cross,
                                          .rate = clock->rate,
                                          .walk = clock->walk};
    own.header->maps = number + 1;
}

int64_t recording_ticks(void) { return own.clock.read(own.clock.clock); }

double recording_tick_ns(void) { return own.clock.tick; }

/* Makes the file larger, at least beyond record `number`. */
static int grow(int64_t number) {
    pthread_mutex_lock(&own.lock);
    while (!own.full && own.stored <= number) {
        int64_t more = own.header->records_capacity - own.stored;
        if (more > CHUNK)
            more = CHUNK;
        int64_t offset = (char *)&own.records[own.stored] - (char *)own.header;
        int64_t size = more * (int64_t)sizeof(struct trace_record);
        if (more <= 0 || posix_fallocate(own.file, offset, size) != 0) {
            own.full = 1;
            break;
        }
#ifdef MADV_POPULATE_WRITE
        /* So that the first write to a page does not look like a late process. An old kernel refuses it: no matter. */
        int64_t page = sysconf(_SC_PAGESIZE);
        int64_t begin = (offset + page - 1) / page * page;
        if (offset + size > begin)
            (void)madvise((char *)own.header + begin, (size_t)(offset + size - begin), MADV_POPULATE_WRITE);
#endif
        own.stored += more;
    }
    pthread_mutex_unlock(&own.lock);
    return own.stored > number;
}

struct trace_record *recording_take(void) {
    if (own.full && own.header->records >= own.stored) {
        ++own.header->records_dropped;
        return NULL;
    }
    int64_t number = atomic_fetch_add_explicit(&own.header->records, 1, memory_order_relaxed);
    if (number < own.stored || grow(number))
        return &own.records[number];
    ++own.header->records_dropped;
    return NULL;
}

/* The next entry of a table; the lock is of those who add. */
static uint32_t next_entry(_Atomic int64_t *count, int64_t capacity, _Atomic int64_t *dropped) {
    if (*count < capacity)
        return (uint32_t)*count;
    ++*dropped;
    return TRACE_NONE;
}

#define ADD(table, entry)                                                                                              \
    do {                                                                                                               \
        pthread_mutex_lock(&own.lock);                                                                                 \
        uint32_t number = next_entry(&own.header->table, own.header->table##_capacity, &own.header->table##_dropped);  \
        if (number != TRACE_NONE) {                                                                                    \
            own.table[number] = *(entry);                                                                              \
            ++own.header->table;                                                                                       \
        }                                                                                                              \
        pthread_mutex_unlock(&own.lock);                                                                               \
        return number;                                                                                                 \
    } while (0)

uint32_t recording_add_communicator(const struct trace_communicator *communicator) { ADD(communicators, communicator); }

uint32_t recording_add_site(const struct trace_site *site) { ADD(sites, site); }

uint32_t recording_add_start(const struct trace_start *start) { ADD(starts, start); }

struct trace_communicator *recording_communicator(uint32_t number) {
    return &own.communicators[number];
}

struct trace_site *recording_site(uint32_t number) {
    return &own.sites[number];
}

struct trace_start *recording_start(uint32_t number) {
    return &own.starts[number];
}

uint32_t recording_starts(void) { return (uint32_t)own.header->starts; }

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
    const struct trace_header large = *small;
    int64_t room = (end - records_offset(&large)) / (int64_t)sizeof(struct trace_record);
    small->maps_capacity = large.maps;
    small->communicators_capacity = large.communicators;
    small->sites_capacity = large.sites;
    small->starts_capacity = large.starts;
    small->records_capacity = large.records < room ? large.records : room;
    small->records = small->records_capacity;
    small->section_size = records_offset(small) + small->records_capacity * (int64_t)sizeof(struct trace_record);

    const struct {
        int64_t size;
        int64_t used;
        int64_t capacity;
    } tables[] = {
        {sizeof(struct trace_map), small->maps_capacity, large.maps_capacity},
        {sizeof(struct trace_communicator), small->communicators_capacity, large.communicators_capacity},
        {sizeof(struct trace_site), small->sites_capacity, large.sites_capacity},
        {sizeof(struct trace_start), small->starts_capacity, large.starts_capacity},
        {sizeof(struct trace_record), small->records_capacity, large.records_capacity},
    };
    struct crc32 crc;
    crc32_begin(&crc);
    crc32_add(&crc, front.page, sizeof front.page);
    off_t begin = lseek(target, 0, SEEK_CUR);
    int code = write_page(target, front.page, begin);
    if (code == 0 && lseek(target, TRACE_HEADER_SIZE, SEEK_CUR) < 0)
        code = errno;
    int64_t offset = TRACE_HEADER_SIZE;
    for (size_t i = 0; code == 0 && i < sizeof tables / sizeof tables[0]; ++i) {
        code = copy(target, source, offset, tables[i].size * tables[i].used, &crc);
        offset += tables[i].size * tables[i].capacity;
    }
    small->checksum = TRACE_CHECKED | crc32_value(&crc);
    if (code == 0)
        code = write_page(target, front.page, begin);
    close(source);
    return code;
}
