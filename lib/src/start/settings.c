#define _GNU_SOURCE
#include "start/settings.h"

#include "base/hash.h"
#include "base/patience.h"
#include "base/registry.h"
#include "start/published.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

#define PREFIX "DOWNBEAT_"
#define PRELOAD_PREFIX "DOWNBEAT_PRELOAD_"  /* settings of libdownbeat-preload, which checks them */
#define PYTHON_VARIABLE "DOWNBEAT_LIBRARY=" /* the file of this library, for downbeat.mpi */
#define TEXT_SIZE DOWNBEAT_MAX_MESSAGE

/* A setting: its key, and how its text is read and written. parse returns 0, or -1 with the valid values, preceded by
 * the problem if it is not obvious. */
struct setting {
    const char *key;
    int (*parse)(struct db_settings *settings, const char *text, char valid[TEXT_SIZE]);
    void (*format)(const struct db_settings *settings, char text[TEXT_SIZE]);
};

static const void *parse_name(const void *const *registry, const char *text, char valid[TEXT_SIZE]) {
    const void *entry = db_registry_find(registry, text);
    if (entry == NULL) {
        snprintf(valid, TEXT_SIZE, "valid: ");
        db_registry_names(registry, valid, TEXT_SIZE);
    }
    return entry;
}

static int parse_number(const char *text, double low, double high, double *value, char valid[TEXT_SIZE]) {
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !(number >= low && number <= high)) {
        snprintf(valid, TEXT_SIZE, "valid: a number from %g to %g", low, high);
        return -1;
    }
    *value = number;
    return 0;
}

static int parse_clock(struct db_settings *settings, const char *text, char valid[TEXT_SIZE]) {
    settings->clock = parse_name(db_clock_types, text, valid);
    return settings->clock != NULL ? 0 : -1;
}

static void format_clock(const struct db_settings *settings, char text[TEXT_SIZE]) {
    snprintf(text, TEXT_SIZE, "%s", settings->clock->component.described.name);
}

/* MPIX_Harmonize_get_info must be able to return it. */
static int check_length(const char *text, char valid[TEXT_SIZE]) {
    if (strlen(text) < MPI_MAX_INFO_VAL)
        return 0;
    snprintf(valid, TEXT_SIZE, "valid: at most %d characters, the limit for info values in this MPI library",
             MPI_MAX_INFO_VAL - 1);
    return -1;
}

static int parse_sync(struct db_settings *settings, const char *text, char valid[TEXT_SIZE]) {
    char back[TEXT_SIZE];
    if (db_scheme_parse(&settings->sync, "scheme", text, valid) != 0)
        return -1;
    db_scheme_format(&settings->sync, back, sizeof back);
    return check_length(back, valid);
}

static void format_sync(const struct db_settings *settings, char text[TEXT_SIZE]) {
    db_scheme_format(&settings->sync, text, TEXT_SIZE);
}

static int parse_share(struct db_settings *settings, const char *text, char valid[TEXT_SIZE]) {
    settings->share = strcmp(text, "verified") == 0;
    if (settings->share || strcmp(text, "never") == 0)
        return 0;
    snprintf(valid, TEXT_SIZE, "valid: verified, never");
    return -1;
}

static void format_share(const struct db_settings *settings, char text[TEXT_SIZE]) {
    snprintf(text, TEXT_SIZE, "%s", settings->share ? "verified" : "never");
}

static int parse_slack(struct db_settings *settings, const char *text, char valid[TEXT_SIZE]) {
    const double low = 1e-9;
    const double high = 3600.0;
    double seconds = 0.0;
    const struct db_slack_type *named = db_registry_find(db_slack_types, text);
    if (named == NULL && parse_number(text, low, high, &seconds, valid) != 0) {
        snprintf(valid, TEXT_SIZE, "valid: ");
        db_registry_names(db_slack_types, valid, TEXT_SIZE);
        size_t length = strlen(valid);
        snprintf(valid + length, TEXT_SIZE - length, ", or seconds from %g to %g", low, high);
        return -1;
    }
    settings->slack = named != NULL ? named : &db_slack_fixed;
    settings->slack_ns = (int64_t)(seconds * 1e9 + 0.5);
    return 0;
}

