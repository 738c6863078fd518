/* Shared memory between processes (segment.h). A process joins by opening the creator's descriptor in /proc. */
#define _GNU_SOURCE
#include "base/segment.h"

#include "fnv1a.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME "downbeat"

/* Maximum number of segments of a process; communicators beyond it use messages. Chosen by hand: Linux allows a process
 * 65,530 mappings (vm.max_map_count), and most are left to the program. */
#define MAX_SEGMENTS 1024
static atomic_int segments; /* number of mapped segments */

/* Proof that a mapping is the segment of a ticket. Stored directly after the memory that callers use. */
struct seal {
    int64_t secret;
};

/* The seal at the end of a segment's memory. */
static struct seal *seal_of(const struct db_segment *segment) {
    return (struct seal *)((char *)segment->memory + segment->size);
}

/* Maps the file of a segment. On failure, segment->memory stays NULL. */
static void map(struct db_segment *segment, size_t size, int descriptor) {
    size_t mapped_size = size + sizeof(struct seal);
    void *memory = MAP_FAILED;
    /* Counts the segment first, so that threads cannot exceed the maximum together. */
    if (atomic_fetch_add(&segments, 1) < MAX_SEGMENTS)
        memory = mmap(NULL, mapped_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) {
        atomic_fetch_sub(&segments, 1);
        return;
    }
    *segment = (struct db_segment){.memory = memory, .size = size};
    madvise(memory, mapped_size, MADV_DONTFORK); /* because a forked child is not a process of the communicator */
}

/* Returns a number that is different for each segment of a node. */
static int64_t make_secret(const void *memory) {
    char text[128];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(text, sizeof text, "%ld %p %lld.%ld", (long)getpid(), memory, (long long)now.tv_sec, now.tv_nsec);
    return (int64_t)fnv1a_text(FNV1A_START, text);
}

void db_segment_create(struct db_segment *segment, size_t size, struct db_ticket *ticket) {
    *segment = (struct db_segment){0};
    *ticket = (struct db_ticket){0};
    int descriptor = memfd_create(NAME, MFD_CLOEXEC);
    if (descriptor < 0)
        return;
    /* Allocates memory now, so that a lack of memory is an error here and not a SIGBUS later. */
    if (posix_fallocate(descriptor, 0, (off_t)(size + sizeof(struct seal))) == 0)
        map(segment, size, descriptor);
    if (segment->memory == NULL) {
        close(descriptor);
        return;
    }
    *ticket = (struct db_ticket){.process = getpid(), .descriptor = descriptor, .secret = make_secret(segment->memory)};
    seal_of(segment)->secret = ticket->secret;
}

void db_segment_close(const struct db_ticket *ticket) {
    if (ticket->process != 0)
        close((int)ticket->descriptor);
}

/* Returns 1 if a path in /proc is a segment of this library. In another container the process ID may belong to an
 * unrelated process, whose files must not be opened. */
static int is_segment(const char *path) {
    static const char expected[] = "/memfd:" NAME;
    /* The target is longer than the buffer, which readlink fills without an error: Linux appends " (deleted)". */
    char target[sizeof expected];
    return readlink(path, target, sizeof target) == sizeof target &&
           strncmp(target, expected, sizeof expected - 1) == 0;
}

/* True if a file has the size of a segment of `size` bytes with its seal. */
static int has_size(int descriptor, size_t size) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && status.st_size == (off_t)(size + sizeof(struct seal));
}

void db_segment_join(struct db_segment *segment, size_t size, const struct db_ticket *ticket) {
    char path[64];
    *segment = (struct db_segment){0};
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)ticket->process, (long long)ticket->descriptor);
    if (ticket->process == 0 || !is_segment(path))
        return;
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
        return;
    if (has_size(descriptor, size))
        map(segment, size, descriptor);
    close(descriptor);
    if (segment->memory != NULL && seal_of(segment)->secret != ticket->secret)
        db_segment_free(segment);
}

void db_segment_free(struct db_segment *segment) {
    if (segment->memory == NULL)
        return;
    munmap(segment->memory, segment->size + sizeof(struct seal));
    atomic_fetch_sub(&segments, 1);
    *segment = (struct db_segment){0};
}
