/* Every clock synchronization scheme against known truth: each process's true error is within the bound that the
 * library reports, directly after and later. Virtual time tries them under more conditions (test_schemes_*.c). */
#include "check_mpi.h"
#include "clock/clock.h"
#include "downbeat/clock.h"

#include <math.h>
#include <string.h>

#define ROUNDING 10e-9 /* s, of stamps in ns and of doubles */

static MPI_Comm comm;
static int rank;
static int size;

/* Few messages: more processes than processors make each of them slow. */
static const char *const schemes[] = {
    "hca3_offset(offset=skampi(min=5,max=20))",
    "hca3_offset(offset=best_rtt(exchanges=20))",
    "skampi(offset=skampi(min=5,max=20))",
    "cristian(offset=cristian(exchanges=20))",
    "netgauge(offset=netgauge(stop=10))",
    "netgauge(offset=mean_rtt(rtt=20,exchanges=10))",
    "jk(fit=10,over=0,offset=mean_rtt(rtt=20,exchanges=10))",
    "jk(fit=5,over=0.05,offset=skampi(min=3,max=10),intercept=best_rtt(exchanges=10))",
    "hca(fit=10,over=0.05,offset=mean_rtt(rtt=20,exchanges=10),intercept=skampi(min=3,max=10))",
    "hca2(fit=10,over=0,offset=mean_rtt(rtt=20,exchanges=10),intercept=skampi(min=3,max=10))",
    "hca2(fit=10,over=0.05,offset=netgauge(stop=5),intercept=fit)",
    "hca3(fit=10,over=0.05,offset=skampi(min=3,max=10))",
    "hca3(fit=10,over=0,offset=cristian(exchanges=10),intercept=netgauge(stop=5))",
    "hierarchical(nodes=hca3_offset,within=skampi(offset=skampi(min=3,max=10)))",
    "hierarchical(nodes=hca3(fit=5,over=0.05,offset=skampi(min=3,max=10)),sockets=propagate,within=propagate)",
};

static int clock_domains(void) {
    MPIX_Harmonize_stats stats;
    OK(MPIX_Harmonize_get_stats(comm, &stats));
    return stats.clock_domains;
}

static double global_time(void) {
    double time;
    OK(MPIX_Harmonize_time(comm, &time));
    return time;
}

static double true_error_within_bound(const char *scheme) {
    double error;
    double bound;
    OK(MPIX_Harmonize_true_error(comm, &error));
    OK(MPIX_Harmonize_error_bound(comm, &bound)); /* later, so not smaller than at the time of the error */
    if (!(fabs(error) <= bound))
        fprintf(stderr, "rank %d of %d, %s\n", rank, size, scheme);
    CHECK_THAT(fabs(error), <=, bound);
    if (rank == 0) {
        CHECK_THAT(error, ==, 0.0);
        CHECK_THAT(bound, ==, 0.0);
    }
    return error;
}

static void within_bound_now_and_later(const char *scheme) {
    OK(set_one(comm, "sync", scheme));
    OK(MPIX_Harmonize_sync(comm)); /* once more than the setting does */
    double error = true_error_within_bound(scheme);
    CHECK_THAT(fabs(error), <, 1.0); /* clocks are up to 200 s apart: they were synchronized */
    pause_for(0.02);
    true_error_within_bound(scheme);
}

/* Where only the offset is known, the bound must grow with the drift that is allowed for, or it would be wrong a second
 * later. */
static void drift_shows_and_is_allowed_for(void) {
    OK(set_one(comm, "sync", "hca3_offset"));
    OK(set_one(comm, "validation", "skew=9e-6,seed=3"));
    OK(MPIX_Harmonize_sync(comm));
    double bound_before;
    double bound_after;
    double outer_begin = global_time();
    double error_before = true_error_within_bound("hca3_offset");
    OK(MPIX_Harmonize_error_bound(comm, &bound_before));
    double inner_begin = global_time();
    pause_for(0.5);
    double inner_end = global_time();
    double drift = fabs(true_error_within_bound("hca3_offset") - error_before);
    OK(MPIX_Harmonize_error_bound(comm, &bound_after));
    double outer_end = global_time();
    if (rank > 0) {
        CHECK_THAT(drift, >, 1e-9);
        CHECK_THAT(drift, <=, 18.01e-6 * (outer_end - outer_begin));
        CHECK_THAT(bound_after - bound_before, >=, 0.999 * 20e-6 * (inner_end - inner_begin));
    }
    OK(set_one(comm, "sync", "disciplined"));
}

