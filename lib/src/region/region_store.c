#include "region/region_store.h"

#include <stdlib.h>

struct store {
    struct db_kept kept; /* first: this is what the process keeps */
    pthread_mutex_t lock;
    struct db_region_entry *first;
};

static void finish(struct db_kept *kept) {
    struct store *store = (struct store *)kept;
    db_region_files_write(store->first);
    while (store->first != NULL) {
        struct db_region_entry *entry = store->first;
        store->first = entry->next;
        db_region_record_free(entry->record);
        free(entry);
    }
    pthread_mutex_destroy(&store->lock);
    free(store);
}

static struct db_kept *make(void) {
    struct store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return NULL;
    if (pthread_mutex_init(&store->lock, NULL) != 0) {
        free(store);
        return NULL;
    }
    store->kept.finish = finish;
    return &store->kept;
}

/* The store of this process, made at the first call. */
static int find_store(struct store **store) {
    struct db_kept *kept;
    DB_TRY(db_attribute_keep(make, &kept));
    *store = (struct store *)kept;
    return MPI_SUCCESS;
}

/* The ranks in MPI_COMM_WORLD of the communicator's processes; MPI_UNDEFINED for those of another world. */
static int find_world_ranks(const struct db_state *state, int *world_ranks) {
    MPI_Group group;
    MPI_Group world;
    int *ranks = malloc((size_t)state->size * sizeof *ranks);
    if (ranks == NULL)
        return MPI_ERR_NO_MEM;
    for (int rank = 0; rank < state->size; ++rank)
        ranks[rank] = rank;
    int code = MPI_Comm_group(state->channel.comm, &group);
    if (code == MPI_SUCCESS) {
        code = MPI_Comm_group(MPI_COMM_WORLD, &world);
        if (code == MPI_SUCCESS) {
            code = MPI_Group_translate_ranks(group, state->size, ranks, world, world_ranks);
            MPI_Group_free(&world);
        }
        MPI_Group_free(&group);
    }
    free(ranks);
    return code;
}

static int create_entry(const struct db_state *state, const char *name, const int *world_ranks,
                        struct db_region_entry **entry) {
    int length;
    struct db_region_entry *made = calloc(1, sizeof *made);
    if (made == NULL)
        return MPI_ERR_NO_MEM;
    made->settings = state->settings;
    made->record = db_region_record_create(name, state->size, world_ranks);
    int code =
        made->record == NULL ? MPI_ERR_NO_MEM : MPI_Comm_get_name(state->attribute.comm, made->communicator, &length);
    if (code != MPI_SUCCESS) {
        if (made->record != NULL)
            db_region_record_free(made->record);
        free(made);
        return code;
    }
    *entry = made;
    return MPI_SUCCESS;
}

/* The store must be locked. New entries come last, so that files list regions in the order they began. */
static int find_entry(struct store *store, const struct db_state *state, const char *name, const int *world_ranks,
                      struct db_region_entry **entry) {
    struct db_region_entry **link = &store->first;
    while (*link != NULL && !db_region_record_is((*link)->record, name, state->size, world_ranks))
        link = &(*link)->next;
    if (*link == NULL)
        DB_TRY(create_entry(state, name, world_ranks, link));
    (*link)->lock = &store->lock;
    *entry = *link;
    return MPI_SUCCESS;
}

int db_region_store_find(const struct db_state *state, const char *name, struct db_region_entry **entry) {
    struct store *store;
    DB_TRY(find_store(&store));
    int *world_ranks = malloc((size_t)state->size * sizeof *world_ranks);
    if (world_ranks == NULL)
        return MPI_ERR_NO_MEM;
    int code = find_world_ranks(state, world_ranks);
    if (code == MPI_SUCCESS) {
        pthread_mutex_lock(&store->lock);
        code = find_entry(store, state, name, world_ranks, entry);
        pthread_mutex_unlock(&store->lock);
    }
    free(world_ranks);
    return code;
}

void db_region_store_add(struct db_region_entry *entry, const struct db_region_part *parts, int count) {
    pthread_mutex_lock(entry->lock);
    for (int i = 0; i < count; ++i)
        db_region_record_add(entry->record, parts + i, (size_t)count);
    pthread_mutex_unlock(entry->lock);
}