static void format_slack(const struct db_settings *settings, char text[TEXT_SIZE]) {
    if (settings->slack == &db_slack_fixed)
        snprintf(text, TEXT_SIZE, "%.9g", (double)settings->slack_ns * 1e-9);
    else
        snprintf(text, TEXT_SIZE, "%s", settings->slack->component.described.name);
}

/* A time, or a word: auto, kept as 0, leaves it to the library (settings_auto.c); off, where that makes sense, is
 * infinite. */
static int parse_time(double *ns, const char *text, double low, int can_be_off, char valid[TEXT_SIZE]) {
    const double high = 1e6;
    double seconds = 0.0;
    if (can_be_off && strcmp(text, "off") == 0)
        seconds = INFINITY;
    else if (strcmp(text, "auto") != 0 && parse_number(text, low, high, &seconds, valid) != 0) {
        snprintf(valid, TEXT_SIZE, "valid: auto, %sor seconds from %g to %g", can_be_off ? "off, " : "", low, high);
        return -1;
    }
    *ns = seconds * 1e9;
    return 0;
}

static void format_time(double ns, char text[TEXT_SIZE]) {
    if (ns == 0.0 || isinf(ns))
        snprintf(text, TEXT_SIZE, "%s", ns == 0.0 ? "auto" : "off");
    else
        snprintf(text, TEXT_SIZE, "%.9g", ns * 1e-9);
}

#define TIME_SETTING(NAME, LOW, CAN_BE_OFF)                                                                            \
    static int parse_##NAME(struct db_settings *settings, const char *text, char valid[TEXT_SIZE]) {                   \
        return parse_time(&settings->NAME##_ns, text, LOW, CAN_BE_OFF, valid);                                         \
    }                                                                                                                  \
    static void format_##NAME(const struct db_settings *settings, char text[TEXT_SIZE]) {                              \
        format_time(settings->NAME##_ns, text);                                                                        \
    }

TIME_SETTING(max_age, 1e-6, 0)
TIME_SETTING(target_error, 1e-9, 0)
TIME_SETTING(flag_error, 1e-9, 1)

static int parse_tolerance(struct db_settings *settings, const char *text, char valid[TEXT_SIZE]) {
    double seconds;
    if (parse_number(text, 0.0, 3600.0, &seconds, valid) != 0)
        return -1;
    settings->tolerance_ns = (int64_t)(seconds * 1e9 + 0.5);
    return 0;
}

static void format_tolerance(const struct db_settings *settings, char text[TEXT_SIZE]) {
    snprintf(text, TEXT_SIZE, "%.9g", (double)settings->tolerance_ns * 1e-9);
}

/* The settings that are a plain number. */
#define NUMBER_SETTING(NAME, MEMBER, LOW, HIGH, SCALE)                                                                 \
    static int parse_##NAME(struct db_settings *settings, const char *text, char valid[TEXT_SIZE]) {                   \
        double value;                                                                                                  \
        if (parse_number(text, LOW, HIGH, &value, valid) != 0)                                                         \
            return -1;                                                                                                 \
        settings->MEMBER = value * (SCALE);                                                                            \
        return 0;                                                                                                      \
    }                                                                                                                  \
    static void format_##NAME(const struct db_settings *settings, char text[TEXT_SIZE]) {                              \
        snprintf(text, TEXT_SIZE, "%.9g", settings->MEMBER / (SCALE));                                                 \
    }

NUMBER_SETTING(max_error, max_error_ns, 1e-9, 1e6, 1e9)
NUMBER_SETTING(max_skew, max_skew, 0.0, 0.1, 1.0)
NUMBER_SETTING(max_wander, max_wander, 0.0, 0.1, 1.0)

static int parse_validation(struct db_settings *settings, const char *text, char valid[TEXT_SIZE]) {
    const char *message = db_validation_parse(&settings->validation, text);
    if (message == NULL)
        return 0;
    snprintf(valid, TEXT_SIZE, "valid: %s", message);
    return -1;
}

static void format_validation(const struct db_settings *settings, char text[TEXT_SIZE]) {
    db_validation_format(&settings->validation, text, TEXT_SIZE);
}

static int parse_regions(struct db_settings *settings, const char *text, char valid[TEXT_SIZE]) {
    if (text[0] == '\0' || strlen(text) >= sizeof settings->regions) {
        snprintf(valid, TEXT_SIZE, "valid: off, or the name of a file, at most %zu characters",
                 sizeof settings->regions - 1);
        return -1;
    }
    strcpy(settings->regions, text);
    return check_length(text, valid);
}

