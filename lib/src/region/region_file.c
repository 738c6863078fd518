#define _GNU_SOURCE
#include "region/region_file.h"

#include "json_text.h"
#include "output_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SCHEMA_VERSION 1 /* as that of downbeat-bench */
#define S 1e-9
#define US 1e-3

static void write_kind(FILE *file, const char *record) {
    fprintf(file, "{\"schema_version\":%d,\"record\":\"%s\"", SCHEMA_VERSION, record);
}

static void write_context(FILE *file) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    char date[32];
    struct tm utc;
    int length;
    int version = 0;
    int subversion = 0;
    int size = 0;
    time_t now = time(NULL);
    gmtime_r(&now, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    MPI_Get_library_version(library, &length);
    MPI_Get_version(&version, &subversion);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    write_kind(file, "context");
    fprintf(file, ",\"downbeat_version\":\"%s\",\"date\":\"%s\",\"mpi_library\":", DB_VERSION, date);
    write_json_text(file, library);
    fprintf(file, ",\"mpi_standard\":\"%d.%d\",\"world_size\":%d}\n", version, subversion, size);
}

/* JSON has no NaN: a missing value is null. */
static void write_number(FILE *file, const char *name, int known, double value) {
    if (known)
        fprintf(file, ",\"%s\":%.12g", name, value);
    else
        fprintf(file, ",\"%s\":null", name);
}

static void write_figure(FILE *file, const struct db_region_record *record, int figure) {
    struct db_region_summary found = {0};
    int known = record->valid > 0 && db_region_record_summarize(record, figure, &found) == 0;
    /* All but latencies compare the clocks of two processes: one bound for each. */
    int bounds = figure == DB_LATENCY_AVG || figure == DB_LATENCY_MAX ? 0 : 2;
    fprintf(file, "%s\"%s\":{\"unit\":\"s\"", figure == 0 ? "" : ",", db_region_figures[figure]);
    write_number(file, "error_bound", known, bounds * record->bound * S);
    write_number(file, "mean", known, found.mean * S);
    write_number(file, "median", known, found.median * S);
    write_number(file, "min", known, found.min * S);
    write_number(file, "max", known, found.max * S);
    write_number(file, "p95", known, found.p95 * S);
    write_number(file, "p99", known, found.p99 * S);
    fputc('}', file);
}

static void write_process(FILE *file, const struct db_region_record *record, int rank) {
    const struct db_region_process *process = &record->processes[rank];
    int known = record->valid > 0;
    fprintf(file, "%s{\"rank\":%d", rank == 0 ? "" : ",", rank);
    write_number(file, "world_rank", process->world_rank != MPI_UNDEFINED, process->world_rank);
    write_number(file, "latency_mean_s", known, process->sum / (double)record->valid * S);
    write_number(file, "latency_min_s", known, process->min * S);
    write_number(file, "latency_max_s", known, process->max * S);
    fprintf(file, ",\"late_flag\":%lld,\"late_entry\":%lld,\"unfinished\":%lld}", process->late_flag,
            process->late_entry, process->unfinished);
}

static void write_region(FILE *file, const struct db_region_entry *entry) {
    const struct db_region_record *record = entry->record;
    write_kind(file, "region");
    fprintf(file, ",\"region\":");
    write_json_text(file, record->name);
    fprintf(file, ",\"communicator\":");
    write_json_text(file, entry->communicator);
    fprintf(file,
            ",\"ranks\":%d,\"samples\":%lld,\"valid\":%lld,\"rejected\":%lld,\"late_flag\":%lld,\"late_entry\":%lld,"
            "\"unfinished\":%lld,\"kept\":%d",
            record->size, record->samples, record->valid, record->late_flag + record->late_entry, record->late_flag,
            record->late_entry, record->unfinished, record->kept_count);
    write_number(file, "tolerance_s", 1, (double)entry->settings.tolerance_ns * S);
    write_number(file, "error_bound_s", record->valid > 0, record->bound * S);
    fprintf(file, ",\"metrics\":{");
    for (int figure = 0; figure < DB_REGION_FIGURES; ++figure)
        write_figure(file, record, figure);
    fprintf(file, "},\"processes\":[");
    for (int rank = 0; rank < record->size; ++rank)
        write_process(file, record, rank);
    fprintf(file, "]}\n");
}

