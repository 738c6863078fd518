/* Settings from the environment: defaults, both ends of every range, and what they come to. Without MPI. */
#include "check.h"
#include "start/settings.h"

#include <math.h>
#include <string.h>

static struct db_reason reason;

/* Reads one variable; returns the code. */
static int read_one(struct db_settings *settings, const char *key, const char *value) {
    char variable[64];
    snprintf(variable, sizeof variable, "DOWNBEAT_%s", key);
    CHECK(setenv(variable, value, 1) == 0);
    int code = db_settings_from_environment(settings, &reason);
    CHECK(unsetenv(variable) == 0);
    return code;
}

static struct db_settings with(const char *key, const char *value) {
    struct db_settings settings;
    if (read_one(&settings, key, value) != MPI_SUCCESS)
        fprintf(stderr, "%s=%s: %s\n", key, value, reason.text);
    CHECK(read_one(&settings, key, value) == MPI_SUCCESS);
    return settings;
}

static void refused(const char *key, const char *value, const char *valid) {
    struct db_settings settings;
    CHECK_THAT(read_one(&settings, key, value), ==, MPI_ERR_ARG);
    if (strstr(reason.text, valid) == NULL)
        fprintf(stderr, "%s=%s: %s\n", key, value, reason.text);
    CHECK(strstr(reason.text, valid) != NULL);
    CHECK(strstr(reason.text, key) != NULL && strstr(reason.text, value) != NULL);
}

static struct db_thresholds thresholds_of(const struct db_settings *settings, int processes) {
    return db_settings_thresholds(settings, processes, processes, DB_DEFAULT_TOLERANCE_NS);
}

static void near(double found, double expected) { CHECK_THAT(fabs(found - expected), <=, 1e-12 * fabs(expected)); }

static void defaults(void) {
    struct db_settings settings;
    CHECK(db_settings_from_environment(&settings, &reason) == MPI_SUCCESS);
    CHECK(settings.clock == NULL && settings.share && settings.slack == &db_slack_auto && settings.slack_ns == 0);
    CHECK(db_is(&settings.sync.nodes[0], &db_sync_disciplined));
    CHECK(!settings.validation.enabled);
    CHECK_THAT(settings.tolerance_ns, ==, 500);
    near(settings.max_error_ns, 5e3);
    near(settings.max_skew, 650e-6);
    near(settings.max_wander, 0.2e-6);
    CHECK(settings.max_age_ns == 0.0 && settings.target_error_ns == 0.0 && settings.flag_error_ns == 0.0);
    near(thresholds_of(&settings, 2).max_age_ns, 1e9);
    near(thresholds_of(&settings, 2).target_error_ns, 25.0);
    near(thresholds_of(&settings, 2).flag_error_ns, 100.0);
    near(thresholds_of(&settings, 3).flag_error_ns, 62.5);
}

static void names(void) {
    CHECK(with("CLOCK", "wtime").clock == &db_clock_wtime);
    refused("CLOCK", "rdtsc", "valid: tsc, monotonic_raw, monotonic, realtime, wtime");
    CHECK(with("SHARE", "verified").share && !with("SHARE", "never").share);
    refused("SHARE", "always", "valid: never, verified");
    refused("VALIDATION", "offset", "valid: off, or a list");
    CHECK(with("VALIDATION", "offset=2").validation.offset == 2.0);
}

static void ranges(void) {
    CHECK_THAT(with("SLACK", "1e-9").slack_ns, ==, 1);
    CHECK_THAT(with("SLACK", "2.5e-6").slack_ns, ==, 2500);
    CHECK_THAT(with("SLACK", "3600").slack_ns, ==, 3600000000000);
    CHECK(with("SLACK", "3600").slack == &db_slack_fixed && with("SLACK", "published").slack == &db_slack_published);
    CHECK_THAT(with("TOLERANCE", "0").tolerance_ns, ==, 0);
    CHECK_THAT(with("TOLERANCE", "1.6e-9").tolerance_ns, ==, 2);
    CHECK_THAT(with("TOLERANCE", "3600").tolerance_ns, ==, 3600000000000);
    struct db_settings automatic = with("TOLERANCE", "auto");
    CHECK_THAT(automatic.tolerance_ns, ==, DB_TOLERANCE_AUTO);
    CHECK_THAT(thresholds_of(&automatic, 2).tolerance_ns, ==, 500);
    CHECK_THAT(db_settings_thresholds(&automatic, 2, 2, 4000).tolerance_ns, ==, 4000);
    near(db_settings_thresholds(&automatic, 2, 2, 4000).flag_error_ns, 800.0);
    refused("TOLERANCE", "off", "valid: auto, or seconds from 0 to 3600");
    near(with("MAX_AGE", "1e-6").max_age_ns, 1e3);
    near(with("MAX_AGE", "1e6").max_age_ns, 1e15);
    CHECK(with("MAX_AGE", "auto").max_age_ns == 0.0);
    near(with("TARGET_ERROR", "1e-9").target_error_ns, 1.0);
    near(with("FLAG_ERROR", "1e-9").flag_error_ns, 1.0);
    CHECK(isinf(with("FLAG_ERROR", "off").flag_error_ns));
    near(with("MAX_ERROR", "1e-9").max_error_ns, 1.0);
    near(with("MAX_ERROR", "1e6").max_error_ns, 1e15);
    near(with("MAX_SKEW", "0.1").max_skew, 0.1);
    CHECK(with("MAX_SKEW", "0").max_skew == 0.0);
    near(with("MAX_WANDER", "0.1").max_wander, 0.1);
    CHECK(with("MAX_WANDER", "0").max_wander == 0.0);

    /* Just below and just above the range, and other texts. */
    static const struct {
        const char *key;
        const char *valid;
        const char *values[3];
    } refusals[] = {
        {"SLACK", "valid: auto, published, or seconds from 1e-09 to 3600", {"0.99e-9", "3601"}},
        {"TOLERANCE", "valid: auto, or seconds from 0 to 3600", {"-1e-9", "3601", "1us"}},
        {"MAX_AGE", "valid: auto, or seconds from 1e-06 to 1e+06", {"0.9e-6", "1.1e6", "off"}},
        {"TARGET_ERROR", "valid: auto, or seconds from 1e-09 to 1e+06", {"0.9e-9", "1.1e6", "off"}},
        {"FLAG_ERROR", "valid: auto, off, or seconds from 1e-09 to 1e+06", {"0.9e-9", "1.1e6", ""}},
        {"MAX_ERROR", "valid: a number from 1e-09 to 1e+06", {"0.9e-9", "1.1e6"}},
        {"MAX_SKEW", "valid: a number from 0 to 0.1", {"-1e-9", "0.11"}},
        {"MAX_WANDER", "valid: a number from 0 to 0.1", {"-1e-9", "0.11"}},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i)
        for (int k = 0; k < 3 && refusals[i].values[k] != NULL; ++k)
            refused(refusals[i].key, refusals[i].values[k], refusals[i].valid);
}

