/* The file of a recording grows as its tables do. */
#define _GNU_SOURCE
#include "recording_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

/* Entries that tables may have, and one more per record; the file has room for those alone that are used. */
#define MAPS 65536
#define COMMUNICATORS (1 << 20)
#define SITES (1 << 16)
#define STARTS 512
#define PHASES 4096
#define ROWS (1 << 20)
/* Bytes by which the file grows at a time: a pause of some 0.1 ms for records. */
#define CHUNK 65536
#define RECORDS_CHUNK (1 << 20)

struct recording_file own = {.file = -1, .lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};

const int64_t table_entry_size[TABLES] = {sizeof(struct trace_map),   sizeof(struct trace_communicator),
                                          sizeof(struct trace_site),  sizeof(struct trace_start),
                                          sizeof(struct trace_phase), sizeof(struct trace_row),
                                          sizeof(struct trace_record)};

int64_t table_offset(const struct trace_header *header, int table) {
    int64_t offset = TRACE_HEADER_SIZE;
    for (int i = 0; i < table; ++i)
        offset += header->extents[i].capacity * table_entry_size[i];
    return offset;
}

void *table_entry(int table, uint32_t number) { return own.tables[table] + number * table_entry_size[table]; }

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

int table_reserve(int table, int64_t entries) {
    int64_t each = table_entry_size[table];
    int64_t chunk = (table == RECORDS_TABLE ? RECORDS_CHUNK : CHUNK) / each;
    while (own.stored[table] < entries) {
        int64_t more = own.header->extents[table].capacity - own.stored[table];
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

int table_create(const char *path, int64_t records) {
    struct trace_header sizes = {.maps_capacity = MAPS,
                                 .communicators_capacity = records + COMMUNICATORS,
                                 .sites_capacity = SITES,
                                 .starts_capacity = STARTS,
                                 .phases_capacity = PHASES,
                                 .profile_capacity = records + ROWS,
                                 .records_capacity = records};
    own.file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (own.file < 0)
        return errno;
    own.mapped = (size_t)table_offset(&sizes, TABLES);
    int code = allocate(0, TRACE_HEADER_SIZE);
    void *mapped = MAP_FAILED;
    if (code == 0) {
        mapped = mmap(NULL, own.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, own.file, 0);
        code = mapped == MAP_FAILED ? errno : 0;
    }
    if (mapped != MAP_FAILED) {
        own.header = mapped;
        *own.header = sizes;
        own.header->section_size = (int64_t)own.mapped;
        for (int i = 0; i < TABLES; ++i)
            own.tables[i] = (char *)own.header + table_offset(&sizes, i);
        for (int i = 0; code == 0 && i < RECORDS_TABLE; ++i)
            code = table_reserve(i, 1);
    }
    if (code != 0)
        close(own.file);
    return code;
}

uint32_t table_next(int table, _Atomic int64_t *dropped) {
    int64_t number = own.header->extents[table].used;
    if (table_reserve(table, number + 1) == 0)
        return (uint32_t)number;
    if (dropped != NULL)
        ++*dropped;
    return TRACE_NONE;
}

void recording_close(void) {
    munmap(own.header, own.mapped);
    own.header = NULL;
    close(own.file);
}
