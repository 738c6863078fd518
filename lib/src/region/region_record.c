#include "region/region_record.h"

#include "base/split_mix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const db_region_figures[DB_REGION_FIGURES] = {"latency_avg", "latency_max", "makespan", "exit_skew",
                                                          "end_skew"};

struct db_region_record *db_region_record_create(const char *name, int size, const int *world_ranks) {
    struct db_region_record *record = calloc(1, sizeof *record);
    if (record == NULL)
        return NULL;
    record->processes = calloc((size_t)size, sizeof *record->processes);
    record->kept = calloc(DB_REGION_KEPT, sizeof *record->kept);
    if (record->processes == NULL || record->kept == NULL) {
        db_region_record_free(record);
        return NULL;
    }
    strncpy(record->name, name, sizeof record->name - 1);
    record->size = size;
    for (int rank = 0; rank < size; ++rank)
        record->processes[rank] = (struct db_region_process){.world_rank = world_ranks[rank], .min = INFINITY};
    for (int i = 0; i < DB_REGION_FIGURES; ++i) {
        record->min[i] = INFINITY;
        record->max[i] = -INFINITY;
    }
    return record;
}

void db_region_record_free(struct db_region_record *record) {
    free(record->processes);
    free(record->kept);
    free(record);
}

int db_region_record_is(const struct db_region_record *record, const char *name, int size, const int *world_ranks) {
    if (record->size != size || strcmp(record->name, name) != 0)
        return 0;
    for (int rank = 0; rank < size; ++rank)
        if (record->processes[rank].world_rank != world_ranks[rank])
            return 0;
    return 1;
}

/* Counts a sample that is not valid with the worst of its parts, and every process with its own. */
static void add_rejected(struct db_region_record *record, const struct db_region_part *parts, size_t stride,
                         int64_t worst) {
    record->late_entry += worst == DB_PART_LATE_ENTRY;
    record->late_flag += worst == DB_PART_LATE_FLAG;
    record->unfinished += worst == DB_PART_UNFINISHED;
    for (int rank = 0; rank < record->size; ++rank) {
        int64_t quality = parts[(size_t)rank * stride].quality;
        record->processes[rank].late_entry += quality == DB_PART_LATE_ENTRY;
        record->processes[rank].late_flag += quality == DB_PART_LATE_FLAG;
        record->processes[rank].unfinished += quality == DB_PART_UNFINISHED;
    }
}

/* In [0, limit): the bias is below limit / 2^64. */
static long long draw_below(uint64_t *state, long long limit) {
    return (long long)(db_split_mix(state) % (uint64_t)limit);
}

/* Where the figures of the newest valid sample are kept, or NULL (Vitter 1985, algorithm R). */
static double *place(struct db_region_record *record) {
    if (record->kept_count < DB_REGION_KEPT)
        return record->kept[record->kept_count++];
    long long drawn = draw_below(&record->random, record->valid);
    return drawn < DB_REGION_KEPT ? record->kept[drawn] : NULL;
}

static void add_valid(struct db_region_record *record, const struct db_region_part *parts, size_t stride) {
    double sum = 0.0;
    double longest = parts[0].latency;
    double first_entry = parts[0].entry;
    double last_entry = parts[0].entry;
    double first_exit = parts[0].exit;
    double last_exit = parts[0].exit;
    for (int rank = 0; rank < record->size; ++rank) {
        const struct db_region_part *part = &parts[(size_t)rank * stride];
        struct db_region_process *process = &record->processes[rank];
        process->sum += part->latency;
        process->min = fmin(process->min, part->latency);
        process->max = fmax(process->max, part->latency);
        record->bound = fmax(record->bound, part->bound);
        sum += part->latency;
        longest = fmax(longest, part->latency);
        first_entry = fmin(first_entry, part->entry);
        last_entry = fmax(last_entry, part->entry);
        first_exit = fmin(first_exit, part->exit);
        last_exit = fmax(last_exit, part->exit);
    }
    double figures[DB_REGION_FIGURES];
    figures[DB_LATENCY_AVG] = sum / record->size;
    figures[DB_LATENCY_MAX] = longest;
    figures[DB_MAKESPAN] = last_exit;
    figures[DB_EXIT_SKEW] = last_entry - first_entry;
    figures[DB_END_SKEW] = last_exit - first_exit;

    ++record->valid;
    for (int i = 0; i < DB_REGION_FIGURES; ++i) {
        record->sum[i] += figures[i];
        record->min[i] = fmin(record->min[i], figures[i]);
        record->max[i] = fmax(record->max[i], figures[i]);
    }
    double *row = place(record);
    if (row != NULL)
        memcpy(row, figures, sizeof figures);
}

void db_region_record_add(struct db_region_record *record, const struct db_region_part *parts, size_t stride) {
    int64_t worst = DB_PART_VALID;
    for (int rank = 0; rank < record->size; ++rank)
        if (parts[(size_t)rank * stride].quality > worst)
            worst = parts[(size_t)rank * stride].quality;
    ++record->samples;
    if (worst == DB_PART_VALID)
        add_valid(record, parts, stride);
    else
        add_rejected(record, parts, stride, worst);
}

static int compare_figures(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0.0) - (difference < 0.0);
}

/* By linear interpolation, as NumPy's default and downbeat-bench's. */
static double quantile(const double *sorted, int count, double p) {
    double position = p * (count - 1);
    int below = (int)position;
    int above = below + 1 < count ? below + 1 : below;
    // NOLINTNEXTLINE(clang-analyzer-security.ArrayBound): the analyzer does not know that p is at most 1
    return sorted[below] + (sorted[above] - sorted[below]) * (position - below);
}

int db_region_record_summarize(const struct db_region_record *record, int figure, struct db_region_summary *summary) {
    int count = record->kept_count;
    double *sorted = malloc((size_t)count * sizeof *sorted);
    if (sorted == NULL)
        return -1;
    for (int i = 0; i < count; ++i)
        sorted[i] = record->kept[i][figure];
    qsort(sorted, (size_t)count, sizeof *sorted, compare_figures);
    *summary = (struct db_region_summary){
        .mean = record->sum[figure] / (double)record->valid,
        .median = quantile(sorted, count, 0.5),
        .min = record->min[figure],
        .max = record->max[figure],
        .p95 = quantile(sorted, count, 0.95),
        .p99 = quantile(sorted, count, 0.99),
    };
    free(sorted);
    return 0;
}
