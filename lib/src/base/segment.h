/* A segment: memory that processes of one kernel share (memfd_create). It has no name in a file system. The kernel
 * frees it when the last process that maps it ends in any way, and the size of /dev/shm or a full disk does not limit
 * it. */
#ifndef DOWNBEAT_SEGMENT_H
#define DOWNBEAT_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

/* A process's mapping of a segment. */
struct db_segment {
    void *memory; /* initially zero; NULL: there is no segment */
    size_t size;  /* bytes */
};

/* Identifies a segment to another process. Only 64-bit words, so that it can be sent as a message. */
struct db_ticket {
    int64_t process;    /* ID of the process that created it; 0: there is no segment */
    int64_t descriptor; /* file descriptor in that process */
    int64_t secret;     /* number that is stored in the segment, to detect another one */
};

/* Creates a segment of `size` bytes. On failure `segment->memory` is NULL and `ticket->process` is 0. Other processes
 * can join it until db_segment_close, which closes the descriptor and keeps the mappings. */
void db_segment_create(struct db_segment *segment, size_t size, struct db_ticket *ticket);
void db_segment_close(const struct db_ticket *ticket);

/* Maps the segment of a ticket. `segment->memory` is NULL if it is not accessible, e.g. on another node or in another
 * container. */
void db_segment_join(struct db_segment *segment, size_t size, const struct db_ticket *ticket);

/* Unmaps the segment; does nothing without a segment. */
void db_segment_free(struct db_segment *segment);

#endif
