/* The table of settings (settings.h): how each key is parsed and formatted, and reading them from the environment and
 * from MPI_Info. */
#define _GNU_SOURCE
#include "start/settings.h"

#include "base/patience.h"
#include "base/registry.h"
#include "fnv1a.h"
#include "start/published.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

/* Prefixes of environment variables. Variables with the other three are not settings of this library. */
#define PREFIX "DOWNBEAT_"
#define PRELOAD_PREFIX "DOWNBEAT_PRELOAD_" /* libdownbeat-preload checks its settings itself */
#define MPI_PREFIX "DOWNBEAT_MPI_" /* variables of the wheel's downbeat-bench (packaging/wheel/downbeat-bench.c) */
#define PYTHON_VARIABLE "DOWNBEAT_LIBRARY=" /* path of this library, for downbeat.mpi */
#define TEXT_SIZE DOWNBEAT_MAX_MESSAGE

/* A setting: its key, and how to parse and format a member of struct db_settings. `parse` returns 0, or -1 with a text
 * in `valid`: the valid values, after the problem if it is not obvious. */
struct setting {
    const char *key;
    int (*parse)(const struct setting *self, void *member, const char *text, char *valid);
    void (*format)(const struct setting *self, const void *member, char *text);
    size_t offset; /* of the member in struct db_settings; 0 in slack and published: `member` is the struct */
    double scale;  /* numbers: the member is the number of the text times `scale` */
    double low;    /* numbers: smallest and largest valid number in the text */
    double high;
    const char *const *words; /* valid words, NULL-terminated; the member is the index of the word */
    int applied_first; /* 1: this key sets several settings that other keys may override, so it is applied before other
                          keys */
};

#define SECONDS 1e9 /* scale of times: the text has seconds, the member ns */

static int parse_setting(const struct setting *self, struct db_settings *settings, const char *text, char *valid) {
    return self->parse(self, (char *)settings + self->offset, text, valid);
}

static void format_setting(const struct setting *self, const struct db_settings *settings, char *text) {
    self->format(self, (const char *)settings + self->offset, text);
}

/* Finds an entry of a registry by name; NULL if unknown, with the valid names in `valid`. */
static const void *parse_name(const void *const *registry, const char *text, char *valid) {
    const void *entry = db_registry_find(registry, text);
    snprintf(valid, TEXT_SIZE, "valid: ");
    db_registry_names(registry, valid, TEXT_SIZE);
    return entry;
}

static int parse_number(const struct setting *self, void *member, const char *text, char *valid) {
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0 || !(number >= self->low && number <= self->high)) {
        snprintf(valid, TEXT_SIZE, "valid: a number from %g to %g", self->low, self->high);
        return -1;
    }
    *(double *)member = number * self->scale;
    return 0;
}

static void format_number(const struct setting *self, const void *member, char *text) {
    snprintf(text, TEXT_SIZE, "%.9g", *(const double *)member / self->scale);
}

/* Parses seconds, stored as int64_t ns. */
static int parse_ns(const struct setting *self, void *member, const char *text, char *valid) {
    double ns;
    if (parse_number(self, &ns, text, valid) != 0)
        return -1;
    *(int64_t *)member = (int64_t)(ns + 0.5);
    return 0;
}

static void format_ns(const struct setting *self, const void *member, char *text) {
    snprintf(text, TEXT_SIZE, "%.9g", (double)*(const int64_t *)member / self->scale);
}

static int parse_tolerance(const struct setting *self, void *member, const char *text, char *valid) {
    if (strcmp(text, "auto") == 0)
        *(int64_t *)member = DB_TOLERANCE_AUTO;
    else if (parse_ns(self, member, text, valid) != 0) {
        snprintf(valid, TEXT_SIZE, "valid: auto, or seconds from %g to %g", self->low, self->high);
        return -1;
    }
    return 0;
}

static void format_tolerance(const struct setting *self, const void *member, char *text) {
    if (*(const int64_t *)member == DB_TOLERANCE_AUTO)
        snprintf(text, TEXT_SIZE, "auto");
    else
        format_ns(self, member, text);
}

