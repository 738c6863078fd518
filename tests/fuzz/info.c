/* Info objects: each line of the input is a key and its value, KEY=value. Accepted settings must read back as written,
 * refused ones must change nothing. The info object is the test's own: MPI is not initialized here. */
#define _GNU_SOURCE
#include "start/settings.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_KEYS 64
#define MOST_TEXT 8192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct entry {
    char key[MPI_MAX_INFO_KEY + 1];
    char value[MPI_MAX_INFO_VAL + 1];
};

struct object {
    int count;
    struct entry entries[MOST_KEYS];
};

static struct object given;
static struct object written;
static struct object *current; /* that every handle stands for */

static struct entry *find(const char *key) {
    for (int i = 0; i < current->count; ++i)
        if (strcmp(current->entries[i].key, key) == 0)
            return &current->entries[i];
    return NULL;
}

int MPI_Info_create(MPI_Info *info) {
    *info = MPI_INFO_ENV;
    written.count = 0;
    current = &written;
    return MPI_SUCCESS;
}

int MPI_Info_free(MPI_Info *info) {
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

int MPI_Info_set(MPI_Info info, const char *key, const char *value) {
    (void)info;
    struct entry *entry = find(key);
    if (strlen(key) > MPI_MAX_INFO_KEY || strlen(value) > MPI_MAX_INFO_VAL)
        return MPI_ERR_INFO_VALUE;
    if (entry == NULL && current->count == MOST_KEYS)
        return MPI_ERR_NO_MEM;
    if (entry == NULL)
        entry = &current->entries[current->count++];
    strcpy(entry->key, key);
    strcpy(entry->value, value);
    return MPI_SUCCESS;
}

int MPI_Info_get_nkeys(MPI_Info info, int *count) {
    (void)info;
    *count = current->count;
    return MPI_SUCCESS;
}

int MPI_Info_get_nthkey(MPI_Info info, int n, char *key) {
    (void)info;
    strcpy(key, current->entries[n].key);
    return MPI_SUCCESS;
}

int MPI_Info_get_valuelen(MPI_Info info, const char *key, int *length, int *found) {
    (void)info;
    const struct entry *entry = find(key);
    *found = entry != NULL;
    if (entry != NULL)
        *length = (int)strlen(entry->value);
    return MPI_SUCCESS;
}

int MPI_Info_get(MPI_Info info, const char *key, int most, char *value, int *found) {
    (void)info;
    const struct entry *entry = find(key);
    *found = entry != NULL;
    if (entry != NULL)
        snprintf(value, (size_t)most + 1, "%s", entry->value);
    return MPI_SUCCESS;
}

static void need(int condition, const char *what, const char *text) {
    if (!condition) {
        fprintf(stderr, "%s: %s\n", what, text);
        abort();
    }
}

/* Writes settings as lines. */
static void write_out(const struct db_settings *settings, char text[MOST_TEXT]) {
    MPI_Info info;
    need(db_settings_to_info(settings, &info) == MPI_SUCCESS, "does not write", "");
    text[0] = '\0';
    for (int i = 0; i < written.count; ++i) {
        size_t length = strlen(text);
        need(length + strlen(written.entries[i].key) + strlen(written.entries[i].value) + 3 < MOST_TEXT, "long", text);
        snprintf(text + length, MOST_TEXT - length, "%s=%s\n", written.entries[i].key, written.entries[i].value);
    }
    MPI_Info_free(&info);
}

static void reads_back(const struct db_settings *settings, const char *text) {
    struct db_settings again = *settings;
    struct db_reason reason = {""};
    char other[MOST_TEXT];
    current = &written;
    if (db_settings_from_info(&again, MPI_INFO_ENV, &reason) != MPI_SUCCESS)
        need(0, reason.text, text);
    write_out(&again, other);
    need(strcmp(text, other) == 0, "reads back as other settings", text);
}

static void read_entries(char *lines) {
    given.count = 0;
    current = &given;
    for (char *line; (line = strsep(&lines, "\n")) != NULL;) {
        char *value = strchr(line, '=');
        if (value == NULL)
            continue;
        *value = '\0';
        MPI_Info_set(MPI_INFO_ENV, line, value + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct db_settings settings;
    struct db_reason reason = {""};
    char before[MOST_TEXT];
    char after[MOST_TEXT];
    char *lines = malloc(size + 1);
    if (lines == NULL)
        return 0;
    if (size > 0)
        memcpy(lines, data, size);
    lines[size] = '\0';
    clearenv();
    need(db_settings_from_environment(&settings, &reason) == MPI_SUCCESS, "no defaults", reason.text);
    settings.clock = db_clock_types[0]; /* as it is when a communicator is prepared */
    write_out(&settings, before);
    read_entries(lines);
    if (db_settings_from_info(&settings, MPI_INFO_ENV, &reason) == MPI_SUCCESS) {
        write_out(&settings, after);
        reads_back(&settings, after);
    } else {
        need(reason.text[0] != '\0' && strlen(reason.text) < sizeof reason.text, "no reason", before);
        write_out(&settings, after);
        need(strcmp(before, after) == 0, "refused, and changed", after);
    }
    free(lines);
    return 0;
}