static int is_scheme(const struct db_settings *settings, const char *name) {
    return strcmp(settings->sync.nodes[0].component->described.name, name) == 0;
}

/* Papers are settings by one name; what is set beside it counts, whatever the order. */
static void papers(void) {
    struct db_settings settings = with("PUBLISHED", "schuchart2023");
    CHECK(settings.slack == &db_slack_published && isinf(settings.flag_error_ns));
    CHECK(is_scheme(&settings, "hca3_offset"));
    CHECK(strcmp(settings.sync.nodes[1].component->described.name, "skampi") == 0);
    CHECK(db_scheme_sum(&settings.sync, "min") == 5 && db_scheme_sum(&settings.sync, "max") == 20);
    settings = with("PUBLISHED", "hunold2015");
    CHECK(is_scheme(&settings, "hca"));
    CHECK(db_scheme_sum(&settings.sync, "fit") == 1000 && db_scheme_sum(&settings.sync, "over") == 0);
    CHECK(db_scheme_sum(&settings.sync, "exchanges") == 100);
    CHECK(settings.max_age_ns == 1e15 && settings.max_error_ns == 1e15 && !settings.share);
    settings = with("PUBLISHED", "hoefler2008");
    CHECK(is_scheme(&settings, "netgauge"));
    settings = with("PUBLISHED", "niethammer2016");
    CHECK(is_scheme(&settings, "cristian"));
    settings = with("PUBLISHED", "off");
    CHECK(settings.slack == &db_slack_auto);
    refused("PUBLISHED", "schuchart", "valid: off, schuchart2023, hunold2015, hoefler2008, niethammer2016");

    setenv("DOWNBEAT_PUBLISHED", "schuchart2023", 1);
    settings = with("SYNC", "hca3");
    CHECK(settings.slack == &db_slack_published);
    CHECK(is_scheme(&settings, "hca3"));
    unsetenv("DOWNBEAT_PUBLISHED");
}

/* Settings left to the library, where the user sets another. */
static void consequences(void) {
    struct db_settings settings = with("MAX_AGE", "0.5");
    near(thresholds_of(&settings, 2).max_age_ns, 0.5e9);
    CHECK(isinf(thresholds_of(&settings, 2).target_error_ns)); /* a max_age replaces the schedule */
    near(thresholds_of(&settings, 2).flag_error_ns, 100.0);
    near(thresholds_of(&settings, 3).flag_error_ns, 62.5);
    settings = with("TARGET_ERROR", "2e-9");
    near(thresholds_of(&settings, 2).target_error_ns, 2.0);
    settings = with("FLAG_ERROR", "3e-9");
    near(thresholds_of(&settings, 3).flag_error_ns, 3.0);
    settings = with("TOLERANCE", "8e-9");
    near(thresholds_of(&settings, 3).flag_error_ns, 1.0);
    settings = with("SLACK", "published");
    near(thresholds_of(&settings, 2).max_age_ns, db_slack_published.age_ns);
    /* 1 % of the time goes into spread fits; other schemes that say nothing of expected errors last a second. */
    settings = with("SYNC", "hca3(over=2)");
    near(thresholds_of(&settings, 2).max_age_ns, 200e9);
    CHECK(isinf(thresholds_of(&settings, 2).target_error_ns) && isinf(thresholds_of(&settings, 3).flag_error_ns));
    settings = with("SYNC", "hca3_offset");
    near(thresholds_of(&settings, 2).max_age_ns, 1e9);
}

static void unknown_variables(void) {
    struct db_settings settings;
    CHECK_THAT(read_one(&settings, "CLOK", "tsc"), ==, MPI_ERR_ARG);
    CHECK(strstr(reason.text, "environment variable DOWNBEAT_CLOK is unknown") != NULL);
    CHECK(strstr(reason.text, "clock, sync, share, transport, slack, tolerance, max_age, ") != NULL);
    CHECK_THAT(read_one(&settings, "clock", "tsc"), ==, MPI_ERR_ARG); /* in capitals */
    CHECK(read_one(&settings, "PRELOAD_WHATEVER", "x") == MPI_SUCCESS);
    CHECK(read_one(&settings, "LIBRARY", "x") == MPI_SUCCESS);
    CHECK_THAT(read_one(&settings, "LIBRARY_PATH", "x"), ==, MPI_ERR_ARG);
}

int main(void) {
    defaults();
    names();
    ranges();
    papers();
    consequences();
    unknown_variables();
    return 0;
}
