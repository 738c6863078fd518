/* Barriers with a common start, and the sidecar file: what a benchmark cannot know that discards no sample.
 *
 * A sample is the time from the exit of a harmonized barrier to the end of the next collective on its communicator, as
 * the loops of OSU and IMB measure it. Whether all processes left the barrier in time is known one barrier later, at no
 * cost (MPIX_Harmonize_verdict), so a sample waits until then. Nothing is asked between the barrier and the operation.
 */
#define _GNU_SOURCE
#include "preload.h"

#include "collectives.h"
#include "crc32.h"
#include "output_file.h"

#include <mpix_harmonize.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sample of a communicator that is not complete yet. */
struct waiting_sample {
    struct waiting_sample *next;
    struct comm *comm;
    int armed;    /* a barrier has ended, and no operation since */
    int64_t exit; /* ticks, of that barrier */
    uint32_t barrier_site;
    int measured; /* an operation has begun since: */
    int64_t done; /* ticks; 0: not yet */
    int64_t bytes;
    uint16_t operation;
    uint8_t kind;
    uint32_t unresolved; /* the class of the sample before it, or TRACE_NONE if its verdict is known */
    double unresolved_ns;
};

static struct waiting_sample *first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct waiting_sample *waiting_of(struct comm *comm) {
    if (comm->waiting != NULL)
        return comm->waiting;
    struct waiting_sample *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->comm = comm;
    made->unresolved = TRACE_NONE;
    pthread_mutex_lock(&lock);
    made->next = first;
    first = made;
    pthread_mutex_unlock(&lock);
    comm->waiting = made;
    return made;
}

/* The verdict on the sample of the barrier before the last one is known now. */
static void resolve(struct waiting_sample *waiting) {
    int verdict = MPI_UNDEFINED;
    double lateness = 0.0;
    double bound = 0.0;
    if (waiting->unresolved == TRACE_NONE)
        return;
    struct trace_start *start = recording_start(waiting->unresolved);
    waiting->unresolved = TRACE_NONE;
    ++inside;
    MPIX_Harmonize_verdict(waiting->comm->handle, &verdict);
    MPIX_Harmonize_lateness(waiting->comm->handle, &lateness);
    MPIX_Harmonize_error_bound(waiting->comm->handle, &bound);
    --inside;
    if (verdict == MPI_UNDEFINED) {
        ++start->unresolved;
        return;
    }
    if (verdict) {
        ++start->valid;
        start->valid_sum_ns += waiting->unresolved_ns;
    } else {
        ++start->rejected;
    }
    start->lateness_sum_ns += lateness * 1e9;
    if (lateness * 1e9 > start->lateness_max_ns)
        start->lateness_max_ns = lateness * 1e9;
    if (bound * 1e9 > start->bound_max_ns)
        start->bound_max_ns = bound * 1e9;
}

void starts_left(struct call *call, int code) {
    call->exit = recording_ticks();
    --inside;
    if (code != MPI_SUCCESS)
        return;
    call_complete(call);
    struct waiting_sample *waiting = waiting_of(call->comm);
    if (waiting == NULL)
        return;
    waiting->armed = 1;
    waiting->exit = call->exit;
    waiting->barrier_site = site_of(call->address);
}

/* Smallest power of two that is no less. */
static int64_t size_class(int64_t bytes) {
    int64_t size = 1;
    if (bytes <= 1)
        return bytes;
    while (size < bytes)
        size *= 2;
    return size;
}

static uint32_t class_of(const struct waiting_sample *waiting) {
    const struct trace_start wanted = {.barrier_site = waiting->barrier_site,
                                       .communicator = waiting->comm->number,
                                       .operation = waiting->operation,
                                       .kind = waiting->kind,
                                       .size = size_class(waiting->bytes)};
    for (uint32_t number = recording_starts(); number-- > 0;) {
        const struct trace_start *start = recording_start(number);
        if (start->barrier_site == wanted.barrier_site && start->communicator == wanted.communicator &&
            start->operation == wanted.operation && start->kind == wanted.kind && start->size == wanted.size)
            return number;
    }
    return recording_add_start(&wanted);
}

/* The operation that is measured. */
static void take_operation(struct waiting_sample *waiting, const struct call *call, int64_t done) {
    waiting->armed = 0;
    waiting->measured = 1;
    waiting->done = done;
    waiting->bytes = call->bytes;
    waiting->operation = call->operation;
    waiting->kind = call->kind;
}

void starts_entered(struct call *call) {
    struct waiting_sample *waiting = call->comm->waiting;
    if (!waiting->armed)
        return;
    take_operation(waiting, call, 0);
    call->sample = &waiting->done;
}

void starts_completed(const struct call *call) {
    struct waiting_sample *waiting = call->comm->waiting;
    if (waiting->armed && call->entry >= waiting->exit)
        take_operation(waiting, call, call->exit);
}

