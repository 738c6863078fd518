/* Every misuse ends in the right error class, through the error handler of the communicator. Misuse of MPIX_Harmonize
 * itself: conformance/errors.c. */
#include "check_mpi.h"

#include <stdlib.h>
#include <string.h>

static int handled;
static int handled_class;

static void handler(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    ++handled;
    MPI_Error_class(*code, &handled_class);
}

/* The call fails with that class, and the handler has seen it once. */
#define HANDLED_AS(error_class, call)                                                                                  \
    do {                                                                                                               \
        handled = 0;                                                                                                   \
        FAILS_WITH(error_class, call);                                                                                 \
        CHECK_THAT(handled, ==, 1);                                                                                    \
        CHECK_THAT(handled_class, ==, error_class);                                                                    \
    } while (0)

static void outside_of_mpi(void) {
    int flag;
    double value;
    CHECK(MPIX_Harmonize(MPI_COMM_WORLD, &flag) == MPI_ERR_OTHER);
    CHECK(MPIX_Harmonize_delayed(MPI_COMM_WORLD, 0.0, &flag) == MPI_ERR_OTHER);
    CHECK(MPIX_Harmonize_time(MPI_COMM_WORLD, &value) == MPI_ERR_OTHER);
    CHECK(MPIX_Harmonize_wait_until(MPI_COMM_WORLD, 0.0, &flag) == MPI_ERR_OTHER);
    CHECK(MPIX_Harmonize_sync(MPI_COMM_WORLD) == MPI_ERR_OTHER);
    CHECK(MPIX_Harmonize_set_info(MPI_COMM_WORLD, MPI_INFO_NULL) == MPI_ERR_OTHER);
    CHECK(MPIX_Harmonize_true_error(MPI_COMM_WORLD, &value) == MPI_ERR_OTHER);
}

static void null_communicator(void) {
    int flag;
    double value;
    MPI_Info info;
    MPIX_Harmonize_stats stats;
    HANDLED_AS(MPI_ERR_COMM, MPIX_Harmonize_delayed(MPI_COMM_NULL, 0.0, &flag));
    HANDLED_AS(MPI_ERR_COMM, MPIX_Harmonize_deadline(MPI_COMM_NULL, &value));
    HANDLED_AS(MPI_ERR_COMM, MPIX_Harmonize_verdict(MPI_COMM_NULL, &flag));
    HANDLED_AS(MPI_ERR_COMM, MPIX_Harmonize_time(MPI_COMM_NULL, &value));
    HANDLED_AS(MPI_ERR_COMM, MPIX_Harmonize_error_bound(MPI_COMM_NULL, &value));
    HANDLED_AS(MPI_ERR_COMM, MPIX_Harmonize_wait_until(MPI_COMM_NULL, 0.0, &flag));
    HANDLED_AS(MPI_ERR_COMM, MPIX_Harmonize_sync(MPI_COMM_NULL));
    HANDLED_AS(MPI_ERR_COMM, MPIX_Harmonize_true_error(MPI_COMM_NULL, &value));
    HANDLED_AS(MPI_ERR_COMM, MPIX_Harmonize_get_stats(MPI_COMM_NULL, &stats));
    HANDLED_AS(MPI_ERR_COMM, MPIX_Harmonize_set_info(MPI_COMM_NULL, MPI_INFO_NULL));
    HANDLED_AS(MPI_ERR_COMM, MPIX_Harmonize_get_info(MPI_COMM_NULL, &info));
}

static void bad_arguments(MPI_Comm comm) {
    int flag;
    double value;
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_delayed(comm, 0.0, NULL));
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_delayed(comm, -1e-9, &flag));
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_delayed(comm, strtod("nan", NULL), &flag));
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_delayed(comm, strtod("inf", NULL), &flag));
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_delayed(comm, 3.000001e9, &flag));
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_time(comm, NULL));
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_wait_until(comm, 0.0, NULL));
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_wait_until(comm, strtod("nan", NULL), &flag));
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_wait_until(comm, -3.000001e9, &flag));
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_wait_until(comm, 3.000001e9, &flag));
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_error_bound(comm, NULL));
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_deadline(comm, NULL));
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_verdict(comm, NULL));
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_true_error(comm, NULL));
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_get_stats(comm, NULL));
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize_get_info(comm, NULL));

    HANDLED_AS(MPI_ERR_OTHER, MPIX_Harmonize_time(comm, &value)); /* not yet prepared */
    HANDLED_AS(MPI_ERR_OTHER, MPIX_Harmonize_wait_until(comm, 0.0, &flag));
    OK(MPIX_Harmonize_sync(comm));
    OK(MPIX_Harmonize_time(comm, &value));
    OK(MPIX_Harmonize_wait_until(comm, -3e9, &flag)); /* the earliest time that may be asked for, long ago */
    CHECK(!flag);
    HANDLED_AS(MPI_ERR_OTHER, MPIX_Harmonize_deadline(comm, &value));   /* no call yet */
    HANDLED_AS(MPI_ERR_OTHER, MPIX_Harmonize_true_error(comm, &value)); /* no validation clock */
}

