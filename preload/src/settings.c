/* Reading of the environment variables DOWNBEAT_PRELOAD_* (settings.h). */
#define _GNU_SOURCE
#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

#define PREFIX "DOWNBEAT_PRELOAD_"
#define VALID_SIZE 256

/* A variable without its prefix. `parse` returns 0, or -1 with the valid values in `valid`. */
struct setting {
    const char *name;
    int (*parse)(struct settings *settings, const char *text, char valid[VALID_SIZE]);
};

static int parse_mode(struct settings *settings, const char *text, char valid[VALID_SIZE]) {
    settings->record = strcmp(text, "record") == 0;
    settings->harmonize = strcmp(text, "harmonize") == 0;
    if (strcmp(text, "record,harmonize") == 0 || strcmp(text, "harmonize,record") == 0)
        settings->record = settings->harmonize = 1;
    if (settings->record || settings->harmonize)
        return 0;
    snprintf(valid, VALID_SIZE, "record, harmonize, or record,harmonize");
    return -1;
}

static int parse_dir(struct settings *settings, const char *text, char valid[VALID_SIZE]) {
    size_t max_length = sizeof settings->directory - 1;
    if (text[0] == '\0' || strlen(text) > max_length) {
        snprintf(valid, VALID_SIZE, "the name of a directory, at most %zu characters", max_length);
        return -1;
    }
    strcpy(settings->directory, text);
    return 0;
}

static int parse_integer(const char *text, long long low, int64_t *value, char valid[VALID_SIZE]) {
    const long long high = 4000000000LL;
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 && number >= low && number <= high) {
        *value = number;
        return 0;
    }
    snprintf(valid, VALID_SIZE, "a whole number from %lld to %lld", low, high);
    return -1;
}

static int parse_records(struct settings *settings, const char *text, char valid[VALID_SIZE]) {
    return parse_integer(text, 1, &settings->records, valid);
}

static int parse_skip(struct settings *settings, const char *text, char valid[VALID_SIZE]) {
    return parse_integer(text, 0, &settings->skip, valid);
}

static int parse_sync_every(struct settings *settings, const char *text, char valid[VALID_SIZE]) {
    const double low = 1e-3;
    const double high = 1e6;
    char *end;
    settings->sync_every = 0.0;
    if (strcmp(text, "off") == 0)
        return 0;
    double seconds = strtod(text, &end);
    if (end != text && *end == '\0' && seconds >= low && seconds <= high) {
        settings->sync_every = seconds;
        return 0;
    }
    snprintf(valid, VALID_SIZE, "off, or seconds from %g to %g", low, high);
    return -1;
}

static int parse_callers(struct settings *settings, const char *text, char valid[VALID_SIZE]) {
    settings->any_caller = strcmp(text, "all") == 0;
    if (settings->any_caller || strcmp(text, "executable") == 0)
        return 0;
    snprintf(valid, VALID_SIZE, "executable, all");
    return -1;
}

static int parse_ranks(struct settings *settings, const char *text, char valid[VALID_SIZE]) {
    settings->all_ranks = strcmp(text, "all") == 0;
    if (settings->all_ranks || strcmp(text, "check") == 0)
        return 0;
    snprintf(valid, VALID_SIZE, "all, check");
    return -1;
}

/* Accepts any text: presence.c reads the name of the launch from the environment. */
static int parse_launch(struct settings *settings, const char *text, char valid[VALID_SIZE]) {
    (void)settings;
    snprintf(valid, VALID_SIZE, "any text");
    return text[0] != '\0' ? 0 : -1;
}

static const struct setting settings_list[] = {
    {"MODE", parse_mode},       {"DIR", parse_dir},   {"RECORDS", parse_records}, {"SYNC_EVERY", parse_sync_every},
    {"CALLERS", parse_callers}, {"SKIP", parse_skip}, {"RANKS", parse_ranks},     {"LAUNCH", parse_launch},
};
enum { SETTINGS_COUNT = sizeof settings_list / sizeof settings_list[0] };

static const struct setting *find_setting(const char *name, size_t length) {
    for (int i = 0; i < SETTINGS_COUNT; ++i)
        if (strlen(settings_list[i].name) == length && strncmp(settings_list[i].name, name, length) == 0)
            return &settings_list[i];
    return NULL;
}

/* Reads a variable with the prefix. Returns 0, or -1 with the problem. */
static int read_setting(struct settings *settings, const char *variable, char problem[SETTINGS_PROBLEM_SIZE]) {
    const char *value = strchr(variable, '=');
    char valid[VALID_SIZE] = "";
    const char *name = variable + strlen(PREFIX);
    const struct setting *setting = find_setting(name, (size_t)(value - name));
    if (setting == NULL) {
        for (int i = 0; i < SETTINGS_COUNT; ++i) {
            size_t length = strlen(valid);
            snprintf(valid + length, sizeof valid - length, "%s%s", i == 0 ? "" : ", ", settings_list[i].name);
        }
        snprintf(problem, SETTINGS_PROBLEM_SIZE,
                 "environment variable %.*s is unknown; valid names: " PREFIX " followed by one of %s",
                 (int)(value - variable), variable, valid);
        return -1;
    }
    if (setting->parse(settings, value + 1, valid) == 0)
        return 0;
    snprintf(problem, SETTINGS_PROBLEM_SIZE, "environment variable %.256s is not valid; valid: %s", variable, valid);
    return -1;
}

int settings_read(struct settings *settings, char problem[SETTINGS_PROBLEM_SIZE]) {
    char ignored[SETTINGS_PROBLEM_SIZE];
    int code = 0;
    *settings = (struct settings){.record = 1, .records = 1000000, .directory = "downbeat-trace"};
    for (char **variable = environ; variable != NULL && *variable != NULL; ++variable)
        if (strncmp(*variable, PREFIX, strlen(PREFIX)) == 0 && strchr(*variable, '=') != NULL)
            code |= read_setting(settings, *variable, code == 0 ? problem : ignored);
    return code;
}
