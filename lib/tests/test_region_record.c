/* The figures of a region, against closed forms. No MPI. */
#include "check.h"
#include "region/region_record.h"

#include <math.h>

#define SIZE 3
#define SAMPLES 4

static const int world_ranks[SIZE] = {4, 2, 7};

static struct db_region_record *create(void) {
    struct db_region_record *record = db_region_record_create("name", SIZE, world_ranks);
    CHECK(record != NULL);
    return record;
}

static struct db_region_summary summary_of(const struct db_region_record *record, int figure) {
    struct db_region_summary found;
    CHECK(db_region_record_summarize(record, figure, &found) == 0);
    return found;
}

static void a_record_is_known_by_name_and_processes(void) {
    static const int others[SIZE] = {4, 2, 6};
    struct db_region_record *record = create();
    CHECK(db_region_record_is(record, "name", SIZE, world_ranks));
    CHECK(!db_region_record_is(record, "names", SIZE, world_ranks));
    CHECK(!db_region_record_is(record, "name", SIZE - 1, world_ranks));
    CHECK(!db_region_record_is(record, "name", SIZE, others));
    db_region_record_free(record);
}

/* After 2^31 and 2^32 samples: counts go on, and a new sample is kept as seldom as it should be. */
static void counts_pass_31_and_32_bits(void) {
    static const long long limits[] = {INT32_MAX, UINT32_MAX};
    for (int which = 0; which < 2; ++which) {
        const long long before = limits[which] - 2;
        struct db_region_record *record = create();
        struct db_region_part parts[SIZE] = {{.latency = 1.0}, {.latency = 2.0}, {.latency = 3.0}};
        for (int i = 0; i < DB_REGION_KEPT; ++i)
            db_region_record_add(record, parts, 1);
        record->samples = record->valid = record->late_flag = record->late_entry = record->unfinished = before;
        for (int rank = 0; rank < SIZE; ++rank)
            record->processes[rank].late_flag = before;
        for (int i = 0; i < 5; ++i) {
            parts[1].quality = DB_PART_VALID;
            db_region_record_add(record, parts, 1);
            for (int64_t quality = DB_PART_LATE_ENTRY; quality <= DB_PART_UNFINISHED; ++quality) {
                parts[1].quality = quality;
                db_region_record_add(record, parts, 1);
            }
        }
        CHECK_THAT(record->samples - before, ==, 20);
        CHECK_THAT(record->valid - before, ==, 5);
        CHECK_THAT(record->late_flag - before, ==, 5);
        CHECK_THAT(record->late_entry - before, ==, 5);
        CHECK_THAT(record->unfinished - before, ==, 5);
        CHECK_THAT(record->processes[1].late_flag - before, ==, 5);

        /* One in 2^19 of the samples is kept now: of 1000 hardly one. */
        parts[1].quality = DB_PART_VALID;
        parts[1].latency = 77.0;
        for (int i = 0; i < 1000; ++i)
            db_region_record_add(record, parts, 1);
        int kept = 0;
        for (int i = 0; i < DB_REGION_KEPT; ++i)
            kept += record->kept[i][DB_LATENCY_MAX] == 77.0;
        CHECK_THAT(kept, <=, 1);
        db_region_record_free(record);
    }
}

