/* Where in its node this process runs, according to Linux. */
#ifndef DOWNBEAT_TOPOLOGY_H
#define DOWNBEAT_TOPOLOGY_H

struct db_place {
    int socket;
    int numa; /* domain; unique in the node */
};

/* The place of a processor, from a tree such as /sys/devices/system/cpu; 0 if it is not listed. */
struct db_place db_place_of(const char *tree, int processor);

/* The place of the processor that this process runs on now. It is permanent only if processes are bound. */
struct db_place db_place_here(void);

#endif
