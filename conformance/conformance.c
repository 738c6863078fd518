/*
 * Does an implementation of MPIX_Harmonize, or MPI_Harmonize, keep what the text promises (docs/forum.md)?
 *
 * Needs nothing but MPI 3 and POSIX. In this directory:
 *
 *     mpicc -std=c11 -O2 -o conformance *.c -lpthread -ldownbeat
 *     mpicc -std=c11 -O2 -DHARMONIZE=MPI_Harmonize -o conformance *.c -lpthread
 *     mpiexec -n 2 ./conformance
 *
 * Prints TAP, version 13. Exit status: 0 if no check failed, 1 if one did, 2 for bad arguments. Exits are compared on
 * the clock that processes of one node share. Between nodes no clock is true enough; what was left out is said.
 */
#define _POSIX_C_SOURCE 200809L
#include "conformance.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 300 };

/* For the alarm, which may do little: what to print if the running check never ends. */
static char hanging[TEXT];

/* They leave fewer processes, and none: main() has them. */
enum { RECOVERY, FINALIZE };
static const struct check last_checks[] = {
    {"recovery", "after a process is lost calls end with an error, and work without it", NULL},
    {"finalize", "MPI_Finalize ends although harmonized communicators were never freed", NULL},
    {0},
};

static const struct check *const tables[] = {
    checks_of_time,   checks_of_flags, checks_of_communicators, checks_of_messages, checks_of_threads,
    checks_of_errors, last_checks,
};
enum { TABLES = sizeof tables / sizeof *tables };

struct options {
    const char *only; /* names, with commas between them; NULL: all */
    int timeout;      /* seconds per check */
    double tolerance; /* us */
    int communicators;
    int list;
};

/* Whether a list with commas has the name. */
static int names(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return 1;
    }
    return 0;
}

/* The whole text as a number above 0. */
static int positive(const char *text, double *value) {
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return errno == 0 && end != text && *end == '\0' && *value > 0.0 && *value <= 1e6;
}

static int refuse(const char *what, const char *word, const char *valid) {
    fprintf(stderr, "conformance: %s '%s'; %s\n", what, word, valid);
    return 0;
}

/* Whether every name of --only is that of a check. */
static int known(const char *list) {
    char each[TEXT];
    for (const char *at = list;; ++at) {
        size_t length = strcspn(at, ",");
        int found = 0;
        snprintf(each, sizeof each, "%.*s", (int)length, at);
        for (int t = 0; t < TABLES; ++t)
            for (const struct check *check = tables[t]; check->name != NULL; ++check)
                found += strcmp(check->name, each) == 0;
        if (!found)
            return refuse("no check has the name", each, "--list prints the names");
        at += length;
        if (*at == '\0')
            return 1;
    }
}

static int parse(int argc, char **argv, struct options *options) {
    const char *usage = "valid are --list, --only NAME[,NAME...], --timeout S, --tolerance US, --communicators N";
    *options = (struct options){.timeout = 60, .tolerance = 10.0, .communicators = 2100};
    for (int i = 1; i < argc; ++i) {
        double value = 0.0;
        const char *option = argv[i];
        if (strcmp(option, "--list") == 0) {
            options->list = 1;
            continue;
        }
        if (strcmp(option, "--only") != 0 && strcmp(option, "--timeout") != 0 && strcmp(option, "--tolerance") != 0 &&
            strcmp(option, "--communicators") != 0)
            return refuse("unknown argument", option, usage);
        if (++i == argc)
            return refuse("no value for", option, usage);
        if (strcmp(option, "--only") == 0) {
            options->only = argv[i];
            if (!known(argv[i]))
                return 0;
            continue;
        }
        if (!positive(argv[i], &value))
            return refuse("invalid number", argv[i], "it must be above 0 and at most 1e6");
        if (strcmp(option, "--tolerance") == 0) {
            options->tolerance = value;
            continue;
        }
        if (value != (double)(long)value)
            return refuse("invalid number", argv[i], "it must be whole");
        if (strcmp(option, "--timeout") == 0)
            options->timeout = (int)value;
        else
            options->communicators = (int)value;
    }
    return 1;
}

static void on_alarm(int signal) {
    (void)signal;
    ssize_t ignored = write(STDOUT_FILENO, hanging, strlen(hanging));
    (void)ignored;
    _exit(1);
}

/* From here on this process has so long. Process 0 goes first: it has the output. */
static void watch(const struct run *run, int number, const struct check *check, int timeout) {
    if (run->rank == 0)
        snprintf(hanging, sizeof hanging, "not ok %d - %s: %s\n# no end within %d s\nBail out! %s hangs\n", number,
                 check->name, check->promise, timeout, check->name);
    alarm((unsigned)timeout + (run->rank == 0 ? 0u : 5u));
}

/* Processes whose clocks agree: those of one node, if no message between them and its lowest process arrives before it
 * was sent. */
