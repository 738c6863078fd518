/* Downbeat_region_begin and Downbeat_region_end. Each process collects timestamps, which are gathered in batches
 * between samples: beginning a region is collective, so all processes have begun the same number. */
#include <downbeat/region.h>

#include "base/hash.h"
#include "region/region_store.h"
#include "start/harmonize.h"
#include "utf8_length.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_BATCH 256
/* Parts of samples that process 0 gathers at a time, at most: 10 MB. */
#define LARGEST_GATHER 262144

struct Downbeat_region_state {
    struct db_dependent dependent; /* first: this is what hangs on the communicator's state */
    struct db_state *state;
    char name[DB_REGION_NAME_SIZE];

    int open;
    int64_t entry;    /* ticks; this and what follows are of the open sample */
    double entry_ns;  /* after the deadline, by the clock as it was then */
    int64_t deadline; /* ns on the global clock */
    int64_t origin;   /* of the clock that `entry` was read on */
    int flag;

    int longest;                  /* batch */
    int count;                    /* of samples in the batch, the open one included: the same on all processes */
    struct db_region_part *parts; /* of this process */

    struct db_region_part *all; /* at process 0: of all processes, by rank */
    struct db_region_entry *told;
    MPI_Request gathering;
    int gathered; /* samples that are being gathered */
};

static void free_region(struct Downbeat_region_state *region) {
    free(region->parts);
    free(region->all);
    free(region);
}

/* Values that all processes must agree on before a region begins. Reduced to the maximum of each word. */
struct question {
    struct db_alike name; /* its hash */
    int64_t open;         /* 1 where this process has not ended the region */
    int64_t bad;          /* 1 where an argument is not valid */
};

static int valid_name(const char *name) {
    size_t length = 0;
    if (name == NULL)
        return 0;
    while (name[length] != '\0' && length < DB_REGION_NAME_SIZE) {
        size_t character = utf8_length(name + length, SIZE_MAX);
        if (character == 0)
            return 0;
        length += character;
    }
    return length > 0 && length < DB_REGION_NAME_SIZE;
}

static void gather_rest(struct db_dependent *dependent);
static void destroy_region(struct db_dependent *dependent);

/* The state's region of that name, or NULL. */
static struct Downbeat_region_state *find_region(const struct db_state *state, const char *name) {
    for (struct db_dependent *each = state->dependents; each != NULL; each = each->next) {
        struct Downbeat_region_state *region = (struct Downbeat_region_state *)each;
        if (each->destroy == destroy_region && strcmp(region->name, name) == 0)
            return region;
    }
    return NULL;
}

/* Whether all processes give process 0's name. Collective; returns an error on all if not. */
static int compare_names(const struct db_state *state, const char *name) {
    struct db_reason reason = {""};
    int64_t words[DB_REGION_NAME_SIZE / sizeof(int64_t)] = {0};
    strncpy((char *)words, name, sizeof words - 1);
    DB_TRY(db_broadcast(&state->channel, words, DB_REGION_NAME_SIZE / sizeof(int64_t)));
    int code = MPI_SUCCESS;
    if (strcmp((const char *)words, name) != 0)
        code = db_explain(
            &reason, MPI_ERR_ARG,
            "Downbeat_region_begin: rank %d begins region '%s', but rank 0 begins '%s'; use the same name on all ranks",
            state->rank, name, (const char *)words);
    return db_agree_on_error(state->channel.comm, code, &reason);
}

/* Some process cannot begin: prints the reason, and returns the error on all. An open sample of the region ends on all
 * processes. */
static int explain_refusal(const struct db_state *state, const char *name, struct Downbeat_region_state *region,
                           int bad) {
    struct db_reason reason = {""};
    int code = MPI_SUCCESS;
    if (bad)
        code = db_explain(
            &reason, MPI_ERR_ARG,
            valid_name(name) ? "Downbeat_region_begin: region is NULL on rank %d; pass the address of a Downbeat_region"
                             : "Downbeat_region_begin: the name on rank %d is not valid; use 1 to 63 bytes of "
                               "UTF-8, no control characters",
            state->rank);
    else if (region != NULL && region->open)
        code = db_explain(&reason, MPI_ERR_OTHER,
                          "Downbeat_region_begin: region '%s' has not ended on rank %d; call Downbeat_region_end first",
                          name, state->rank);
    if (region != NULL)
        region->open = 0;
    return db_agree_on_error(state->channel.comm, code, &reason);
}

/* Collective. */
static int agree_on_region(const struct db_state *state, const char *name, struct Downbeat_region_state *region,
                           int bad) {
    enum { WORDS = sizeof(struct question) / sizeof(int64_t) };
    struct question mine = {.name = db_alike(bad ? 0 : (int64_t)db_hash(DB_HASH, name)),
                            .open = region != NULL && region->open,
                            .bad = bad};
    struct question all = mine;
    DB_TRY(db_reduce_max(&state->channel, (const int64_t *)&mine, (int64_t *)&all, WORDS));
    DB_TRY(db_broadcast(&state->channel, (int64_t *)&all, WORDS));
    if (all.bad || all.open)
        return explain_refusal(state, name, region, bad);
    return db_are_alike(&all.name) ? MPI_SUCCESS : compare_names(state, name);
}