/* Ranks that truly share a clock have one representative; those that only say so are found out. */
static void domains(void) {
    CHECK_THAT(clock_domains(), ==, 1);
    OK(set_one(comm, "clock", "wtime")); /* never taken as shared */
    CHECK_THAT(clock_domains(), ==, size);
    OK(set_one(comm, "clock", "monotonic"));
    CHECK_THAT(clock_domains(), ==, 1);
    OK(set_one(comm, "validation", "offset=10,false_claim=1"));
    CHECK_THAT(clock_domains(), ==, size);
    true_error_within_bound("false_claim");
    OK(set_one(comm, "validation", "off"));
}

/* Wherever a global clock comes from, it is one clock: what one rank stamps before a message is not later, by more than
 * the bounds, than what the other stamps after it. */
static void causality(const char *clock) {
    OK(set_one(comm, "clock", clock));
    for (int i = 0; i < 3; ++i) {
        double sent = 0.0;
        double received;
        double bound;
        if (rank == 0)
            OK(MPIX_Harmonize_time(comm, &sent));
        OK(MPI_Bcast(&sent, 1, MPI_DOUBLE, 0, comm));
        OK(MPIX_Harmonize_time(comm, &received));
        OK(MPIX_Harmonize_error_bound(comm, &bound));
        CHECK_THAT(received - sent, >=, -bound);
        CHECK_THAT(received - sent, <, 10.0);
    }
}

/* A process with one clock of its own and those that share it make one map, whatever the scheme. */
static void shared_clocks(const char *scheme) {
    OK(set_one(comm, "validation", "offset=1,skew=9e-6,seed=4,ranks_per_clock=2"));
    OK(set_one(comm, "sync", scheme));
    CHECK_THAT(clock_domains(), ==, (size + 1) / 2);
    true_error_within_bound(scheme);
    if (rank == 1) { /* even the clock that it shares with process 0 is read with an error */
        double bound;
        OK(MPIX_Harmonize_error_bound(comm, &bound));
        CHECK_THAT(bound, >, 0.0);
    }
    OK(set_one(comm, "share", "never"));
    CHECK_THAT(clock_domains(), ==, size);
    true_error_within_bound(scheme);
    OK(set_one(comm, "share", "verified"));
}

/* Identities as on several hosts, for clocks of one machine, which no exchange tells apart. The first two have the same
 * hash (domain.c). */
static const char *const hosts[] = {"host-1222881", "host-1414990", "host-0"};
static const char *host;

void __real_db_clock_identify(char identity[DB_IDENTITY_SIZE], const char *source, int namespaced);
void __wrap_db_clock_identify(char identity[DB_IDENTITY_SIZE], const char *source, int namespaced);

void __wrap_db_clock_identify(char identity[DB_IDENTITY_SIZE], const char *source, int namespaced) {
    __real_db_clock_identify(identity, source, namespaced);
    if (host != NULL)
        strcpy(identity, host);
}

/* Clocks are shared only where the system says that they are one, whatever exchanges say. */
static void clocks_of_other_hosts_are_not_shared(void) {
    OK(set_one(comm, "validation", "off"));
    host = hosts[rank % 2 == 0 ? 0 : 2];
    OK(set_one(comm, "clock", "monotonic"));
    CHECK_THAT(clock_domains(), ==, size > 1 ? 2 : 1);
    host = hosts[rank % 2];
    OK(set_one(comm, "clock", "monotonic_raw"));
    CHECK_THAT(clock_domains(), ==, 1 + size / 2); /* one hash: process 0 is the only one to share with */
    host = NULL;
}

/* How many messages a process takes part in: in a tree no one has more than its level's share, one after another
 * process 0 has them all. With as many exchanges for every pair. */