/* Adds the sample that was measured to its class. */
static void add_sample(struct waiting_sample *waiting) {
    if (!waiting->measured)
        return;
    waiting->measured = 0;
    if (waiting->done == 0) /* it failed */
        return;
    uint32_t number = class_of(waiting);
    if (number == TRACE_NONE)
        return;
    struct trace_start *start = recording_start(number);
    if (start->skipped < settings.skip) {
        ++start->skipped;
        return;
    }
    double ns = (double)(waiting->done - waiting->exit) * recording_tick_ns();
    start->min_ns = start->samples == 0 || ns < start->min_ns ? ns : start->min_ns;
    start->max_ns = start->samples == 0 || ns > start->max_ns ? ns : start->max_ns;
    ++start->samples;
    start->sum_ns += ns;
    waiting->unresolved = number;
    waiting->unresolved_ns = ns;
}

int starts_barrier(struct call *call) {
    int flag;
    struct waiting_sample *waiting = call->comm->waiting;
    if (waiting != NULL) {
        resolve(waiting);
        add_sample(waiting);
    }
    return MPIX_Harmonize(call->comm->handle, &flag);
}

/* The last verdicts will never be known. */
static void give_up(struct waiting_sample *waiting) {
    for (int i = 0; i < 2; ++i) {
        if (waiting->unresolved != TRACE_NONE)
            ++recording_start(waiting->unresolved)->unresolved;
        waiting->unresolved = TRACE_NONE;
        add_sample(waiting);
    }
}

void starts_forget(struct comm *comm) {
    struct waiting_sample **link = &first;
    if (comm->waiting == NULL)
        return;
    pthread_mutex_lock(&lock);
    while (*link != NULL && *link != comm->waiting)
        link = &(*link)->next;
    if (*link != NULL) { /* else MPI_Finalize has done it */
        *link = comm->waiting->next;
        give_up(comm->waiting);
    }
    pthread_mutex_unlock(&lock);
    free(comm->waiting);
    comm->waiting = NULL;
}

/* --- the file */

/* A class with all that names it on every process. */
struct row {
    struct trace_start start;
    struct trace_site site;
    struct trace_communicator communicator;
    int64_t ranks;
    double mean_sum;
    double mean_min;
    double mean_max;
};

#define NAME(Name, name, parameters, arguments, bytes, root) #name,
static const char *const operation_names[] = {BARRIER(NAME) COLLECTIVES(NAME, int, int)};
static const char *const kind_names[] = {"blocking", "nonblocking", "persistent"};

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int same(const struct row *a, const struct row *b) {
    return a->start.operation == b->start.operation && a->start.kind == b->start.kind &&
           a->start.size == b->start.size && a->site.offset == b->site.offset &&
           a->communicator.identity == b->communicator.identity &&
           strcmp(base_name(a->site.module), base_name(b->site.module)) == 0;
}

static void add_row(struct row *sum, const struct row *row) {
    double mean = row->start.sum_ns / (double)row->start.samples;
    const struct trace_start *one = &row->start;
    struct trace_start *all = &sum->start;
    if (sum->ranks++ == 0) {
        sum->mean_sum = sum->mean_min = sum->mean_max = mean;
        return;
    }
    sum->mean_sum += mean;
    sum->mean_min = mean < sum->mean_min ? mean : sum->mean_min;
    sum->mean_max = mean > sum->mean_max ? mean : sum->mean_max;
    all->min_ns = one->min_ns < all->min_ns ? one->min_ns : all->min_ns;
    all->max_ns = one->max_ns > all->max_ns ? one->max_ns : all->max_ns;
    all->valid_sum_ns += one->valid_sum_ns; /* all processes have the same number of valid samples */
    all->bound_max_ns = one->bound_max_ns > all->bound_max_ns ? one->bound_max_ns : all->bound_max_ns;
}

