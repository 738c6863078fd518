/* Memory that processes of one kernel share (memfd_create). It has no name in a file system: the kernel frees it with
 * the last process that maps it, however that process ends, and neither the size of /dev/shm nor a full disk matters.
 */
#ifndef DOWNBEAT_SEGMENT_H
#define DOWNBEAT_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

struct db_segment {
    void *memory; /* initially zero; NULL: there is no segment */
    size_t size;
};

/* Identifies a segment to another process. Only 64-bit words, so that it can be sent as a message. */
struct db_ticket {
    int64_t process; /* 0: there is no segment */
    int64_t descriptor;
    int64_t secret;
};

/* Creates a segment of `size` bytes. On failure `segment->memory` is NULL and `ticket->process` 0. Other processes can
 * join it until db_segment_close. */
void db_segment_create(struct db_segment *segment, size_t size, struct db_ticket *ticket);
void db_segment_close(const struct db_ticket *ticket);

/* Maps the segment of a ticket. `segment->memory` is NULL if it is not accessible, e.g. on another node or in another
 * container. */
void db_segment_join(struct db_segment *segment, size_t size, const struct db_ticket *ticket);

void db_segment_free(struct db_segment *segment);

#endif