/* Sample i: rank r enters at 10 r, stays for 100 + i + r, so leaves at 100 + i + 11 r. The last one is told apart. */
static void figures(void) {
    struct db_region_record *record = create();
    struct db_region_part parts[SIZE][SAMPLES];
    for (int rank = 0; rank < SIZE; ++rank)
        for (int i = 0; i < SAMPLES; ++i)
            parts[rank][i] = (struct db_region_part){.quality = DB_PART_VALID,
                                                     .latency = 100.0 + i + rank,
                                                     .entry = 10.0 * rank,
                                                     .exit = 100.0 + i + 11.0 * rank,
                                                     .bound = rank + i};
    for (int i = 0; i < SAMPLES; ++i)
        db_region_record_add(record, &parts[0][i], SAMPLES);

    CHECK_THAT(record->samples, ==, SAMPLES);
    CHECK_THAT(record->valid, ==, SAMPLES);
    CHECK_THAT(record->bound, ==, SIZE + SAMPLES - 2);
    struct db_region_summary found = summary_of(record, DB_LATENCY_AVG);
    CHECK_THAT(found.min, ==, 101.0);
    CHECK_THAT(found.median, ==, 102.5);
    CHECK_THAT(found.mean, ==, 102.5);
    CHECK_THAT(found.max, ==, 104.0);
    CHECK_THAT(fabs(found.p95 - 103.85), <, 1e-9);
    CHECK_THAT(fabs(found.p99 - 103.97), <, 1e-9);
    CHECK_THAT(summary_of(record, DB_LATENCY_MAX).min, ==, 102.0);
    CHECK_THAT(summary_of(record, DB_MAKESPAN).max, ==, 125.0);
    CHECK_THAT(summary_of(record, DB_EXIT_SKEW).median, ==, 20.0);
    CHECK_THAT(summary_of(record, DB_END_SKEW).median, ==, 22.0);
    for (int rank = 0; rank < SIZE; ++rank) {
        CHECK_THAT(record->processes[rank].world_rank, ==, world_ranks[rank]);
        CHECK_THAT(record->processes[rank].sum, ==, SAMPLES * (101.5 + rank));
        CHECK_THAT(record->processes[rank].min, ==, 100.0 + rank);
        CHECK_THAT(record->processes[rank].max, ==, 103.0 + rank);
    }
    db_region_record_free(record);
}

static void add_with_qualities(struct db_region_record *record, int first, int second, int third) {
    struct db_region_part parts[SIZE] = {{.quality = first}, {.quality = second}, {.quality = third}};
    db_region_record_add(record, parts, 1);
}

static void the_worst_process_decides(void) {
    struct db_region_record *record = create();
    add_with_qualities(record, DB_PART_VALID, DB_PART_LATE_ENTRY, DB_PART_VALID);
    add_with_qualities(record, DB_PART_LATE_FLAG, DB_PART_LATE_ENTRY, DB_PART_VALID);
    add_with_qualities(record, DB_PART_LATE_FLAG, DB_PART_LATE_ENTRY, DB_PART_UNFINISHED);
    CHECK_THAT(record->samples, ==, 3);
    CHECK_THAT(record->valid, ==, 0);
    CHECK_THAT(record->late_entry, ==, 1);
    CHECK_THAT(record->late_flag, ==, 1);
    CHECK_THAT(record->unfinished, ==, 1);
    CHECK_THAT(record->processes[0].late_flag, ==, 2);
    CHECK_THAT(record->processes[1].late_entry, ==, 3);
    CHECK_THAT(record->processes[2].unfinished, ==, 1);
    CHECK_THAT(record->kept_count, ==, 0);
    db_region_record_free(record);
}

/* If there are more samples than are kept, all count for mean, minimum and maximum; quantiles come from a fair draw. */
static void more_samples_than_are_kept(void) {
    enum { COUNT = 5 * DB_REGION_KEPT };
    const int alone = 0;
    struct db_region_record *record = db_region_record_create("name", 1, &alone);
    CHECK(record != NULL);
    for (int i = 1; i <= COUNT; ++i) {
        struct db_region_part part = {.quality = DB_PART_VALID, .latency = i, .exit = i};
        db_region_record_add(record, &part, 1);
    }
    struct db_region_summary found = summary_of(record, DB_MAKESPAN);
    CHECK_THAT(record->kept_count, ==, DB_REGION_KEPT);
    CHECK_THAT(found.mean, ==, (COUNT + 1) / 2.0);
    CHECK_THAT(found.min, ==, 1);
    CHECK_THAT(found.max, ==, COUNT);
    /* Five standard deviations of a quantile p of n uniform values: sqrt(p (1 - p) / n). */
    CHECK_THAT(fabs(found.median / COUNT - 0.50), <, 5 * sqrt(0.25 / DB_REGION_KEPT));
    CHECK_THAT(fabs(found.p95 / COUNT - 0.95), <, 5 * sqrt(0.0475 / DB_REGION_KEPT));
    CHECK_THAT(fabs(found.p99 / COUNT - 0.99), <, 5 * sqrt(0.0099 / DB_REGION_KEPT));
    db_region_record_free(record);
}

int main(void) {
    a_record_is_known_by_name_and_processes();
    counts_pass_31_and_32_bits();
    figures();
    the_worst_process_decides();
    more_samples_than_are_kept();
    return 0;
}