/* Parses a time or a word: `auto`, stored as 0, is the library's choice (settings_auto.c); `off`, if the setting allows
 * it, is stored as infinity. */
static int parse_time(const struct setting *self, void *member, const char *text, char *valid) {
    int can_be_off = self->words != NULL;
    double *ns = member;
    if (strcmp(text, "auto") == 0)
        *ns = 0.0;
    else if (can_be_off && strcmp(text, "off") == 0)
        *ns = INFINITY;
    else if (parse_number(self, ns, text, valid) != 0) {
        snprintf(valid, TEXT_SIZE, "valid: auto, %sor seconds from %g to %g", can_be_off ? "off, " : "", self->low,
                 self->high);
        return -1;
    }
    return 0;
}

static void format_time(const struct setting *self, const void *member, char *text) {
    double ns = *(const double *)member;
    if (ns == 0.0 || isinf(ns))
        snprintf(text, TEXT_SIZE, "%s", ns == 0.0 ? "auto" : "off");
    else
        format_number(self, member, text);
}

static int parse_word(const struct setting *self, void *member, const char *text, char *valid) {
    size_t length = (size_t)snprintf(valid, TEXT_SIZE, "valid: ");
    for (int i = 0; self->words[i] != NULL; ++i) {
        if (strcmp(text, self->words[i]) == 0) {
            *(int *)member = i;
            return 0;
        }
        length += (size_t)snprintf(valid + length, TEXT_SIZE - length, "%s%s", i > 0 ? ", " : "", self->words[i]);
    }
    return -1;
}

static void format_word(const struct setting *self, const void *member, char *text) {
    snprintf(text, TEXT_SIZE, "%s", self->words[*(const int *)member]);
}

static int parse_clock(const struct setting *self, void *member, const char *text, char *valid) {
    const struct db_clock_type **clock = member;
    (void)self;
    *clock = parse_name(db_clock_types, text, valid);
    return *clock != NULL ? 0 : -1;
}

static void format_clock(const struct setting *self, const void *member, char *text) {
    const struct db_clock_type *clock = *(const struct db_clock_type *const *)member;
    (void)self;
    snprintf(text, TEXT_SIZE, "%s", clock != NULL ? clock->component.described.name : "default");
}

/* Refuses a value that MPIX_Harmonize_get_info could not return. */
static int check_length(const char *text, char *valid) {
    if (strlen(text) < MPI_MAX_INFO_VAL)
        return 0;
    snprintf(valid, TEXT_SIZE, "valid: at most %d characters, the limit for info values in this MPI library",
             MPI_MAX_INFO_VAL - 1);
    return -1;
}

static void format_sync(const struct setting *self, const void *member, char *text) {
    (void)self;
    db_scheme_format(member, text, TEXT_SIZE);
}

static int parse_sync(const struct setting *self, void *member, const char *text, char *valid) {
    char formatted[TEXT_SIZE];
    if (db_scheme_parse(member, "scheme", text, valid) != 0)
        return -1;
    format_sync(self, member, formatted);
    return check_length(formatted, valid);
}

static int parse_slack(const struct setting *self, void *member, const char *text, char *valid) {
    struct db_settings *settings = member;
    const struct db_slack_type *named = parse_name(db_slack_types, text, valid);
    char ignored[TEXT_SIZE];
    settings->slack_ns = 0;
    if (named == NULL && parse_ns(self, &settings->slack_ns, text, ignored) != 0) {
        size_t length = strlen(valid);
        snprintf(valid + length, TEXT_SIZE - length, ", or seconds from %g to %g", self->low, self->high);
        return -1;
    }
    settings->slack = named != NULL ? named : &db_slack_fixed;
    return 0;
}

static void format_slack(const struct setting *self, const void *member, char *text) {
    const struct db_settings *settings = member;
    if (settings->slack == &db_slack_fixed)
        format_ns(self, &settings->slack_ns, text);
    else
        snprintf(text, TEXT_SIZE, "%s", settings->slack->component.described.name);
}