static void messages(void) {
    OK(set_one(comm, "share", "never"));
    const char *const tree = "hca3_offset(offset=skampi(min=10,max=10))";
    const char *const linear = "skampi(offset=skampi(min=10,max=10))";
    const long long per_pair = 1 + 2 * 10 + 2;
    int rounds = 0;
    while (1 << rounds < size)
        ++rounds;
    for (int i = 0; i < 2; ++i) {
        MPIX_Harmonize_stats before;
        MPIX_Harmonize_stats after;
        long long most;
        OK(set_one(comm, "sync", i == 0 ? tree : linear));
        OK(MPIX_Harmonize_get_stats(comm, &before));
        OK(MPIX_Harmonize_sync(comm));
        OK(MPIX_Harmonize_get_stats(comm, &after));
        long long mine = after.sync_messages - before.sync_messages;
        OK(MPI_Allreduce(&mine, &most, 1, MPI_LONG_LONG, MPI_MAX, comm));
        CHECK_THAT(most, ==, per_pair * (i == 0 ? rounds : size - 1));
    }
    OK(set_one(comm, "share", "verified"));
}

/* Without correction: right where clocks are one, refused where they are not, or cannot be. */
static void clocks_that_are_global(void) {
    double bound;
    OK(set_one(comm, "validation", "off"));
    OK(set_one(comm, "share", "never"));
    OK(set_one(comm, "clock", "realtime"));
    OK(set_one(comm, "sync", "none"));
    for (int i = 0; i < 3; ++i) {
        int flag;
        OK(MPIX_Harmonize(comm, &flag));
        OK(MPIX_Harmonize_error_bound(comm, &bound));
        CHECK(rank == 0 ? bound == 0.0 : bound > 0.0);
    }
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    if (size > 1) {
        FAILS_WITH(MPI_ERR_OTHER, set_one(comm, "validation", "offset=1,seed=5"));
        FAILS_WITH(MPI_ERR_OTHER, set_one(comm, "clock", "monotonic"));
        int flag;
        OK(MPIX_Harmonize(comm, &flag)); /* all as before */
    }
    OK(set_one(comm, "sync", "disciplined"));
    OK(set_one(comm, "share", "verified"));
    OK(set_one(comm, "clock", "realtime"));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL));
}

/* Offsets and exchanges between two processes, on either timeline. */
static void studies(void) {
    Downbeat_exchange exchanges[20];
    Downbeat_offset found;
    double epoch_error;
    double local;
    double global;
    OK(set_one(comm, "validation", "offset=1,seed=5"));
    OK(MPIX_Harmonize_true_error(comm, &epoch_error));
    OK(Downbeat_true_offset(comm, DOWNBEAT_LOCAL, &local));
    OK(Downbeat_true_offset(comm, DOWNBEAT_GLOBAL, &global));
    CHECK_THAT(fabs(global - epoch_error), <=, ROUNDING);
    for (int peer = 1; peer < size; ++peer) {
        if (rank == 0 || rank == peer) {
            OK(Downbeat_record(comm, 0, peer, DOWNBEAT_LOCAL, 20, rank == 0 ? exchanges : NULL));
            OK(Downbeat_measure(comm, 0, peer, DOWNBEAT_GLOBAL, "skampi(min=5,max=20)", rank == 0 ? &found : NULL));
        }
        double peer_error = epoch_error;
        double peer_local = local;
        OK(MPI_Bcast(&peer_error, 1, MPI_DOUBLE, peer, comm));
        OK(MPI_Bcast(&peer_local, 1, MPI_DOUBLE, peer, comm));
        if (rank != 0)
            continue;
        for (int i = 0; i < 20; ++i) {
            CHECK(exchanges[i].sent < exchanges[i].received);
            CHECK(i == 0 || exchanges[i - 1].received <= exchanges[i].sent);
            CHECK(i == 0 || exchanges[i - 1].remote < exchanges[i].remote);
            CHECK_THAT(peer_local, <=, (double)(exchanges[i].remote - exchanges[i].sent) * 1e-9 + ROUNDING);
            CHECK_THAT(peer_local, >=, (double)(exchanges[i].remote - exchanges[i].received) * 1e-9 - ROUNDING);
        }
        CHECK_THAT(fabs(found.offset - peer_error), <=, found.bound);
        CHECK_THAT(found.exchanges, >=, 5);
        CHECK_THAT(found.rtt, >, 0);
        CHECK_THAT(found.deviation, >=, 0);
    }
    OK(MPI_Barrier(comm));
}

