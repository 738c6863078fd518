/*
 * Regions: what downbeat-bench does around an MPI operation, around a part of an application.
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
 * A region begins with a harmonized start (mpix_harmonize.h), so that all processes enter it at one instant, the
 * deadline. What lies between begin and end is stamped on the global clock. A pair of begin and end on all processes of
 * the communicator is a sample, valid under the same conditions as one of downbeat-bench: every process left the
 * harmonized start in time, and none entered later than the tolerance after the deadline. Others are counted.
 *
 * What is told of a region, over its valid samples: latency (from a process's entry to its exit), mean and maximum over
 * the processes; makespan (from the deadline to the last exit); exit skew (from the first to the last process's leaving
 * the harmonized start); end skew (from the first to the last exit from the region); and the latencies of each process.
 * Of each figure mean, minimum and maximum, which are of all samples, and median, 95th and 99th percentile, which are
 * of all samples up to 4096, then of so many drawn from all (Vitter 1985, algorithm R).
 *
 * Where it goes. MPI_Finalize writes JSON lines into the file that setting `regions` names (DOWNBEAT_REGIONS,
 * downbeat-regions.json unless set), and a table where setting `regions_table` says. Process 0 of a communicator holds
 * what was measured on it; one that is not process 0 of MPI_COMM_WORLD but, say, 3, writes downbeat-regions.rank3.json,
 * so that each file has one writer. A region is known by its name and its processes: begun on a duplicate, or on the
 * same processes after a communicator was freed, it goes on. Nothing is written where no region was begun.
 *
 * What it costs. Between the stamps: the return from begin and the call of end. Outside: begin agrees on the name (a
 * reduction and a broadcast of four words) before its harmonized start; before every 256th sample it gathers what the
 * processes have stamped at process 0 (more often with more than 1024 processes, so that it needs at most 10 MB for
 * that). Whatever is left is gathered when the communicator is freed, or in MPI_Finalize.
 *
 * Nesting. Regions with different names may be nested or overlap. The start of the inner one then counts in the outer
 * one, and synchronizes its processes.
 *
 * Conventions, thread safety and errors are those of mpix_harmonize.h: threads that measure at the same time do so on
 * communicators of their own.
 */
#ifndef DOWNBEAT_REGION_H_PUBLIC
#define DOWNBEAT_REGION_H_PUBLIC

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A region that has begun. Belongs to the communicator: not to be used when that is freed. */
typedef struct Downbeat_region_state *Downbeat_region;

#define DOWNBEAT_REGION_NULL ((Downbeat_region)0)

/* Downbeat_region_begin: returns on all processes of comm at one instant, and stamps the entry.
 *
 *   IN   comm    communicator (handle); an intracommunicator
 *   IN   name    the same on all processes: 1 to 63 characters, none of them a control character (string)
 *   OUT  region  to be given to Downbeat_region_end (handle)
 *
 * Collective over comm. Settings of comm that are not changed by MPIX_Harmonize_set_info come from the environment.
 * Errors are found before the start and returned by all processes, none of which has then begun the region:
 * MPI_ERR_ARG where the name is not valid, or not the same everywhere, or region is NULL; MPI_ERR_OTHER where a process
 * has not ended the region since it began it, which then is over and counts as unfinished; MPI_ERR_NO_MEM. */
int Downbeat_region_begin(MPI_Comm comm, const char *name, Downbeat_region *region);

/* Downbeat_region_end: stamps the exit.
 *
 *   INOUT  region  as Downbeat_region_begin gave it; set to DOWNBEAT_REGION_NULL (handle)
 *
 * Local, although every process has to call it: a sample that any process does not end before the next begin, or before
 * the communicator is freed or MPI finalized, is unfinished, as is one during which the communicator was given another
 * clock. Errors: MPI_ERR_ARG for NULL or DOWNBEAT_REGION_NULL, MPI_ERR_OTHER for a region that is not begun. */
int Downbeat_region_end(Downbeat_region *region);

#ifdef __cplusplus
}
#endif

#endif