static void write_text(FILE *file, const char *name, const char *text) {
    fprintf(file, ",\"%s\":\"", name);
    for (; *text != '\0'; ++text) {
        if ((unsigned char)*text < 0x20)
            fprintf(file, "\\u%04x", (unsigned)*text);
        else
            fprintf(file, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    fputc('"', file);
}

static void write_seconds(FILE *file, const char *name, int known, double ns) {
    if (known)
        fprintf(file, ",\"%s\":%.6g", name, ns * 1e-9);
    else
        fprintf(file, ",\"%s\":null", name);
}

/* Writes a row without its end. */
static void write_fields(FILE *file, const struct row *row) {
    const struct trace_start *start = &row->start;
    int64_t resolved = start->valid + start->rejected;
    fprintf(file, "{\"schema_version\":1,\"record\":\"starts\"");
    write_text(file, "operation", operation_names[start->operation]);
    write_text(file, "kind", kind_names[start->kind]);
    fprintf(file, ",\"size_up_to\":%lld", (long long)start->size);
    write_text(file, "barrier_module", row->site.module);
    fprintf(file, ",\"barrier_offset\":%llu", (unsigned long long)row->site.offset);
    write_text(file, "barrier_symbol", row->site.symbol);
    write_text(file, "communicator", row->communicator.name);
    fprintf(file,
            ",\"ranks\":%lld,\"samples\":%lld,\"valid\":%lld,\"rejected\":%lld,\"unresolved\":%lld,\"skipped\":%lld",
            (long long)row->ranks, (long long)start->samples, (long long)start->valid, (long long)start->rejected,
            (long long)(start->samples - resolved), (long long)start->skipped);
    if (resolved > 0)
        fprintf(file, ",\"rejected_share\":%.6g", (double)start->rejected / (double)resolved);
    else
        fprintf(file, ",\"rejected_share\":null");
    write_seconds(file, "mean_s", 1, row->mean_sum / (double)row->ranks);
    write_seconds(file, "mean_of_fastest_rank_s", 1, row->mean_min);
    write_seconds(file, "mean_of_slowest_rank_s", 1, row->mean_max);
    write_seconds(file, "min_s", 1, start->min_ns);
    write_seconds(file, "max_s", 1, start->max_ns);
    write_seconds(file, "valid_mean_s", start->valid > 0,
                  start->valid_sum_ns / ((double)start->valid * (double)row->ranks));
    write_seconds(file, "spread_mean_s", resolved > 0, start->lateness_sum_ns / (double)resolved);
    write_seconds(file, "spread_max_s", resolved > 0, start->lateness_max_ns);
    write_seconds(file, "error_bound_s", resolved > 0, start->bound_max_ns);
}

/* Writes a row; its last field is the CRC-32 of what is before that field in the line. */
static int write_row(FILE *file, const struct row *row) {
    char *line = NULL;
    size_t size = 0;
    struct crc32 crc;
    FILE *memory = open_memstream(&line, &size);
    if (memory == NULL)
        return errno;
    write_fields(memory, row);
    int code = fclose(memory) != 0 ? errno : 0;
    if (code == 0) {
        crc32_begin(&crc);
        crc32_add(&crc, line, size);
        fprintf(file, "%s,\"crc32\":\"%08x\"}\n", line, (unsigned)crc32_value(&crc));
    }
    free(line);
    return code;
}

static int write_rows(const char *path, struct row *rows, int64_t count) {
    struct output_file output;
    int code;
    FILE *file = output_begin(&output, path, 0, &code);
    if (file == NULL)
        return code;
    for (int64_t i = 0; i < count; ++i) {
        if (rows[i].ranks < 0) /* part of an earlier one */
            continue;
        struct row sum = rows[i];
        sum.ranks = 0;
        add_row(&sum, &rows[i]);
        for (int64_t j = i + 1; j < count; ++j)
            if (rows[j].ranks >= 0 && same(&rows[i], &rows[j])) {
                add_row(&sum, &rows[j]);
                rows[j].ranks = -1;
            }
        code = code != 0 ? code : write_row(file, &sum);
    }
    return output_end(&output, file, code);
}

/* The rows of this process; `count` of them. */
static struct row *own_rows(int *count) {
    uint32_t starts = recording_starts();
    struct row *rows = calloc(starts + 1, sizeof *rows);
    *count = 0;
    for (uint32_t number = 0; rows != NULL && number < starts; ++number) {
        const struct trace_start *start = recording_start(number);
        if (start->samples == 0)
            continue;
        struct row *row = &rows[(*count)++];
        row->start = *start;
        if (start->barrier_site != TRACE_NONE)
            row->site = *recording_site(start->barrier_site);
        if (start->communicator != TRACE_NONE)
            row->communicator = *recording_communicator(start->communicator);
    }
    return rows;
}

static void drop_waiting(void) {
    pthread_mutex_lock(&lock);
    for (struct waiting_sample *each = first; each != NULL; each = each->next) {
        resolve(each);
        give_up(each);
    }
    first = NULL; /* each is freed with its communicator */
    pthread_mutex_unlock(&lock);
}

void starts_write(const char *path) {
    int rank;
    int size;
    int count;
    drop_waiting();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    struct row *mine = own_rows(&count);
    int bytes = count * (int)sizeof(struct row);
    int *each = rank == 0 ? calloc(2 * (size_t)size, sizeof *each) : NULL;
    PMPI_Gather(&bytes, 1, MPI_INT, each, 1, MPI_INT, 0, MPI_COMM_WORLD);
    int64_t total = 0;
    for (int i = 0; rank == 0 && i < size; ++i) {
        each[size + i] = (int)total;
        total += each[i];
    }
    struct row *all = rank == 0 ? malloc((size_t)total + 1) : NULL;
    PMPI_Gatherv(mine, bytes, MPI_BYTE, all, each, rank == 0 ? each + size : NULL, MPI_BYTE, 0, MPI_COMM_WORLD);
    int code = rank == 0 ? write_rows(path, all, total / (int64_t)sizeof(struct row)) : 0;
    if (code != 0)
        say("cannot write '%s': %s", path, output_reason(code));
    free(mine);
    free(all);
    free(each);
}
