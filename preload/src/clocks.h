/* The clocks of all processes. */
#ifndef DOWNBEAT_PRELOAD_CLOCKS_H
#define DOWNBEAT_PRELOAD_CLOCKS_H

/* Synchronizes the clocks of all processes, and records the map. Collective over MPI_COMM_WORLD. */
int clocks_begin(void);
void clocks_synchronize(void);
void clocks_end(void);

/* After a blocking collective on all processes: synchronizes if it is time. */
void clocks_after_collective(void);

/* What `downbeat timebase` calls, see there. */
__attribute__((visibility("default"))) int downbeat_preload_begin(void);
__attribute__((visibility("default"))) int downbeat_preload_sample(int more, double seconds);

#endif
