/* Joining of trace files (joining.h): the file of each process becomes a section of the node's file. A section begins
 * with a page for the header and a page for the directory, the "front" (trace_file.h); then each table is one chunk. */
#define _GNU_SOURCE
#include "joining.h"

#include "protected_file.h"
#include "tables.h"

#include "crc32.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Copies `size` bytes from `offset` to the end of `target`, and adds them to the checksum. Returns 0, or an errno. */
static int copy(int target, int source, int64_t offset, int64_t size, struct crc32 *crc) {
    char buffer[65536];
    while (size > 0) {
        size_t piece = size < (int64_t)sizeof buffer ? (size_t)size : sizeof buffer;
        ssize_t received = pread(source, buffer, piece, offset);
        if (received <= 0)
            return received == 0 ? EIO : errno;
        for (ssize_t copied = 0; copied < received;) {
            ssize_t written = write(target, buffer + copied, (size_t)(received - copied));
            if (written < 0)
                return errno;
            copied += written;
        }
        crc32_add(crc, buffer, (size_t)received);
        offset += received;
        size -= received;
    }
    return 0;
}

/* The beginning of a joined section. */
union front {
    struct {
        union {
            struct trace_header header;
            char page[TRACE_HEADER_SIZE];
        };
        struct trace_directory directory;
    };
    char bytes[2 * TRACE_HEADER_SIZE];
};

/* Writes a front at an offset of a file. Returns 0, or an errno. */
static int write_front(int target, const union front *front, off_t offset) {
    ssize_t written = pwrite(target, front->bytes, sizeof front->bytes, offset);
    return written == (ssize_t)sizeof front->bytes ? 0 : written < 0 ? errno : EIO;
}

/* Reads the page of a directory or header at an offset of a file. Returns 0, or an errno. */
static int read_page(int source, void *page, int64_t offset) {
    ssize_t received = pread(source, page, TRACE_HEADER_SIZE, offset);
    return received == TRACE_HEADER_SIZE ? 0 : received < 0 ? errno : EIO;
}

/* Copies up to `entries` entries of a table from its chunks, and sets `entries` to the number of entries that exist. If
 * `crc` is NULL, only counts them. */
static int copy_table(int target, int source, int table, int64_t first_directory, int64_t *entries, struct crc32 *crc) {
    struct trace_directory directory;
    int64_t remaining = *entries;
    int code = 0;
    for (int64_t at = first_directory; code == 0 && at != 0 && remaining > 0; at = directory.next) {
        code = read_page(source, &directory, at);
        for (int i = 0; code == 0 && i < TRACE_CHUNKS && remaining > 0; ++i) {
            const struct trace_chunk *chunk = &directory.chunks[i];
            int64_t present = chunk->table == (uint32_t)table ? chunk->entries : 0;
            present = present < remaining ? present : remaining;
            remaining -= present;
            if (crc != NULL)
                code = copy(target, source, chunk->offset, present * table_entry_size[table], crc);
        }
    }
    *entries -= remaining;
    return code;
}

/* Computes the layout of a joined section. */
static void lay_out_tables(union front *front) {
    int64_t offset = sizeof front->bytes;
    int chunks = 0;
    memset(&front->directory, 0, sizeof front->directory);
    front->header.directory = TRACE_HEADER_SIZE;
    for (int i = 0; i < TABLES; ++i) {
        int64_t entries = front->header.extents[i].used;
        front->header.extents[i].capacity = entries;
        if (entries > 0)
            front->directory.chunks[chunks++] =
                (struct trace_chunk){.offset = offset, .table = (uint32_t)i, .entries = (uint32_t)entries};
        offset += entries * table_entry_size[i];
    }
    front->header.section_size = offset;
}

/* Appends a section. Writes the front twice: to reserve its space, and at the end with the checksum. */
static int append(int target, int source) {
    union front front;
    struct crc32 crc;
    int code = read_page(source, front.page, 0);
    if (code != 0 || memcmp(front.header.magic, TRACE_MAGIC, 16) != 0)
        return code != 0 ? code : EIO;
    const int64_t first_directory = front.header.directory;
    for (int i = 0; code == 0 && i < TABLES; ++i) {
        int64_t entries = front.header.extents[i].used; /* for records, may exceed the capacity */
        code = copy_table(target, source, i, first_directory, &entries, NULL);
        front.header.extents[i].used = entries;
    }
    if (code != 0)
        return code;
    lay_out_tables(&front);
    crc32_begin(&crc);
    crc32_add(&crc, front.bytes, sizeof front.bytes);
    off_t begin = lseek(target, 0, SEEK_CUR);
    code = write_front(target, &front, begin);
    if (code == 0 && lseek(target, (off_t)sizeof front.bytes, SEEK_CUR) < 0)
        code = errno;
    for (int i = 0; code == 0 && i < TABLES; ++i) {
        int64_t entries = front.header.extents[i].used;
        code = copy_table(target, source, i, first_directory, &entries, &crc);
    }
    front.header.checksum = TRACE_CHECKED | crc32_value(&crc);
    return code == 0 ? write_front(target, &front, begin) : code;
}

int recording_append(int target, const char *path) {
    struct held_signals held;
    int source = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (source < 0)
        return errno;
    signals_hold(&held, 0);
    int code = append(target, source);
    signals_release(&held);
    close(source);
    return code;
}