static void format_regions(const struct db_settings *settings, char text[TEXT_SIZE]) {
    snprintf(text, TEXT_SIZE, "%s", settings->regions);
}

static const char *const table_names[] = {
    [DB_TABLE_OFF] = "off", [DB_TABLE_STDOUT] = "stdout", [DB_TABLE_STDERR] = "stderr"};

static int parse_regions_table(struct db_settings *settings, const char *text, char valid[TEXT_SIZE]) {
    for (int i = DB_TABLE_OFF; i <= DB_TABLE_STDERR; ++i)
        if (strcmp(text, table_names[i]) == 0) {
            settings->regions_table = i;
            return 0;
        }
    snprintf(valid, TEXT_SIZE, "valid: off, stdout, stderr");
    return -1;
}

static void format_regions_table(const struct db_settings *settings, char text[TEXT_SIZE]) {
    snprintf(text, TEXT_SIZE, "%s", table_names[settings->regions_table]);
}

static const struct setting *find_setting(const char *key);

/* Returns the next of a paper's parameters that is a setting, or one without a name. */
static const Downbeat_parameter *setting_from(const Downbeat_parameter *parameter) {
    while (parameter->name != NULL && strcmp(parameter->kind, DB_PUBLISHED_SETTING) != 0)
        ++parameter;
    return parameter;
}

static void publish(struct db_settings *settings, const struct db_component *paper) {
    char ignored[TEXT_SIZE];
    for (const Downbeat_parameter *p = setting_from(paper->described.parameters); p->name != NULL;
         p = setting_from(p + 1))
        find_setting(p->name)->parse(settings, p->value, ignored);
}

static int parse_published(struct db_settings *settings, const char *text, char valid[TEXT_SIZE]) {
    const struct db_component *paper = db_registry_find(db_published, text);
    if (paper != NULL)
        publish(settings, paper);
    else if (strcmp(text, "off") != 0) {
        snprintf(valid, TEXT_SIZE, "valid: off, ");
        db_registry_names(db_published, valid, TEXT_SIZE);
        return -1;
    }
    return 0;
}

static int is_published(const struct db_settings *settings, const struct db_component *paper) {
    struct db_settings theirs = *settings;
    char own[TEXT_SIZE];
    char text[TEXT_SIZE];
    publish(&theirs, paper);
    for (const Downbeat_parameter *p = setting_from(paper->described.parameters); p->name != NULL;
         p = setting_from(p + 1)) {
        find_setting(p->name)->format(settings, own);
        find_setting(p->name)->format(&theirs, text);
        if (strcmp(own, text) != 0)
            return 0;
    }
    return 1;
}

/* Nothing is kept: the paper whose settings are in force, whoever set them. */
static void format_published(const struct db_settings *settings, char text[TEXT_SIZE]) {
    const void *const *paper = db_published;
    while (*paper != NULL && !is_published(settings, *paper))
        ++paper;
    snprintf(text, TEXT_SIZE, "%s", *paper == NULL ? "off" : ((const struct db_component *)*paper)->described.name);
}