static void is_set_to(MPI_Comm comm, const char *key, const char *value) {
    CHECK(strcmp(setting_of(comm, key), value) == 0);
}

static void settings(MPI_Comm comm) {
    const char *const bad[][2] = {
        {"clock", "rdtsc"},     {"sync", "hca9"},
        {"share", "always"},    {"slack", "0"},
        {"slack", "automatic"}, {"tolerance", "-1"},
        {"tolerance", "1us"},   {"max_age", "0"},
        {"max_error", "nan"},   {"max_skew", "2"},
        {"validation", "on"},   {"validation", "x=1"},
        {"max_age", "1e-3 "},   {"published", "hoefler2007"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
        HANDLED_AS(MPI_ERR_INFO_VALUE, set_one(comm, bad[i][0], bad[i][1]));
    HANDLED_AS(MPI_ERR_INFO_KEY, set_one(comm, "clok", "tsc"));
#if MPI_MAX_INFO_VAL > 600 /* others refuse such a value themselves */
    char long_value[600];  /* what fits of it would be valid */
    memset(long_value, '0', sizeof long_value);
    memcpy(long_value, "0.", 2);
    long_value[sizeof long_value - 2] = 'x';
    long_value[sizeof long_value - 1] = '\0';
    HANDLED_AS(MPI_ERR_INFO_VALUE, set_one(comm, "tolerance", long_value));
#endif

    /* All keys or none. */
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "max_age", "7"));
    OK(MPI_Info_set(info, "tolerance", "bad"));
    HANDLED_AS(MPI_ERR_INFO_VALUE, MPIX_Harmonize_set_info(comm, info));
    is_set_to(comm, "max_age", "auto");
    OK(MPI_Info_set(info, "tolerance", "2e-6"));
    OK(MPIX_Harmonize_set_info(comm, info));
    OK(MPI_Info_free(&info));
    is_set_to(comm, "max_age", "7");
    is_set_to(comm, "tolerance", "2e-06");

    /* The settings that the library returns can be set. */
    OK(MPIX_Harmonize_get_info(comm, &info));
    OK(MPIX_Harmonize_set_info(comm, info));
    OK(MPI_Info_free(&info));
    OK(MPIX_Harmonize_set_info(comm, MPI_INFO_NULL));
}

/* The key of a paper comes first, whatever the order, and says whether its settings are in force. */
static void a_paper_is_one_key(void) {
    MPI_Comm other;
    MPI_Info info;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    OK(set_one(other, "tolerance", "1e-6"));
    is_set_to(other, "published", "off");
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "max_age", "2"));
    OK(MPI_Info_set(info, "published", "hoefler2008"));
    OK(MPIX_Harmonize_set_info(other, info));
    OK(MPI_Info_free(&info));
    is_set_to(other, "published", "off");
    OK(set_one(other, "max_age", "1e6"));
    is_set_to(other, "published", "hoefler2008");
    OK(MPI_Comm_free(&other));
}

static void environment(MPI_Comm world, MPI_Errhandler errors) {
    int flag;
    MPI_Comm comm;
    OK(MPI_Comm_dup(world, &comm));
    OK(MPI_Comm_set_errhandler(comm, errors));
    setenv("DOWNBEAT_CLOK", "tsc", 1);
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize(comm, &flag));
    unsetenv("DOWNBEAT_CLOK");
    setenv("DOWNBEAT_MAX_AGE", "old", 1);
    HANDLED_AS(MPI_ERR_ARG, MPIX_Harmonize(comm, &flag));
    setenv("DOWNBEAT_MAX_AGE", "2.5", 1);
    OK(MPIX_Harmonize(comm, &flag)); /* what failed has left nothing behind */
    is_set_to(comm, "max_age", "2.5");
    unsetenv("DOWNBEAT_MAX_AGE");
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv) {
    outside_of_mpi();
    MPI_Init(&argc, &argv);
    MPI_Errhandler errors;
    MPI_Comm comm;
    OK(MPI_Comm_create_errhandler(handler, &errors));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, errors));
    /* Where there is no communicator, the standard names the handler of one of these two. */
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, errors));

    null_communicator();
    bad_arguments(comm);
    settings(comm);
    a_paper_is_one_key();
    environment(comm, errors);

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Errhandler_free(&errors));
    MPI_Finalize();
    outside_of_mpi();
    return 0;
}
