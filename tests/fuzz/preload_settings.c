/* DOWNBEAT_PRELOAD_*: each line of the input is a variable, KEY=value. */
#define _GNU_SOURCE
#include "settings.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct settings settings;
    char problem[SETTINGS_PROBLEM_SIZE] = "";
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    clearenv();
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char name[300];
        char *value = strchr(line, '=');
        if (value == NULL || value - line > 250)
            continue;
        snprintf(name, sizeof name, "DOWNBEAT_PRELOAD_%.*s", (int)(value - line), line);
        setenv(name, value + 1, 1);
    }
    if (settings_read(&settings, problem) == 0) {
        if (!(settings.records >= 1 && settings.skip >= 0 && settings.sync_every >= 0.0 && settings.directory[0]))
            abort();
    } else if (problem[0] == '\0' || strchr(problem, '\n') != NULL) {
        abort();
    }
    clearenv();
    free(text);
    return 0;
}
