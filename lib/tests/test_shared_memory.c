/* Starts through shared memory: which processes have it, what happens where some do not, and that a change of the
 * transport changes nothing else. */
#include "base/segment.h"
#include "check_mpi.h"
#include "start/neighbors.h"
#include "start/processors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank;
static int size;
static int nodes = 1;    /* that processes are told they are on: rank modulo that */
static int cut_off = -1; /* a rank that cannot map another's memory */
static int without_memory;

/* The linker leads to these (CMakeLists.txt). */
int __real_db_processors_find(MPI_Comm comm, struct db_processors *found); /* NOLINT: the linker's names */
int __wrap_db_processors_find(MPI_Comm comm, struct db_processors *found); /* NOLINT */
int __real_memfd_create(const char *name, unsigned flags);                 /* NOLINT */
int __wrap_memfd_create(const char *name, unsigned flags);                 /* NOLINT */
ssize_t __real_readlink(const char *path, char *target, size_t room);      /* NOLINT */
ssize_t __wrap_readlink(const char *path, char *target, size_t room);      /* NOLINT */

int __wrap_db_processors_find(MPI_Comm comm, struct db_processors *found) { /* NOLINT */
    OK(__real_db_processors_find(comm, found));
    found->one_node = nodes == 1;
    return MPI_SUCCESS;
}

int __wrap_memfd_create(const char *name, unsigned flags) { /* NOLINT */
    return without_memory ? -1 : __real_memfd_create(name, flags);
}

ssize_t __wrap_readlink(const char *path, char *target, size_t room) { /* NOLINT */
    return rank == cut_off ? -1 : __real_readlink(path, target, room);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part) {
    (void)type;
    (void)info;
    return PMPI_Comm_split(comm, rank % nodes, key, part);
}

static void set(MPI_Comm comm, const char *transport) { OK(set_one(comm, "transport", transport)); }

static void check_calls(MPI_Comm comm, int count) {
    for (int i = 0; i < count; ++i) {
        int flag = harmonize(comm);
        int all = flag;
        OK(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm));
        CHECK_SAME_EVERYWHERE(deadline_of(comm), comm);
        CHECK(!flag || time_of(comm) >= deadline_of(comm) - bound_of(comm));
        harmonize(comm);
        CHECK_THAT(verdict_of(comm), ==, all);
    }
}

static void check_domains(const char *transport, int expected) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    set(comm, transport);
    check_calls(comm, 20);
    CHECK(strcmp(setting_of(comm, "transport"), transport) == 0);
    CHECK_THAT(stats_of(comm).memory_domains, ==, expected);
    OK(MPI_Comm_free(&comm));
}

static void all_share(void) {
    check_domains("auto", 1);
    check_domains("shared", 1);
    check_domains("nodes", 1);
    check_domains("messages", size);
}

static void some_share(void) {
    nodes = size > 3 ? 2 : 1;
    if (nodes == 1)
        return;
    check_domains("auto", 2);
    check_domains("nodes", 2);
    check_domains("shared", size);
    cut_off = 2; /* its node sends messages, one by one */
    check_domains("auto", 1 + (size + 1) / 2);
    cut_off = -1;
    nodes = 1;
}

static void none_shares(void) {
    without_memory = 1;
    check_domains("auto", size);
    check_domains("shared", size);
    without_memory = 0;
    cut_off = size - 1;
    check_domains("auto", size);
    cut_off = -1;
}

/* Few calls on each of many communicators need no memory. */
static void few_calls_are_messages(void) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < 16; ++i) {
        harmonize(comm);
        CHECK_THAT(stats_of(comm).memory_domains, ==, size);
    }
    harmonize(comm);
    CHECK_THAT(stats_of(comm).memory_domains, ==, 1);
    OK(MPI_Comm_free(&comm));
}

static void a_change_is_a_change_of_that_alone(void) {
    static const char *const order[] = {"shared", "messages", "auto", "nodes", "messages", "shared"};
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check_calls(comm, 10);
    long long syncs = stats_of(comm).syncs;
    OK(set_one(comm, "max_age", "1e6"));
    for (int i = 0; i < 6; ++i) {
        double before = deadline_of(comm);
        set(comm, order[i]);
        check_calls(comm, 10);
        CHECK_THAT(deadline_of(comm), >, before);
    }
    CHECK_THAT(stats_of(comm).syncs, <=, syncs + 1);
    OK(set_one(comm, "slack", "published")); /* Alg. 1 goes by messages, unless it is told otherwise */
    harmonize(comm);
    CHECK_THAT(stats_of(comm).memory_domains, ==, 1);
    set(comm, "auto");
    harmonize(comm);
    CHECK_THAT(stats_of(comm).memory_domains, ==, size);
    OK(MPI_Comm_free(&comm));
}

static int count_mappings(void) {
    char line[4096];
    int count = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        count += strstr(line, "/memfd:downbeat") != NULL;
    fclose(file);
    return count;
}

/* Memory goes with its communicator; more of it than a process may have is not asked for. */
static void memory_ends(void) {
    enum { COMMS = 40 };
    MPI_Comm comms[COMMS];
    int before = count_mappings();
    for (int i = 0; i < COMMS; ++i) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
        set(comms[i], "shared");
        CHECK_THAT(stats_of(comms[i]).memory_domains, ==, 1);
    }
    CHECK_THAT(count_mappings(), ==, before + COMMS);
    for (int i = 0; i < COMMS; ++i)
        OK(MPI_Comm_free(&comms[i]));
    CHECK_THAT(count_mappings(), ==, before);
}

/* A ticket of something else is none. */
static void only_segments_are_joined(void) {
    struct db_segment own;
    struct db_segment joined;
    struct db_ticket ticket;
    db_segment_create(&own, 4096, &ticket);
    CHECK(own.memory != NULL);
    db_segment_join(&joined, 4096, &ticket);
    CHECK(joined.memory != NULL);
    ((char *)own.memory)[4095] = 42;
    CHECK_THAT(((char *)joined.memory)[4095], ==, 42);
    db_segment_free(&joined);
    struct db_ticket other = ticket;
    other.secret ^= 1;
    db_segment_join(&joined, 4096, &other);
    CHECK(joined.memory == NULL);
    db_segment_join(&joined, 8192, &ticket);
    CHECK(joined.memory == NULL);
    other = ticket;
    other.descriptor = 1; /* standard output */
    db_segment_join(&joined, 4096, &other);
    CHECK(joined.memory == NULL);
    db_segment_close(&ticket);
    db_segment_join(&joined, 4096, &ticket);
    CHECK(joined.memory == NULL);
    db_segment_free(&own);
}

int main(int argc, char **argv) {
    MPI_Comm comm = begin_mpi(&argc, &argv, &rank, &size);
    only_segments_are_joined();
    few_calls_are_messages();
    all_share();
    some_share();
    none_shares();
    a_change_is_a_change_of_that_alone();
    memory_ends();
    return end_mpi(&comm);
}
