/* DOWNBEAT_PRELOAD_*: each line of the input is a variable, KEY=value. */
#define _GNU_SOURCE
#include "settings.h"
#include "variables.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct settings settings;
    char problem[SETTINGS_PROBLEM_SIZE] = "";
    char *text = set_variables("DOWNBEAT_PRELOAD_", data, size);
    if (text == NULL)
        return 0;
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