static int parse_validation(const struct setting *self, void *member, const char *text, char *valid) {
    const char *message = db_validation_parse(member, text);
    (void)self;
    if (message != NULL)
        snprintf(valid, TEXT_SIZE, "valid: %s", message);
    return message == NULL ? 0 : -1;
}

static void format_validation(const struct setting *self, const void *member, char *text) {
    (void)self;
    db_validation_format(member, text, TEXT_SIZE);
}

static const struct setting *find_setting(const char *key);

/* Returns the first parameter of a configuration that is a setting, from `parameter` on; at the end of the list, the
 * parameter without a name. */
static const Downbeat_parameter *next_setting(const Downbeat_parameter *parameter) {
    while (parameter->name != NULL && strcmp(parameter->kind, DB_PUBLISHED_SETTING) != 0)
        ++parameter;
    return parameter;
}

/* Applies the settings of a paper's configuration (published.h). */
static void apply_paper(struct db_settings *settings, const struct db_component *paper) {
    char ignored[TEXT_SIZE];
    for (const Downbeat_parameter *p = next_setting(paper->described.parameters); p->name != NULL;
         p = next_setting(p + 1))
        parse_setting(find_setting(p->name), settings, p->value, ignored);
}

static int parse_published(const struct setting *self, void *member, const char *text, char *valid) {
    const struct db_component *paper = db_registry_find(db_published, text);
    (void)self;
    if (paper != NULL)
        apply_paper(member, paper);
    else if (strcmp(text, "off") != 0) {
        snprintf(valid, TEXT_SIZE, "valid: off, ");
        db_registry_names(db_published, valid, TEXT_SIZE);
        return -1;
    }
    return 0;
}

/* Returns 1 if all settings of a paper's configuration are in force. */
static int is_published(const struct db_settings *settings, const struct db_component *paper) {
    struct db_settings published = *settings;
    char current[TEXT_SIZE];
    char expected[TEXT_SIZE];
    apply_paper(&published, paper);
    for (const Downbeat_parameter *p = next_setting(paper->described.parameters); p->name != NULL;
         p = next_setting(p + 1)) {
        format_setting(find_setting(p->name), settings, current);
        format_setting(find_setting(p->name), &published, expected);
        if (strcmp(current, expected) != 0)
            return 0;
    }
    return 1;
}

/* Formats the name of the paper whose settings are all in force, else "off". The setting has no member of its own. */
static void format_published(const struct setting *self, const void *member, char *text) {
    const void *const *paper = db_published;
    (void)self;
    while (*paper != NULL && !is_published(member, *paper))
        ++paper;
    snprintf(text, TEXT_SIZE, "%s", *paper == NULL ? "off" : ((const struct db_component *)*paper)->described.name);
}

