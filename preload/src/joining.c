/* The files of a node's processes become sections of one file. */
#define _GNU_SOURCE
#include "recording_file.h"

#include "crc32.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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
    int64_t room = (end - table_offset(&large, RECORDS_TABLE)) / (int64_t)sizeof(struct trace_record);
    for (int i = 0; i < TABLES; ++i)
        small->extents[i].capacity = large.extents[i].used;
    if (small->records > room)
        small->records_capacity = room > 0 ? room : 0;
    small->records = small->records_capacity;
    small->section_size = table_offset(small, TABLES);

    struct crc32 crc;
    crc32_begin(&crc);
    crc32_add(&crc, front.page, sizeof front.page);
    off_t begin = lseek(target, 0, SEEK_CUR);
    int code = write_page(target, front.page, begin);
    if (code == 0 && lseek(target, TRACE_HEADER_SIZE, SEEK_CUR) < 0)
        code = errno;
    for (int i = 0; code == 0 && i < TABLES; ++i)
        code = copy(target, source, table_offset(&large, i), small->extents[i].capacity * table_entry_size[i], &crc);
    small->checksum = TRACE_CHECKED | crc32_value(&crc);
    if (code == 0)
        code = write_page(target, front.page, begin);
    close(source);
    return code;
}
