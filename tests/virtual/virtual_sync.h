/* Synchronizations in virtual time (virtual.h), and their true errors. */
#ifndef DOWNBEAT_VIRTUAL_SYNC_H
#define DOWNBEAT_VIRTUAL_SYNC_H

#include "start/scheme.h"
#include "sync/levels.h"
#include "sync/sync.h"
#include "virtual.h"

struct virtual_sync {
    struct virtual_world *world;
    int size;
    struct db_scheme scheme;
    struct db_limits limits;
    struct db_channel channel;
    struct db_levels *levels;  /* by process */
    struct db_clock_map *maps; /* by process */
    struct db_pair *pairs;     /* by process and level */
    struct db_histories *histories;
    double stagger_ns; /* processes begin up to this much after one another; 1 ms unless it is changed */
    double begun_ns;   /* true time at which the last synchronization began */
};

/* A world in which the scheme is ready to run. `node_size` consecutive processes are a node, for schemes with levels
 * between and within nodes; the last may be smaller. The limits allow for what the model can draw. */
struct virtual_sync virtual_sync_create(const struct virtual_model *model, int size, int node_size, const char *scheme);
void virtual_sync_free(struct virtual_sync *sync);

/* Synchronizes. Process 0's map begins with its first run, unless it has been set before, and must stay as it is; those
 * of the others are spoilt before, and must be set. */
void virtual_sync_run(struct virtual_sync *sync);

/* Takes over what the processes of another world have learned of their pairs. */
void virtual_sync_inherit(struct virtual_sync *sync, const struct virtual_sync *other);

/* How far a process's global clock is ahead of process 0's at the same instant, and what it says of its error. */
double virtual_sync_error_ns(const struct virtual_sync *sync, int process, double true_ns);
double virtual_sync_bound_ns(const struct virtual_sync *sync, int process, double true_ns);

/* Checks that no process's error is larger than its bound, a while after the last synchronization. Returns the largest
 * part of its bound that an error takes up. */
double virtual_sync_check_bounds(const struct virtual_sync *sync, const char *scheme, double after_ns);

/* The same directly after, 1 s and 10 s later, for a scheme in a world of its own, and for every scheme with every
 * offset estimator. A second synchronization, with what the first has learned of the pairs, is checked too, unless the
 * world is large. */
double virtual_sync_check(const struct virtual_model *model, int size, int node_size, const char *scheme);
double virtual_sync_check_all(const struct virtual_model *model, int size);

/* A world for that: offsets up to 1 s, frequencies within 10 ppm, part of which wanders, and calibrations that are off
 * by up to 1 ppm. */
struct virtual_model virtual_rough(const struct virtual_network *network,
                                   double (*path_ns)(int source, int destination, double true_ns));

/* The median of `count` values, which it sorts. */
double virtual_median(double *values, int count);

#endif