#define SETTING(NAME, KIND, ...)                                                                                       \
    &(const struct setting) { .key = #NAME, .parse = parse_##KIND, .format = format_##KIND, __VA_ARGS__ }
#define MEMBER(NAME) .offset = offsetof(struct db_settings, NAME)

static const char *const off[] = {"off", NULL};
static const char *const share_words[] = {"never", "verified", NULL};
static const char *const transport_words[] = {"auto", "messages", "shared", "nodes", NULL};

static const void *const settings_registry[] = {
    SETTING(clock, clock, MEMBER(clock)),
    SETTING(sync, sync, MEMBER(sync)),
    SETTING(share, word, MEMBER(share), .words = share_words),
    SETTING(transport, word, MEMBER(transport), .words = transport_words),
    SETTING(slack, slack, .scale = SECONDS, .low = 1e-9, .high = 3600.0),
    SETTING(tolerance, tolerance, MEMBER(tolerance_ns), .scale = SECONDS, .high = 3600.0),
    SETTING(max_age, time, MEMBER(max_age_ns), .scale = SECONDS, .low = 1e-6, .high = 1e6),
    SETTING(max_error, number, MEMBER(max_error_ns), .scale = SECONDS, .low = 1e-9, .high = 1e6),
    SETTING(target_error, time, MEMBER(target_error_ns), .scale = SECONDS, .low = 1e-9, .high = 1e6),
    SETTING(flag_error, time, MEMBER(flag_error_ns), .scale = SECONDS, .low = 1e-9, .high = 1e6, .words = off),
    SETTING(max_skew, number, MEMBER(max_skew), .scale = 1.0, .high = 0.1),
    SETTING(max_wander, number, MEMBER(max_wander), .scale = 1.0, .high = 0.1),
    SETTING(validation, validation, MEMBER(validation)),
    SETTING(published, published, .offset = 0, .applied_first = 1),
    NULL,
};

static const struct setting *find_setting(const char *key) { return db_registry_find(settings_registry, key); }

/* Writes the keys of all settings, for error messages. */
static void list_keys(char text[TEXT_SIZE]) {
    text[0] = '\0';
    db_registry_names(settings_registry, text, TEXT_SIZE);
}

/* Sets `key` to the key of a variable: "max_age" for "DOWNBEAT_MAX_AGE". A lowercase letter becomes "?", which no key
 * has. */
static void key_of_variable(const char *variable, char key[TEXT_SIZE]) {
    const char *name = variable + strlen(PREFIX);
    size_t length = 0;
    for (; *name != '\0' && *name != '=' && length < TEXT_SIZE - 1; ++name)
        key[length++] = isupper((unsigned char)*name) || *name == '_' || isdigit((unsigned char)*name)
                            ? (char)tolower((unsigned char)*name)
                            : '?';
    key[length] = '\0';
}

/* True if a text begins with a prefix. */
static int has_prefix(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

/* Reads the variables of the settings whose `applied_first` is `first`. */
static int read_variables(struct db_settings *settings, int first, struct db_reason *reason) {
    char key[TEXT_SIZE];
    char valid[TEXT_SIZE];
    for (char **variable = environ; variable != NULL && *variable != NULL; ++variable) {
        if (!has_prefix(*variable, PREFIX) || has_prefix(*variable, PRELOAD_PREFIX) ||
            has_prefix(*variable, MPI_PREFIX) || has_prefix(*variable, PYTHON_VARIABLE))
            continue;
        const char *value = strchr(*variable, '=');
        if (value == NULL)
            continue;
        int name_length = (int)(value - *variable);
        key_of_variable(*variable, key);
        const struct setting *setting = find_setting(key);
        if (setting == NULL) {
            list_keys(valid);
            return db_explain(reason, MPI_ERR_ARG,
                              "environment variable %.*s is unknown; valid names: " PREFIX
                              " followed by one of %s, in capitals",
                              name_length, *variable, valid);
        }
        if (setting->applied_first == first && parse_setting(setting, settings, value + 1, valid) != 0)
            return db_explain(reason, MPI_ERR_ARG, "environment variable %s is not valid; %s", *variable, valid);
    }
    return MPI_SUCCESS;
}

int db_settings_from_environment(struct db_settings *settings, struct db_reason *reason) {
    *settings = (struct db_settings){
        .clock = NULL,
        .share = 1,
        .slack = &db_slack_auto,
        .slack_ns = 0,
        .tolerance_ns = DB_DEFAULT_TOLERANCE_NS,
        .max_age_ns = 0.0,
        .max_error_ns = 5e3,
        .target_error_ns = 0.0,
        .flag_error_ns = 0.0,
        .max_skew = 650e-6,   /* two oscillators of +-300 ppm (Hoefler 2008, section 2.2), and a margin */
        .max_wander = 0.2e-6, /* abrupt changes; DB_MAX_RAMP is added for slow ones */
    };
    db_validation_parse(&settings->validation, "off");
    char ignored[DOWNBEAT_MAX_MESSAGE];
    db_scheme_parse(&settings->sync, "scheme", "disciplined", ignored);

    int code = read_variables(settings, 1, reason);
    return code == MPI_SUCCESS ? read_variables(settings, 0, reason) : code;
}

int db_settings_from_info(struct db_settings *settings, MPI_Info info, struct db_reason *reason) {
    struct db_settings changed = *settings;
    if (info == MPI_INFO_NULL)
        return MPI_SUCCESS;

    int count;
    DB_TRY(MPI_Info_get_nkeys(info, &count));
    for (int i = 0; i < 2 * count; ++i) { /* twice: first the keys with applied_first, then the other keys */
        char key[MPI_MAX_INFO_KEY + 1];
        char value[TEXT_SIZE];
        char valid[TEXT_SIZE];
        int length;
        int exists;
        DB_TRY(MPI_Info_get_nthkey(info, i % count, key));
        DB_TRY(MPI_Info_get_valuelen(info, key, &length, &exists));
        const struct setting *setting = find_setting(key);
        if (setting == NULL) {
            list_keys(valid);
            return db_explain(reason, MPI_ERR_INFO_KEY, "info key '%s' is unknown; valid: %s", key, valid);
        }
        if (setting->applied_first != (i < count))
            continue;
        if (length >= TEXT_SIZE) /* MPI_Info_get would truncate it */
            return db_explain(reason, MPI_ERR_INFO_VALUE,
                              "info key %s: the value is too long; valid: at most %d characters", key, TEXT_SIZE - 1);
        DB_TRY(MPI_Info_get(info, key, TEXT_SIZE - 1, value, &exists));
        if (parse_setting(setting, &changed, value, valid) != 0)
            return db_explain(reason, MPI_ERR_INFO_VALUE, "info key %s cannot be '%s'; %s", key, value, valid);
    }
    *settings = changed;
    return MPI_SUCCESS;
}

static int64_t hash_settings(const struct db_settings *settings) {
    uint64_t value = FNV1A_START;
    char text[TEXT_SIZE];
    for (const void *const *entry = settings_registry; *entry != NULL; ++entry) {
        format_setting(*entry, settings, text);
        value = fnv1a_text(value, text);
    }
    return (int64_t)value;
}

/* Settings differ between processes: prints the first setting that differs from process 0's. Collective. */
static int name_difference(MPI_Comm comm, const struct db_settings *settings) {
    struct db_reason reason = {""};
    int rank;
    int code = MPI_SUCCESS;
    DB_TRY(MPI_Comm_rank(comm, &rank));
    for (const void *const *entry = settings_registry; *entry != NULL; ++entry) {
        const struct setting *setting = *entry;
        char local[TEXT_SIZE];
        char root[TEXT_SIZE];
        format_setting(setting, settings, local);
        strcpy(root, local);
        DB_TRY(MPI_Bcast(root, TEXT_SIZE, MPI_CHAR, 0, comm));
        if (code == MPI_SUCCESS && strcmp(local, root) != 0)
            code = db_explain(&reason, MPI_ERR_ARG,
                              "setting %s is '%.200s' on rank %d and '%.200s' on rank 0; give all ranks the same",
                              setting->key, local, rank, root);
    }
    return db_agree_on_error(comm, code, &reason);
}

int db_settings_agree(MPI_Comm comm, struct db_offer *offer, int code, const struct db_reason *reason) {
    struct {
        struct db_alike settings;
        struct db_alike domain;
        struct db_alike identity;
        int64_t failed;
    } maxima = {db_alike(hash_settings(&offer->settings)), offer->domain, offer->identity, code != MPI_SUCCESS};
    DB_TRY(db_allreduce(comm, &maxima, sizeof maxima / sizeof(int64_t), MPI_INT64_T, MPI_MAX));
    offer->domain = maxima.domain;
    offer->identity = maxima.identity;
    if (maxima.failed)
        return db_agree_on_error(comm, code, reason);
    return db_are_alike(&maxima.settings) ? MPI_SUCCESS : name_difference(comm, &offer->settings);
}

int db_settings_to_info(const struct db_settings *settings, MPI_Info *info) {
    DB_TRY(MPI_Info_create(info));
    for (const void *const *entry = settings_registry; *entry != NULL; ++entry) {
        const struct setting *setting = *entry;
        char text[TEXT_SIZE];
        format_setting(setting, settings, text);
        int code = MPI_Info_set(*info, setting->key, text);
        if (code != MPI_SUCCESS) {
            MPI_Info_free(info);
            return code;
        }
    }
    return MPI_SUCCESS;
}