static void find_nodes(struct run *run) {
    enum { ROUNDS = 20 };
    MPI_Comm shared;
    int rank;
    int size;
    MPI_Comm_split_type(run->world, MPI_COMM_TYPE_SHARED, run->rank, MPI_INFO_NULL, &shared);
    MPI_Comm_rank(shared, &rank);
    MPI_Comm_size(shared, &size);
    int agrees = 1;
    for (int peer = 1; peer < size; ++peer) {
        for (int i = 0; i < ROUNDS; ++i) {
            double sent = now();
            double answer;
            if (rank == 0) {
                MPI_Send(&sent, 1, MPI_DOUBLE, peer, 0, shared);
                MPI_Recv(&answer, 1, MPI_DOUBLE, peer, 0, shared, MPI_STATUS_IGNORE);
                sent = now();
                MPI_Send(&sent, 1, MPI_DOUBLE, peer, 0, shared);
            } else if (rank == peer) {
                MPI_Recv(&sent, 1, MPI_DOUBLE, 0, 0, shared, MPI_STATUS_IGNORE);
                answer = now();
                MPI_Send(&answer, 1, MPI_DOUBLE, 0, 0, shared);
                agrees = agrees && sent <= answer;
                MPI_Recv(&sent, 1, MPI_DOUBLE, 0, 0, shared, MPI_STATUS_IGNORE);
                agrees = agrees && answer <= sent;
            }
        }
    }
    MPI_Comm_split(shared, agrees ? 0 : rank, rank, &run->node);
    MPI_Comm_size(run->node, &run->node_size);
    MPI_Comm_rank(run->node, &rank);
    int first = rank == 0;
    MPI_Allreduce(&first, &run->nodes, 1, MPI_INT, MPI_SUM, run->world);
    MPI_Comm_free(&shared);
}

static void list_checks(void) {
    for (int t = 0; t < TABLES; ++t)
        for (const struct check *check = tables[t]; check->name != NULL; ++check)
            printf("%-18s %s\n", check->name, check->promise);
}

static int wanted(const struct options *options, const struct check *check) {
    return options->only == NULL || names(options->only, check->name);
}

int main(int argc, char **argv) {
    struct options options;
    struct run run = {0};
    int provided;
    stopper_start(); /* before MPI_Init: a process that has initialized MPI must not fork */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_dup(MPI_COMM_WORLD, &run.world);
    MPI_Comm_rank(run.world, &run.rank);
    MPI_Comm_size(run.world, &run.size);
    int valid = 0;
    if (run.rank == 0)
        valid = parse(argc, argv, &options);
    MPI_Bcast(&valid, 1, MPI_INT, 0, run.world);
    if (valid && run.rank != 0)
        parse(argc, argv, &options);
    if (!valid || options.list) {
        if (valid && run.rank == 0)
            list_checks();
        MPI_Finalize();
        stopper_end();
        return valid ? 0 : 2;
    }
    run.thread_multiple = provided == MPI_THREAD_MULTIPLE;
    run.tolerance = options.tolerance * 1e-6;
    run.communicators = options.communicators;
    run.patience = 0.4 * options.timeout;
    /* A call that fails is a failed check, not the end. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(run.world, MPI_ERRORS_RETURN);
    find_nodes(&run);
    bind_processes(&run);

    int planned = 0;
    for (int t = 0; t < TABLES; ++t)
        for (const struct check *check = tables[t]; check->name != NULL; ++check)
            planned += wanted(&options, check);
    const struct check *const finalize = &last_checks[FINALIZE];
    const int finalizes = wanted(&options, finalize);
    signal(SIGALRM, on_alarm);
    if (run.rank == 0) {
        printf("TAP version 13\n1..%d\n# %d processes on %d node%s\n", planned, run.size, run.nodes,
               run.nodes == 1 ? "" : "s");
        if (run.nodes > 1)
            printf("# exits are compared within nodes only: no clock is shared between them\n");
        fflush(stdout);
    }
    int number = 0;
    int failures = 0;
    for (int t = 0; t < TABLES; ++t) {
        for (const struct check *check = tables[t]; check->name != NULL; ++check) {
            if (!wanted(&options, check) || check == finalize)
                continue;
            watch(&run, ++number, check, options.timeout);
            if (check == &last_checks[RECOVERY])
                recover(&run);
            else
                check->body(&run);
            failures += !print_result(&run, number, check);
        }
    }

    watch(&run, ++number, finalize, options.timeout);
    int flag;
    MPI_Comm left;
    MPI_Comm_dup(run.world, &left);
    if (finalizes) {
        OK(HARMONIZE(left, &flag));
        if (!run.lost)
            OK(HARMONIZE(MPI_COMM_WORLD, &flag));
        failures += has_failed();
    }
    MPI_Comm_free(&run.node);
    MPI_Comm_free(&run.world);
    MPI_Finalize();
    alarm(0);
    stopper_end();
    if (run.rank == 0 && finalizes)
        printf("%sok %d - %s: %s\n", has_failed() ? "not " : "", number, finalize->name, finalize->promise);
    return failures > 0;
}