/* The bound has the drift that is possible from the first exchange to the last, and half of the smallest round trip. */
static void bounds_of_long_studies_allow_for_drift(void) {
    Downbeat_offset found;
    OK(set_one(comm, "max_skew", "1e-3"));
    OK(MPIX_Harmonize_sync(comm));
    if (rank < 2)
        OK(Downbeat_measure(comm, 0, 1, DOWNBEAT_LOCAL, "best_rtt(exchanges=1000)", rank == 0 ? &found : NULL));
    if (rank == 0 && size > 1)
        CHECK_THAT(found.bound, >=, 0.9e-3 * found.exchanges * found.rtt);
    OK(set_one(comm, "max_skew", "20e-6"));
    OK(MPI_Barrier(comm));
}

static void study_errors(void) {
    Downbeat_exchange exchange;
    Downbeat_offset found;
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    double offset;
    FAILS_WITH(MPI_ERR_ARG, Downbeat_true_offset(comm, 2, &offset));
    FAILS_WITH(MPI_ERR_ARG, Downbeat_true_offset(comm, DOWNBEAT_LOCAL, NULL));
    FAILS_WITH(MPI_ERR_RANK, Downbeat_record(comm, 0, size, DOWNBEAT_LOCAL, 1, &exchange));
    FAILS_WITH(MPI_ERR_RANK, Downbeat_record(comm, -1, 0, DOWNBEAT_LOCAL, 1, &exchange));
    FAILS_WITH(MPI_ERR_RANK, Downbeat_record(comm, rank, rank, DOWNBEAT_LOCAL, 1, &exchange));
    if (rank < 2) {
        FAILS_WITH(MPI_ERR_ARG, Downbeat_record(comm, 0, 1, 2, 1, &exchange));
        FAILS_WITH(MPI_ERR_ARG, Downbeat_record(comm, 0, 1, DOWNBEAT_LOCAL, 0, &exchange));
        int code = Downbeat_measure(comm, 0, 1, DOWNBEAT_GLOBAL, "skampy", &found);
        CHECK_THAT(code, ==, rank == 0 ? MPI_ERR_ARG : MPI_SUCCESS);
    } else {
        FAILS_WITH(MPI_ERR_RANK, Downbeat_measure(comm, 0, 1, DOWNBEAT_GLOBAL, NULL, &found));
    }
    MPI_Comm fresh;
    OK(MPI_Comm_dup(comm, &fresh));
    FAILS_WITH(MPI_ERR_OTHER, Downbeat_measure(fresh, 0, 1, DOWNBEAT_GLOBAL, NULL, &found));
    FAILS_WITH(MPI_ERR_OTHER, Downbeat_true_offset(fresh, DOWNBEAT_LOCAL, &offset));
    OK(MPI_Comm_free(&fresh));
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);

    OK(MPIX_Harmonize_sync(comm));
    domains();
    OK(set_one(comm, "validation", "offset=100,skew=9e-6,wander=0.5e-6,seed=1,ranks_per_clock=3"));
    CHECK_THAT(clock_domains(), ==, (size + 2) / 3);
    within_bound_now_and_later("disciplined");
    drift_shows_and_is_allowed_for();
    OK(set_one(comm, "validation", "off"));
    const char *const clocks[] = {"monotonic", "monotonic_raw", "realtime", "wtime"};
    for (int i = 0; i < 4; ++i)
        causality(clocks[i]);
    OK(set_one(comm, "clock", "monotonic"));
    OK(set_one(comm, "validation", "offset=100,skew=9.9e-6,wander=50e-9,seed=1"));
    within_bound_now_and_later("disciplined");
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; ++i)
        within_bound_now_and_later(schemes[i]);
    shared_clocks(schemes[0]);
    shared_clocks("hierarchical");
    messages();
    clocks_that_are_global();
    studies();
    bounds_of_long_studies_allow_for_drift();
    study_errors();
    clocks_of_other_hosts_are_not_shared();

    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
