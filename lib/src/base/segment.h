/* Memory that processes of one kernel share. It has no name in any file system: it ends with the last process that has
 * it, however that ends, and neither the size of /dev/shm nor a full disk matters. */
#ifndef DOWNBEAT_SEGMENT_H
#define DOWNBEAT_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

struct db_segment {
    void *memory; /* zeroed at first; NULL: none */
    size_t size;
};

/* How another process finds a segment, and knows it for the same: only words, so that it can be sent as such. */
struct db_ticket {
    int64_t process; /* 0: there is no segment */
    int64_t descriptor;
    int64_t secret;
};

/* Makes a segment of so many bytes; without it `ticket->process` is 0. It can be joined until db_segment_close. */
void db_segment_create(struct db_segment *segment, size_t size, struct db_ticket *ticket);
void db_segment_close(const struct db_ticket *ticket);

/* Joins the segment of a ticket. `segment->memory` is NULL if it cannot be reached from here, e.g. from another node or
 * another container. */
void db_segment_join(struct db_segment *segment, size_t size, const struct db_ticket *ticket);

void db_segment_free(struct db_segment *segment);

#endif
