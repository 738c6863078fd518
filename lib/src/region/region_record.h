/* The measurements of a region, at process 0 of its communicator: counts, figures of the valid samples, and the
 * processes. Independent of MPI. */
#ifndef DOWNBEAT_REGION_RECORD_H
#define DOWNBEAT_REGION_RECORD_H

#include <stddef.h>
#include <stdint.h>

#define DB_REGION_NAME_SIZE 64
#define DB_REGION_KEPT 4096

/* Whether a process's part of a sample counts. The worst of all processes decides. */
enum { DB_PART_VALID = 0, DB_PART_LATE_ENTRY = 1, DB_PART_LATE_FLAG = 2, DB_PART_UNFINISHED = 3 };

/* One process's part of a sample. Only 64-bit words, so that it can be sent as such; ns. */
struct db_region_part {
    int64_t quality;
    double latency;
    double entry; /* after the deadline, on the global clock, as exit */
    double exit;
    double bound; /* of the error of that clock, at the exit */
};

/* The figures of a sample; the names are downbeat-bench's where it has them. */
enum { DB_LATENCY_AVG, DB_LATENCY_MAX, DB_MAKESPAN, DB_EXIT_SKEW, DB_END_SKEW, DB_REGION_FIGURES };
extern const char *const db_region_figures[DB_REGION_FIGURES];

/* Over the latencies of one process in the valid samples, and how often it was the reason that one did not count. */
struct db_region_process {
    int world_rank;
    double sum;
    double min;
    double max;
    long long late_flag;
    long long late_entry;
    long long unfinished;
};

struct db_region_record {
    struct db_region_record *next;
    char name[DB_REGION_NAME_SIZE];
    int size;
    struct db_region_process *processes; /* by rank in the communicator */
    long long samples;
    long long valid;
    long long late_flag;
    long long late_entry;
    long long unfinished;
    double bound; /* ns, largest over valid samples */
    double sum[DB_REGION_FIGURES];
    double min[DB_REGION_FIGURES];
    double max[DB_REGION_FIGURES];
    double (*kept)[DB_REGION_FIGURES]; /* DB_REGION_KEPT rows */
    int kept_count;
    uint64_t random;
};

/* The summary of a figure, ns. */
struct db_region_summary {
    double mean;
    double median;
    double min;
    double max;
    double p95;
    double p99;
};

/* A record of `size` processes, of which `world_ranks` are known; NULL when out of memory. */
struct db_region_record *db_region_record_create(const char *name, int size, const int *world_ranks);
void db_region_record_free(struct db_region_record *record);

/* Whether the record is of that region on those processes. */
int db_region_record_is(const struct db_region_record *record, const char *name, int size, const int *world_ranks);

/* Adds a sample: the part of rank r is parts[r * stride]. */
void db_region_record_add(struct db_region_record *record, const struct db_region_part *parts, size_t stride);

/* Returns 0, or -1 when out of memory. There must be a valid sample. */
int db_region_record_summarize(const struct db_region_record *record, int figure, struct db_region_summary *summary);

#endif