#define SETTING(NAME)                                                                                                  \
    { .key = #NAME, .parse = parse_##NAME, .format = format_##NAME }

static const struct setting setting_clock = SETTING(clock);
static const struct setting setting_sync = SETTING(sync);
static const struct setting setting_share = SETTING(share);
static const struct setting setting_slack = SETTING(slack);
static const struct setting setting_tolerance = SETTING(tolerance);
static const struct setting setting_max_age = SETTING(max_age);
static const struct setting setting_max_error = SETTING(max_error);
static const struct setting setting_target_error = SETTING(target_error);
static const struct setting setting_flag_error = SETTING(flag_error);
static const struct setting setting_max_skew = SETTING(max_skew);
static const struct setting setting_max_wander = SETTING(max_wander);
static const struct setting setting_validation = SETTING(validation);
static const struct setting setting_regions = SETTING(regions);
static const struct setting setting_regions_table = SETTING(regions_table);
static const struct setting setting_published = SETTING(published);

static const void *const settings_registry[] = {
    &setting_clock,      &setting_sync,          &setting_share,      &setting_slack,
    &setting_tolerance,  &setting_max_age,       &setting_max_error,  &setting_target_error,
    &setting_flag_error, &setting_max_skew,      &setting_max_wander, &setting_validation,
    &setting_regions,    &setting_regions_table, &setting_published,  NULL,
};

static const struct setting *find_setting(const char *key) { return db_registry_find(settings_registry, key); }

static void list_keys(char text[TEXT_SIZE]) {
    text[0] = '\0';
    db_registry_names(settings_registry, text, TEXT_SIZE);
}

/* "DOWNBEAT_MAX_AGE" is key "max_age". */
static void key_of_variable(const char *variable, char key[TEXT_SIZE]) {
    const char *name = variable + strlen(PREFIX);
    size_t length = 0;
    for (; *name != '\0' && *name != '=' && length < TEXT_SIZE - 1; ++name)
        key[length++] = isupper((unsigned char)*name) || *name == '_' || isdigit((unsigned char)*name)
                            ? (char)tolower((unsigned char)*name)
                            : '?';
    key[length] = '\0';
}

static int has_prefix(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

int db_settings_from_environment(struct db_settings *settings, struct db_reason *reason) {
    *settings = (struct db_settings){
        .clock = NULL,
        .share = 1,
        .slack = &db_slack_auto,
        .slack_ns = 0,
        .tolerance_ns = 500,
        .max_age_ns = 0.0,
        .max_error_ns = 5e3,
        .target_error_ns = 0.0,
        .flag_error_ns = 0.0,
        .max_skew = 650e-6,   /* two oscillators of +-300 ppm (Hoefler 2008, section 2.2), and some */
        .max_wander = 0.2e-6, /* what is not slow: DB_MAX_RAMP comes on top */
        .regions = DB_REGIONS_DEFAULT,
        .regions_table = DB_TABLE_OFF,
    };
    db_validation_parse(&settings->validation, "off");
    char ignored[DOWNBEAT_MAX_MESSAGE];
    db_scheme_parse(&settings->sync, "scheme", "disciplined", ignored);

    char key[TEXT_SIZE];
    char valid[TEXT_SIZE];
    /* A paper's settings first: others change them, whatever their order. */
    const char *paper = getenv(PREFIX "PUBLISHED");
    if (paper != NULL && parse_published(settings, paper, valid) != 0)
        return db_explain(reason, MPI_ERR_ARG, "environment variable " PREFIX "PUBLISHED=%s is not valid; %s", paper,
                          valid);
    for (char **variable = environ; variable != NULL && *variable != NULL; ++variable) {
        if (!has_prefix(*variable, PREFIX) || has_prefix(*variable, PRELOAD_PREFIX) ||
            has_prefix(*variable, PYTHON_VARIABLE))
            continue;
        const char *value = strchr(*variable, '=');
        if (value == NULL)
            continue;
        int name_length = (int)(value - *variable);
        key_of_variable(*variable, key);
        const struct setting *setting = db_registry_find(settings_registry, key);
        if (setting == NULL) {
            list_keys(valid);
            return db_explain(reason, MPI_ERR_ARG,
                              "environment variable %.*s is unknown; valid names: " PREFIX
                              " followed by one of %s, in capitals",
                              name_length, *variable, valid);
        }
        if (setting != &setting_published && setting->parse(settings, value + 1, valid) != 0)
            return db_explain(reason, MPI_ERR_ARG, "environment variable %s is not valid; %s", *variable, valid);
    }
    return MPI_SUCCESS;
}

int db_settings_from_info(struct db_settings *settings, MPI_Info info, struct db_reason *reason) {
    struct db_settings changed = *settings;
    if (info == MPI_INFO_NULL)
        return MPI_SUCCESS;

    int count;
    int papers = 0;
    char paper[TEXT_SIZE];
    char ignored[TEXT_SIZE];
    DB_TRY(MPI_Info_get_nkeys(info, &count));
    DB_TRY(MPI_Info_get(info, "published", TEXT_SIZE - 1, paper, &papers)); /* first, as above; refused below */
    if (papers)
        parse_published(&changed, paper, ignored);
    for (int i = 0; i < count; ++i) {
        char key[MPI_MAX_INFO_KEY + 1];
        char value[TEXT_SIZE];
        char valid[TEXT_SIZE];
        int length;
        int found;
        DB_TRY(MPI_Info_get_nthkey(info, i, key));
        DB_TRY(MPI_Info_get_valuelen(info, key, &length, &found));
        const struct setting *setting = db_registry_find(settings_registry, key);
        if (setting == NULL) {
            list_keys(valid);
            return db_explain(reason, MPI_ERR_INFO_KEY, "info key '%s' is unknown; valid: %s", key, valid);
        }
        if (length >= TEXT_SIZE) /* MPI_Info_get would cut it off */
            return db_explain(reason, MPI_ERR_INFO_VALUE,
                              "info key %s: the value is too long; valid: at most %d characters", key, TEXT_SIZE - 1);
        DB_TRY(MPI_Info_get(info, key, TEXT_SIZE - 1, value, &found));
        struct db_settings other = changed;
        if (setting->parse(setting == &setting_published ? &other : &changed, value, valid) != 0)
            return db_explain(reason, MPI_ERR_INFO_VALUE, "info key %s cannot be '%s'; %s", key, value, valid);
    }
    *settings = changed;
    return MPI_SUCCESS;
}

/* Of regions, process 0's settings count. */
static int is_everywhere(const struct setting *setting) {
    return setting != &setting_regions && setting != &setting_regions_table;
}

static void format(const struct setting *setting, const struct db_settings *settings, char text[TEXT_SIZE]) {
    if (setting == &setting_clock && settings->clock == NULL)
        snprintf(text, TEXT_SIZE, "default");
    else
        setting->format(settings, text);
}

static int64_t hash(const struct db_settings *settings) {
    uint64_t value = DB_HASH;
    char text[TEXT_SIZE];
    for (const void *const *entry = settings_registry; *entry != NULL; ++entry) {
        if (!is_everywhere(*entry))
            continue;
        format(*entry, settings, text);
        value = db_hash(value, text);
    }
    return (int64_t)value;
}

/* Collective, where settings differ: finds the first that is not process 0's. */
static int name_difference(MPI_Comm comm, const struct db_settings *settings) {
    struct db_reason reason = {""};
    int rank;
    int code = MPI_SUCCESS;
    DB_TRY(MPI_Comm_rank(comm, &rank));
    for (const void *const *entry = settings_registry; *entry != NULL; ++entry) {
        const struct setting *setting = *entry;
        char own[TEXT_SIZE];
        char theirs[TEXT_SIZE];
        if (!is_everywhere(setting))
            continue;
        format(setting, settings, own);
        strcpy(theirs, own);
        DB_TRY(MPI_Bcast(theirs, TEXT_SIZE, MPI_CHAR, 0, comm));
        if (code == MPI_SUCCESS && strcmp(own, theirs) != 0)
            code = db_explain(&reason, MPI_ERR_ARG,
                              "setting %s is '%.200s' on rank %d and '%.200s' on rank 0; give all ranks the same",
                              setting->key, own, rank, theirs);
    }
    return db_agree_on_error(comm, code, &reason);
}

int db_settings_agree(MPI_Comm comm, struct db_offer *offer, int code, const struct db_reason *reason) {
    struct {
        struct db_alike settings;
        struct db_alike domain;
        struct db_alike identity;
        int64_t failed;
    } most = {db_alike(hash(&offer->settings)), offer->domain, offer->identity, code != MPI_SUCCESS};
    DB_TRY(db_allreduce(comm, &most, sizeof most / sizeof(int64_t), MPI_INT64_T, MPI_MAX));
    offer->domain = most.domain;
    offer->identity = most.identity;
    if (most.failed)
        return db_agree_on_error(comm, code, reason);
    return db_are_alike(&most.settings) ? MPI_SUCCESS : name_difference(comm, &offer->settings);
}

int db_settings_to_info(const struct db_settings *settings, MPI_Info *info) {
    DB_TRY(MPI_Info_create(info));
    for (const void *const *entry = settings_registry; *entry != NULL; ++entry) {
        const struct setting *setting = *entry;
        char text[TEXT_SIZE];
        setting->format(settings, text);
        int code = MPI_Info_set(*info, setting->key, text);
        if (code != MPI_SUCCESS) {
            MPI_Info_free(info);
            return code;
        }
    }
    return MPI_SUCCESS;
}