/* A region that this communicator does not have yet; collective. */
static int create_region(struct db_state *state, const char *name, struct Downbeat_region_state **region) {
    struct db_reason reason = {"out of memory"};
    struct Downbeat_region_state *made = calloc(1, sizeof *made);
    int code = made != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    if (made != NULL) {
        made->dependent = (struct db_dependent){.conclude = gather_rest, .destroy = destroy_region};
        made->state = state;
        made->gathering = MPI_REQUEST_NULL;
        strncpy(made->name, name, sizeof made->name - 1);
        made->longest = LARGEST_GATHER / state->size;
        made->longest = made->longest < 1 ? 1 : made->longest > LONGEST_BATCH ? LONGEST_BATCH : made->longest;
        made->parts = calloc((size_t)made->longest, sizeof *made->parts);
        if (state->rank == 0)
            made->all = calloc((size_t)made->longest * (size_t)state->size, sizeof *made->all);
        if (made->parts == NULL || (state->rank == 0 && made->all == NULL))
            code = MPI_ERR_NO_MEM;
        if (code == MPI_SUCCESS && state->rank == 0)
            code = db_region_store_find(state, name, &made->told);
    }
    code = db_agree_on_error(state->channel.comm, code, &reason);
    if (code != MPI_SUCCESS) {
        if (made != NULL)
            free_region(made);
        return code;
    }
    db_state_add_dependent(state, &made->dependent);
    *region = made;
    return MPI_SUCCESS;
}

static int start_gathering(struct Downbeat_region_state *region) {
    enum { WORDS = sizeof(struct db_region_part) / sizeof(int64_t) };
    region->gathered = region->count;
    region->count = 0;
    return db_start_gather(&region->state->channel, (const int64_t *)region->parts, (int64_t *)region->all,
                           region->gathered * WORDS, &region->gathering);
}

static int finish_gathering(struct Downbeat_region_state *region) {
    DB_TRY(db_complete(&region->state->channel, &region->gathering));
    if (region->state->rank == 0)
        db_region_store_add(region->told, region->all, region->gathered);
    region->gathered = 0;
    return MPI_SUCCESS;
}

/* Makes room for a sample. */
static int begin_sample(struct Downbeat_region_state *region) {
    if (region->count == region->longest) {
        DB_TRY(start_gathering(region));
        DB_TRY(finish_gathering(region));
    }
    region->parts[region->count++] = (struct db_region_part){.quality = DB_PART_UNFINISHED};
    return MPI_SUCCESS;
}

/* Between deadline and a reading. */
static double after_deadline_ns(const struct Downbeat_region_state *region, int64_t ticks) {
    const struct db_clock_map *map = &region->state->clocks.map;
    return db_map_elapsed_ns(map, ticks) + (double)(map->global_ns - region->deadline);
}

static int begin_region(struct db_state *state, const char *name, Downbeat_region *handle) {
    int bad = !valid_name(name) || handle == NULL;
    struct Downbeat_region_state *region = bad ? NULL : find_region(state, name);
    DB_TRY(agree_on_region(state, name, region, bad));
    if (region == NULL) /* on all processes */
        DB_TRY(create_region(state, name, &region));
    DB_TRY(begin_sample(region));
    *handle = region;
    region->origin = state->clocks.local.ticks;
    region->open = 1;
    int code = db_harmonize(state, 0.0, &region->flag);
    region->deadline = state->call.deadline_ns;
    region->entry = db_clock_read(&state->clocks.clock); /* late: from here on it counts */
    region->entry_ns = after_deadline_ns(region, region->entry);
    return code;
}

int Downbeat_region_begin(MPI_Comm comm, const char *name, Downbeat_region *region) {
    struct db_state *state;
    DB_TRY(db_check_mpi("Downbeat_region_begin"));
    int code = db_state_prepare(comm, &state);
    if (code == MPI_SUCCESS)
        code = begin_region(state, name, region);
    return code == MPI_SUCCESS ? MPI_SUCCESS : db_raise(comm, code);
}

/* The rule of downbeat-bench. */
static int64_t quality_of(const struct Downbeat_region_state *region) {
    if (region->origin != region->state->clocks.local.ticks) /* the clock was changed: the stamps do not fit together */
        return DB_PART_UNFINISHED;
    if (!region->flag)
        return DB_PART_LATE_FLAG;
    return region->entry_ns > (double)region->state->settings.tolerance_ns ? DB_PART_LATE_ENTRY : DB_PART_VALID;
}

int Downbeat_region_end(Downbeat_region *region) {
    if (region == NULL || *region == NULL)
        return db_raise(MPI_COMM_NULL, MPI_ERR_ARG);
    struct Downbeat_region_state *ended = *region;
    const struct db_state *state = ended->state;
    int64_t exit = db_clock_read(&state->clocks.clock); /* early: up to here it counts */
    *region = NULL;
    if (!ended->open)
        return db_raise(state->attribute.comm, MPI_ERR_OTHER);
    ended->open = 0;
    ended->parts[ended->count - 1] =
        (struct db_region_part){.quality = quality_of(ended),
                                .latency = (double)(exit - ended->entry) * state->clocks.map.ns_per_tick,
                                .entry = ended->entry_ns,
                                .exit = after_deadline_ns(ended, exit),
                                .bound = db_map_bound_ns(&state->clocks.map, exit)};
    return MPI_SUCCESS;
}

static void gather_rest(struct db_dependent *dependent) {
    struct Downbeat_region_state *region = (struct Downbeat_region_state *)dependent;
    if (region->count > 0 && start_gathering(region) != MPI_SUCCESS)
        region->gathered = 0;
}

static void destroy_region(struct db_dependent *dependent) {
    struct Downbeat_region_state *region = (struct Downbeat_region_state *)dependent;
    if (region->gathered > 0 && finish_gathering(region) != MPI_SUCCESS)
        db_tell("samples of a region are lost: MPI could not gather them");
    free_region(region);
}
