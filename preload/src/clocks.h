/* The clocks of all processes. */
#ifndef DOWNBEAT_PRELOAD_CLOCKS_H
#define DOWNBEAT_PRELOAD_CLOCKS_H

/* Synchronize the clocks of all processes, and record the map. Collective over MPI_COMM_WORLD. clocks_begin, the first
 * one, returns MPI's error code; clocks_end is the last one. */
int clocks_begin(void);
void clocks_synchronize(void);
void clocks_end(void);

/* Called after each blocking collective on all processes: synchronizes if the interval has passed. */
void clocks_after_collective(void);

/* For `downbeat timebase`. */
__attribute__((visibility("default"))) int downbeat_preload_begin(void);
__attribute__((visibility("default"))) int downbeat_preload_sample(int more, double seconds);

#endif
