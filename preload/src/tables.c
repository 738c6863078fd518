/* The tables of a recording (tables.h). They grow by chunks: the file grows by a chunk, which is mapped, and belongs to
 * one table. A directory page in the file lists the chunks. Entries never move. */
#define _GNU_SOURCE
#include "tables.h"

#include "protected_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Capacities of tables, in entries; COMMUNICATORS and ROWS are in addition to the number of records. */
#define MAPS 65536
#define COMMUNICATORS (1 << 20)
#define SITES (1 << 16)
#define STARTS 512
#define PHASES 4096
#define ROWS (1 << 20)
/* Bytes by which a table grows. RECORDS_CHUNK makes a pause of some 0.1 ms. A process can have 65,530 mappings, so a
 * large table grows by 1/GROWTH of its size. */
#define CHUNK 65536
#define RECORDS_CHUNK (1 << 20)
#define GROWTH 64
/* If space is scarce, a chunk takes 1/ROOM_SHARE of it: processes share a disk, and records must leave space for the
 * other tables. */
#define ROOM_SHARE 8

struct recording_file recording = {.lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};

static struct trace_directory *directory; /* the last directory of the file */
static int chunks;                        /* number of its chunks */
static int64_t blocks_size[TABLES];       /* number of addresses that recording.blocks[table] has space for */
static time_t failure_time[TABLES];       /* time of the last failure to grow, s; 0: none */