/* The file of a process that is not rank 0: "regions.rank3.json" for "regions.json". */
static void name_file(const char *path, int world_rank, char *name, size_t size) {
    const char *slash = strrchr(path, '/');
    const char *suffix = strrchr(slash == NULL ? path : slash, '.');
    if (suffix == NULL)
        suffix = path + strlen(path);
    if (world_rank == 0)
        snprintf(name, size, "%s", path);
    else
        snprintf(name, size, "%.*s.rank%d%s", (int)(suffix - path), path, world_rank, suffix);
}

/* All entries that go to the same file as `first` does. Returns 0 or an error number. */
static int write_entries(const char *name, int named, const struct db_region_entry *first) {
    struct output_file output;
    int code;
    FILE *file = output_begin(&output, name, named, &code);
    if (file == NULL)
        return code;
    write_context(file);
    for (const struct db_region_entry *entry = first; entry != NULL; entry = entry->next)
        if (strcmp(entry->settings.regions, first->settings.regions) == 0)
            write_region(file, entry);
    write_kind(file, "end");
    fprintf(file, "}\n");
    return output_end(&output, file, 0);
}

/* Whether an entry before this one goes to the same file, which then is written. */
static int is_written(const struct db_region_entry *first, const struct db_region_entry *entry) {
    while (strcmp(first->settings.regions, entry->settings.regions) != 0)
        first = first->next;
    return first != entry;
}

static void write_files(const struct db_region_entry *first, int world_rank) {
    for (const struct db_region_entry *entry = first; entry != NULL; entry = entry->next) {
        char name[DB_PATH_SIZE + 32];
        struct db_reason reason;
        if (is_written(first, entry) || strcmp(entry->settings.regions, "off") == 0)
            continue;
        name_file(entry->settings.regions, world_rank, name, sizeof name);
        int named = world_rank == 0 && strcmp(entry->settings.regions, DB_REGIONS_DEFAULT) != 0;
        int code = write_entries(name, named, entry);
        if (code == 0)
            continue;
        db_explain(&reason, MPI_ERR_OTHER,
                   "cannot write regions to '%s': %s; set DOWNBEAT_REGIONS to a writable file, or to off", name,
                   output_reason(code));
        db_tell(reason.text);
    }
}

/* A median in us, or "-". */
static void print_median(FILE *out, const struct db_region_record *record, int figure) {
    struct db_region_summary found;
    if (record->valid > 0 && db_region_record_summarize(record, figure, &found) == 0)
        fprintf(out, " %12.3f", found.median * US);
    else
        fprintf(out, " %12s", "-");
}

static void print_rows(FILE *out, const struct db_region_entry *first, int table) {
    for (const struct db_region_entry *entry = first; entry != NULL; entry = entry->next) {
        const struct db_region_record *record = entry->record;
        if (entry->settings.regions_table != table)
            continue;
        fprintf(out, "%-24s %6d %9lld %9lld %10lld", record->name, record->size, record->valid,
                record->late_flag + record->late_entry, record->unfinished);
        print_median(out, record, DB_LATENCY_AVG);
        print_median(out, record, DB_LATENCY_MAX);
        print_median(out, record, DB_MAKESPAN);
        print_median(out, record, DB_EXIT_SKEW);
        print_median(out, record, DB_END_SKEW);
        fprintf(out, "\n");
    }
}

static void print_table(FILE *out, const struct db_region_entry *first, int table, int world_rank) {
    const struct db_region_entry *entry = first;
    while (entry != NULL && entry->settings.regions_table != table)
        entry = entry->next;
    if (entry == NULL)
        return;
    fprintf(out, "downbeat: regions recorded by rank %d; sample counts, and medians over valid samples [us]\n",
            world_rank);
    fprintf(out, "%-24s %6s %9s %9s %10s %12s %12s %12s %12s %12s\n", "region", "ranks", "valid", "rejected",
            "unfinished", "latency avg", "latency max", "makespan", "exit skew", "end skew");
    print_rows(out, first, table);
    fflush(out);
}

void db_region_files_write(const struct db_region_entry *first) {
    int world_rank;
    if (first == NULL || MPI_Comm_rank(MPI_COMM_WORLD, &world_rank) != MPI_SUCCESS)
        return;
    write_files(first, world_rank);
    print_table(stdout, first, DB_TABLE_STDOUT, world_rank);
    print_table(stderr, first, DB_TABLE_STDERR, world_rank);
}
