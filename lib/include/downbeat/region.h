/*
 * Regions: measure a part of an application the way downbeat-bench measures an MPI operation.
 *
 *     Downbeat_region region;
 *     for (...) {
 *         Downbeat_region_begin(comm, "halo exchange", &region);
 *         exchange_halo();
 *         Downbeat_region_end(&region);
 *         compute();
 *     }
 *     MPI_Finalize();                         // writes downbeat-regions.json
 *
 * A region begins with a harmonized start (mpix_harmonize.h): all processes enter it at the same instant, the deadline.
 * Its begin and end are timestamped on the global clock. A pair of begin and end on all processes of the communicator
 * is a sample. As in downbeat-bench, a sample is valid if every process left the harmonized start in time and none
 * entered later than the tolerance after the deadline. All other samples are counted as rejected.
 *
 * Results of a region, over its valid samples:
 *
 *     latency    from a process's entry to its exit: mean and maximum over processes, and for each process
 *     makespan   from the deadline to the last exit
 *     exit skew  from the first process's exit from the harmonized start to the last one's
 *     end skew   from the first process's exit from the region to the last one's
 *
 * Each has mean, minimum and maximum over all samples, and median, 95th and 99th percentile over up to 4096 samples; of
 * more, 4096 are drawn at random (Vitter 1985, algorithm R).
 *
 * Output. MPI_Finalize writes JSON lines to the file that setting `regions` names (DOWNBEAT_REGIONS, default
 * downbeat-regions.json), and prints a table if setting `regions_table` asks for it. Process 0 of each communicator
 * writes its regions; if that is, e.g., rank 3 of MPI_COMM_WORLD, the file is downbeat-regions.rank3.json, so each file
 * has one writer. A region is identified by its name and its processes: if it begins again on a duplicate communicator,
 * or on the same processes after a communicator was freed, it continues. Without regions no file is written.
 *
 * Cost. Inside the timestamps: the return from begin and the call of end. Outside: begin compares the name (a reduction
 * and a broadcast of four words) before its harmonized start; before every 256th sample it gathers the timestamps of
 * all processes at process 0 (more often with more than 1024 processes, to need at most 10 MB). The rest is gathered
 * when the communicator is freed, or in MPI_Finalize.
 *
 * Nesting. Regions with different names may be nested or overlap. The inner region's start then counts in the outer
 * region, and synchronizes its processes.
 *
 * Conventions, thread safety and errors are the same as in mpix_harmonize.h; threads that measure at the same time need
 * separate communicators.
 */
#ifndef DOWNBEAT_REGION_H_PUBLIC
#define DOWNBEAT_REGION_H_PUBLIC

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A region that has begun. It belongs to the communicator; do not use it after that is freed. */
typedef struct Downbeat_region_state *Downbeat_region;

#define DOWNBEAT_REGION_NULL ((Downbeat_region)0)

/* Downbeat_region_begin: returns on all processes of comm at the same instant, and timestamps the entry.
 *
 *   IN   comm    communicator (handle); an intracommunicator
 *   IN   name    1 to 63 bytes of UTF-8, no control characters; the same on all processes (string)
 *   OUT  region  pass it to Downbeat_region_end (handle)
 *
 * Collective over comm. Settings of comm come from the environment unless MPIX_Harmonize_set_info changed them. Errors
 * are found before the start and returned on all processes, and no process begins the region: MPI_ERR_ARG if the name
 * is not valid or not the same on all processes, or if region is NULL; MPI_ERR_OTHER if a process has not ended the
 * region since it last began it (that sample ends and counts as unfinished); MPI_ERR_NO_MEM. */
int Downbeat_region_begin(MPI_Comm comm, const char *name, Downbeat_region *region);

/* Downbeat_region_end: timestamps the exit.
 *
 *   INOUT  region  as returned by Downbeat_region_begin; set to DOWNBEAT_REGION_NULL (handle)
 *
 * Local, but every process has to call it. A sample is unfinished if any process does not end it before the next begin,
 * or before the communicator is freed or MPI is finalized, or if the communicator's clock is changed during it. Errors:
 * MPI_ERR_ARG for NULL or DOWNBEAT_REGION_NULL, MPI_ERR_OTHER for a region that has not begun. */
int Downbeat_region_end(Downbeat_region *region);

#ifdef __cplusplus
}
#endif

#endif