/* Returns the smallest multiple of `unit` that is at least `bytes`. */
static int64_t round_up(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

/* Number of entries in a chunk of this size, in complete blocks. */
static int64_t entries_in(int table, int64_t bytes) {
    return bytes / table_entry_size[table] >> table_block_shift[table] << table_block_shift[table];
}

/* Makes space for the addresses of `count` blocks. The old array stays allocated, since other threads may be reading
 * it. */
static int reserve_blocks(int table, int64_t count) {
    if (count <= blocks_size[table])
        return 0;
    int64_t size = count > 2 * blocks_size[table] ? count + 64 : 2 * blocks_size[table];
    char **larger = malloc((size_t)(size + 1) * sizeof *larger);
    if (larger == NULL)
        return ENOMEM;
    *larger++ = (char *)recording.blocks[table]; /* link to the old array, for free_blocks */
    if (blocks_size[table] > 0)
        memcpy(larger, recording.blocks[table], (size_t)blocks_size[table] * sizeof *larger);
    __atomic_store_n(&recording.blocks[table], larger, __ATOMIC_RELEASE);
    blocks_size[table] = size;
    return 0;
}

/* Frees the arrays of block addresses, also earlier ones that other threads may have read. */
static void free_blocks(void) {
    for (int i = 0; i < TABLES; ++i)
        for (char **blocks = recording.blocks[i], **before; blocks != NULL; blocks = before) {
            before = (char **)(void *)blocks[-1];
            free(blocks - 1);
        }
    memset(recording.blocks, 0, sizeof recording.blocks);
    memset(blocks_size, 0, sizeof blocks_size);
}

/* Adds a chunk of `entries` entries to a table. The chunk is at `offset` in the file, mapped at `memory`; the addresses
 * of its blocks have space. */
static void add_chunk(int table, char *memory, int64_t offset, int64_t entries) {
    const int shift = table_block_shift[table];
    int64_t first = recording.stored[table] >> shift;
    for (int64_t i = 0; i < (entries + (1 << shift) - 1) >> shift; ++i)
        recording.blocks[table][first + i] = memory + (i << shift) * table_entry_size[table];
    struct trace_chunk *chunk = &directory->chunks[chunks++];
    chunk->offset = offset;
    chunk->table = (uint32_t)table;
    atomic_store_explicit(&chunk->entries, (uint32_t)entries, memory_order_release);
    recording.stored[table] += entries;
}

/* Makes space for a chunk in the directory; adds a directory of one page if necessary. Returns 0, or an errno. */
static int reserve_directory(int64_t page) {
    char *memory;
    if (chunks < TRACE_CHUNKS)
        return 0;
    int64_t offset = protected_file_size();
    int code = protected_file_grow(page, &memory);
    if (code != 0)
        return code;
    atomic_store_explicit(&directory->next, offset, memory_order_release);
    directory = (struct trace_directory *)(void *)memory;
    chunks = 0;
    return 0;
}

int is_exhaustion(int code) {
    return code == ENOSPC || code == EDQUOT || code == EFBIG || code == ENOMEM || code == EAGAIN || code == EMFILE ||
           code == ENFILE;
}

/* Adds a chunk to a table. If space is scarce, the chunk is smaller. Returns 0, or an errno. */
static int grow(int table) {
    const int64_t page = sysconf(_SC_PAGESIZE);
    const int64_t entry_size = table_entry_size[table];
    int64_t stored = recording.stored[table];
    int64_t remaining = recording.header->extents[table].capacity - stored;
    int code;
    char *memory;
    if (remaining <= 0)
        return ENOSPC;
    int64_t bytes = table == RECORDS_TABLE ? RECORDS_CHUNK : CHUNK;
    if (bytes < stored * entry_size / GROWTH)
        bytes = stored * entry_size / GROWTH;
    if (bytes > remaining * entry_size)
        bytes = remaining * entry_size;
    bytes = round_up(bytes, page);
    /* Records stop growing while the other tables may still take the last pages. */
    int64_t share = protected_file_room(&code) / ROOM_SHARE / page * page;
    if (share == 0 && table == RECORDS_TABLE)
        return code;
    if (bytes > share)
        bytes = share > 0 ? share : page;
    code = reserve_directory(page);
    if (code == 0)
        code = reserve_blocks(table, (stored + bytes / entry_size) / (1 << table_block_shift[table]) + 2);
    if (code != 0)
        return code;
    int64_t offset = protected_file_size();
    while ((code = protected_file_grow(bytes, &memory)) != 0 && is_exhaustion(code) && bytes > page)
        bytes = round_up(bytes / 2, page);
    if (code != 0)
        return code;
#ifdef MADV_POPULATE_WRITE
    /* Populates the pages, so that a page fault does not look like a late process. Old kernels do not support it. */
    if (table == RECORDS_TABLE)
        (void)madvise(memory, (size_t)bytes, MADV_POPULATE_WRITE);
#endif
    int64_t entries = entries_in(table, bytes);
    add_chunk(table, memory, offset, entries < remaining ? entries : remaining);
    return 0;
}

/* After a failure, tries again only in the next second, because a try takes several system calls. */
int table_reserve(int table, int64_t entries) {
    struct timespec now = {0, 0};
    int code = 0;
    while (code == 0 && recording.stored[table] < entries) {
        if (failure_time[table] != 0 && clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0 &&
            now.tv_sec == failure_time[table])
            return recording.header->growth_code;
        code = grow(table);
    }
    if (code != 0 && recording.stored[table] < recording.header->extents[table].capacity) {
        recording.header->growth_code = code;
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
        failure_time[table] = now.tv_sec;
    }
    return code;
}

/* Creates the header, a directory and a chunk for each table except records. `sizes` has the capacities. Returns 0, or
 * an errno. */
static int create_tables(const struct trace_header *sizes) {
    const int64_t page = sysconf(_SC_PAGESIZE);
    const int64_t front = TRACE_HEADER_SIZE + sizeof *directory;
    char *memory = NULL;
    int code;
    int64_t room = protected_file_room(&code);
    int64_t bytes = CHUNK;
    while (bytes > TRACE_HEADER_SIZE && bytes * 2 * ROOM_SHARE > room)
        bytes /= 4;
    while ((code = protected_file_grow(round_up(front + RECORDS_TABLE * bytes, page), &memory)) != 0 &&
           is_exhaustion(code) && bytes > TRACE_HEADER_SIZE)
        bytes /= 4;
    for (int i = 0; code == 0 && i < RECORDS_TABLE; ++i)
        code = reserve_blocks(i, entries_in(i, bytes) >> table_block_shift[i]);
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
    protected_file_close();
    free_blocks();
}

void recording_discard(void) {
    protected_file_remove();
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
    int code = protected_file_create(path);
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
