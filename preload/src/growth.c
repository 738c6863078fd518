/* The tables of a recording grow by chunks of its file. */
#define _GNU_SOURCE
#include "growth.h"

#include "own_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Entries that tables may have, and one more per record. */
#define MAPS 65536
#define COMMUNICATORS (1 << 20)
#define SITES (1 << 16)
#define STARTS 512
#define PHASES 4096
#define ROWS (1 << 20)
/* Bytes by which a table grows at a time: a pause of some 0.1 ms for records. A process can have 65,530 mappings, so a
 * large table grows by a part of what it has. */
#define CHUNK 65536
#define RECORDS_CHUNK (1 << 20)
#define GROWTH 64
/* Where room is scarce, a chunk is a part of it: processes share a disk, and records leave room for the other tables.
 */
#define ROOM_SHARE 8

struct recording_file recording = {.lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};

static struct trace_directory *directory; /* the last one */
static int chunks;                        /* in it */
static int64_t parts_size[TABLES];
static time_t failed[TABLES]; /* when a table last did not grow, s; 0: never */

static int64_t up(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

/* How many entries fit into a chunk of this size: whole parts. */
static int64_t entries_in(int table, int64_t bytes) {
    return bytes / table_entry_size[table] >> table_part_shift[table] << table_part_shift[table];
}

/* Makes room for further parts. What a table had is kept, since other threads may be reading there. */
static int reserve_parts(int table, int64_t count) {
    if (count <= parts_size[table])
        return 0;
    int64_t size = count > 2 * parts_size[table] ? count + 64 : 2 * parts_size[table];
    char **larger = malloc((size_t)(size + 1) * sizeof *larger);
    if (larger == NULL)
        return ENOMEM;
    *larger++ = (char *)recording.parts[table]; /* to free it */
    if (parts_size[table] > 0)
        memcpy(larger, recording.parts[table], (size_t)parts_size[table] * sizeof *larger);
    __atomic_store_n(&recording.parts[table], larger, __ATOMIC_RELEASE);
    parts_size[table] = size;
    return 0;
}

static void free_parts(void) {
    for (int i = 0; i < TABLES; ++i)
        for (char **parts = recording.parts[i], **before; parts != NULL; parts = before) {
            before = (char **)(void *)parts[-1];
            free(parts - 1);
        }
    memset(recording.parts, 0, sizeof recording.parts);
    memset(parts_size, 0, sizeof parts_size);
}

/* A chunk is at `memory`, and at `offset` in the file; its parts have room. */
static void add_chunk(int table, char *memory, int64_t offset, int64_t entries) {
    const int shift = table_part_shift[table];
    int64_t first = recording.stored[table] >> shift;
    for (int64_t i = 0; i < (entries + (1 << shift) - 1) >> shift; ++i)
        recording.parts[table][first + i] = memory + (i << shift) * table_entry_size[table];
    struct trace_chunk *chunk = &directory->chunks[chunks++];
    chunk->offset = offset;
    chunk->table = (uint32_t)table;
    atomic_store_explicit(&chunk->entries, (uint32_t)entries, memory_order_release);
    recording.stored[table] += entries;
}

/* Makes room for a chunk in a directory. */
static int reserve_directory(int64_t page) {
    char *memory;
    if (chunks < TRACE_CHUNKS)
        return 0;
    int64_t offset = own_file_size();
    int code = own_file_grow(page, &memory);
    if (code != 0)
        return code;
    atomic_store_explicit(&directory->next, offset, memory_order_release);
    directory = (struct trace_directory *)(void *)memory;
    chunks = 0;
    return 0;
}

int recording_is_scarce(int code) {
    return code == ENOSPC || code == EDQUOT || code == EFBIG || code == ENOMEM || code == EAGAIN || code == EMFILE ||
           code == ENFILE;
}

/* Adds a chunk to a table. */
static int grow(int table) {
    const int64_t page = sysconf(_SC_PAGESIZE);
    const int64_t each = table_entry_size[table];
    int64_t stored = recording.stored[table];
    int64_t more = recording.header->extents[table].capacity - stored;
    int code;
    char *memory;
    if (more <= 0)
        return ENOSPC;
    int64_t bytes = table == RECORDS_TABLE ? RECORDS_CHUNK : CHUNK;
    if (bytes < stored * each / GROWTH)
        bytes = stored * each / GROWTH;
    if (bytes > more * each)
        bytes = more * each;
    bytes = up(bytes, page);
    int64_t share = own_file_room(&code) / ROOM_SHARE / page * page;
    if (share == 0 && table == RECORDS_TABLE)
        return code;
    if (bytes > share)
        bytes = share > 0 ? share : page;
    code = reserve_directory(page);
    if (code == 0)
        code = reserve_parts(table, (stored + bytes / each) / (1 << table_part_shift[table]) + 2);
    if (code != 0)
        return code;
    int64_t offset = own_file_size();
    while ((code = own_file_grow(bytes, &memory)) != 0 && recording_is_scarce(code) && bytes > page)
        bytes = up(bytes / 2, page);
    if (code != 0)
        return code;
#ifdef MADV_POPULATE_WRITE
    /* So that the first write to a page does not look like a late process. An old kernel refuses it: no matter. */
    if (table == RECORDS_TABLE)
        (void)madvise(memory, (size_t)bytes, MADV_POPULATE_WRITE);
#endif
    int64_t entries = entries_in(table, bytes);
    add_chunk(table, memory, offset, entries < more ? entries : more);
    return 0;
}

int table_reserve(int table, int64_t entries) {
    struct timespec now = {0, 0};
    int code = 0;
    while (code == 0 && recording.stored[table] < entries) {
        if (failed[table] != 0 && clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0 && now.tv_sec == failed[table])
            return recording.header->growth_code;
        code = grow(table);
    }
    if (code != 0 && recording.stored[table] < recording.header->extents[table].capacity) {
        recording.header->growth_code = code;
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
        failed[table] = now.tv_sec;
    }
    return code;
}

/* The header, a directory and a chunk for each table but records. */
static int create_tables(const struct trace_header *sizes) {
    const int64_t page = sysconf(_SC_PAGESIZE);
    const int64_t front = TRACE_HEADER_SIZE + sizeof *directory;
    char *memory = NULL;
    int code;
    int64_t room = own_file_room(&code);
    int64_t bytes = CHUNK;
    while (bytes > TRACE_HEADER_SIZE && bytes * 2 * ROOM_SHARE > room)
        bytes /= 4;
    while ((code = own_file_grow(up(front + RECORDS_TABLE * bytes, page), &memory)) != 0 && recording_is_scarce(code) &&
           bytes > TRACE_HEADER_SIZE)
        bytes /= 4;
    for (int i = 0; code == 0 && i < RECORDS_TABLE; ++i)
        code = reserve_parts(i, entries_in(i, bytes) >> table_part_shift[i]);
    if (code != 0)
        return code;
    recording.header = (struct trace_header *)(void *)memory;
    *recording.header = *sizes;
    recording.header->directory = TRACE_HEADER_SIZE;
    directory = (struct trace_directory *)(void *)(memory + recording.header->directory);
    for (int i = 0; i < RECORDS_TABLE; ++i)
        add_chunk(i, memory + front + i * bytes, front + i * bytes, entries_in(i, bytes));
    return 0;
}

void recording_close(void) {
    recording.header = NULL;
    own_file_close();
    free_parts();
}

void recording_discard(void) {
    own_file_remove();
    recording_close();
}

int table_create(const char *path, int64_t records) {
    struct trace_header sizes = {.maps_capacity = MAPS,
                                 .communicators_capacity = records + COMMUNICATORS,
                                 .sites_capacity = SITES,
                                 .starts_capacity = STARTS,
                                 .phases_capacity = PHASES,
                                 .profile_capacity = records + ROWS,
                                 .records_capacity = records};
    int code = own_file_create(path);
    if (code != 0)
        return code;
    code = create_tables(&sizes);
    if (code != 0)
        recording_discard();
    return code;
}

uint32_t table_next(int table, _Atomic int64_t *dropped) {
    int64_t number = recording.header->extents[table].used;
    if (table_reserve(table, number + 1) == 0)
        return (uint32_t)number;
    if (dropped != NULL)
        ++*dropped;
    return TRACE_NONE;
}
