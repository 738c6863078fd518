/* Clock synchronization over MPI: each process's true error is within the bound that the library reports, directly
 * after and later. Virtual time tries the schemes under more conditions (test_schemes_*.c). */
#include "check_mpi.h"
#include "clock/clock.h"
#include "downbeat/clock.h"

#include <math.h>
#include <string.h>

#define ROUNDING 10e-9 /* s, of stamps in ns and of doubles */

static MPI_Comm comm;
static int rank;
static int size;

/* One of each way to use MPI: a tree, pairs with process 0 and a fit, models up a tree, levels. Virtual time tries all
 * of them with all estimators. */
static const char *const schemes[] = {
    "hca3_offset(offset=skampi(min=5,max=20))",
    "jk(fit=5,over=0.05,offset=skampi(min=3,max=10),intercept=best_rtt(exchanges=10))",
    "hca(fit=10,over=0.05,offset=mean_rtt(rtt=20,exchanges=10),intercept=skampi(min=3,max=10))",
    "hierarchical(nodes=hca3(fit=5,over=0.05,offset=skampi(min=3,max=10)),sockets=propagate,within=propagate)",
};

static int clock_domains(void) { return (int)stats_of(comm).clock_domains; }

static void set(const char *key, const char *value) { OK(set_one(comm, key, value)); }

static double true_error_within_bound(const char *scheme) {
    double error;
    OK(MPIX_Harmonize_true_error(comm, &error));
    double bound = bound_of(comm); /* later, so not smaller than at the time of the error */
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
    set("sync", scheme);
    OK(MPIX_Harmonize_sync(comm)); /* once more than the setting does */
    double error = true_error_within_bound(scheme);
    CHECK_THAT(fabs(error), <, 1.0); /* clocks are up to 200 s apart: they were synchronized */
    pause_for(0.02);
    true_error_within_bound(scheme);
}

/* Ranks that truly share a clock have one representative; those that only say so are found out. */
static void domains(void) {
    CHECK_THAT(clock_domains(), ==, 1);
    set("clock", "wtime"); /* never taken as shared */
    CHECK_THAT(clock_domains(), ==, size);
    set("clock", "monotonic");
    CHECK_THAT(clock_domains(), ==, 1);
    set("validation", "offset=10,false_claim=1");
    CHECK_THAT(clock_domains(), ==, size);
    true_error_within_bound("false_claim");
    set("validation", "off");
}

/* Wherever a global clock comes from, it is one clock: what one rank stamps before a message is not later, by more than
 * the bounds, than what the other stamps after it. */
static void causality(const char *clock) {
    set("clock", clock);
    for (int i = 0; i < 3; ++i) {
        double sent = 0.0;
        if (rank == 0)
            sent = time_of(comm);
        OK(MPI_Bcast(&sent, 1, MPI_DOUBLE, 0, comm));
        double received = time_of(comm);
        CHECK_THAT(received - sent, >=, -bound_of(comm));
        CHECK_THAT(received - sent, <, 10.0);
    }
}

/* A process with one clock of its own and those that share it make one map, whatever the scheme. */
static void shared_clocks(const char *scheme) {
    set("validation", "offset=1,skew=9e-6,seed=4,ranks_per_clock=2");
    set("sync", scheme);
    CHECK_THAT(clock_domains(), ==, (size + 1) / 2);
    true_error_within_bound(scheme);
    if (rank == 1) /* even the clock that it shares with process 0 is read with an error */
        CHECK_THAT(bound_of(comm), >, 0.0);
    set("share", "never");
    CHECK_THAT(clock_domains(), ==, size);
    true_error_within_bound(scheme);
    set("share", "verified");
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
    set("validation", "off");
    host = hosts[rank % 2 == 0 ? 0 : 2];
    set("clock", "monotonic");
    CHECK_THAT(clock_domains(), ==, size > 1 ? 2 : 1);
    host = hosts[rank % 2];
    set("clock", "monotonic_raw");
    CHECK_THAT(clock_domains(), ==, 1 + size / 2); /* one hash: process 0 is the only one to share with */
    host = NULL;
}

/* Without correction: right where clocks are one, refused where they are not, or cannot be. */
static void clocks_that_are_global(void) {
    set("validation", "off");
    set("share", "never");
    set("clock", "realtime");
    set("sync", "none");
    for (int i = 0; i < 3; ++i) {
        harmonize(comm);
        CHECK(rank == 0 ? bound_of(comm) == 0.0 : bound_of(comm) > 0.0);
    }
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    if (size > 1) {
        FAILS_WITH(MPI_ERR_OTHER, set_one(comm, "validation", "offset=1,seed=5"));
        FAILS_WITH(MPI_ERR_OTHER, set_one(comm, "clock", "monotonic"));
        harmonize(comm); /* all as before */
    }
    set("sync", "disciplined");
    set("share", "verified");
    set("clock", "realtime");
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL));
}

/* Offsets and exchanges between two processes, on either timeline. */
static void offsets_and_exchanges(void) {
    Downbeat_exchange exchanges[20];
    Downbeat_offset found;
    double epoch_error;
    double local;
    double global;
    set("validation", "offset=1,seed=5");
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

static void bad_arguments(void) {
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
    comm = begin_mpi(&argc, &argv, &rank, &size);
    OK(MPIX_Harmonize_sync(comm));
    domains();
    const char *const clocks[] = {"monotonic_raw", "realtime", "wtime", "monotonic"};
    for (int i = 0; i < 4; ++i)
        causality(clocks[i]);
    set("validation", "offset=100,skew=9e-6,wander=0.5e-6,seed=1,ranks_per_clock=3");
    CHECK_THAT(clock_domains(), ==, (size + 2) / 3);
    within_bound_now_and_later("disciplined");
    set("validation", "offset=100,skew=9.9e-6,wander=50e-9,seed=1");
    within_bound_now_and_later("disciplined");
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; ++i)
        within_bound_now_and_later(schemes[i]);
    shared_clocks(schemes[0]);
    shared_clocks("hierarchical");
    clocks_that_are_global();
    offsets_and_exchanges();
    bad_arguments();
    clocks_of_other_hosts_are_not_shared();
    return end_mpi(&comm);
}
