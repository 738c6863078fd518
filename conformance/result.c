/* Results of the checks: failures, notes, skips; and their clock. */
#define _POSIX_C_SOURCE 200809L
#include "conformance.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TEXT = 300 };

/* The running check's, on this process. */
static char failure[TEXT];
static char notes[4 * TEXT];
static const char *skipped;

void expect(int condition, const char *format, ...) {
    if (condition || failure[0] != '\0')
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure, sizeof failure, format, arguments);
    va_end(arguments);
}

void expect_success(int code, const char *call) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    expect(0, "%.80s: %.200s", call, text);
}

void skip(const char *reason) { skipped = reason; }

void note(const char *format, ...) {
    size_t length = strlen(notes);
    va_list arguments;
    va_start(arguments, format);
    length += (size_t)snprintf(notes + length, sizeof notes - length, "# ");
    if (length < sizeof notes)
        length += (size_t)vsnprintf(notes + length, sizeof notes - length, format, arguments);
    va_end(arguments);
    if (length < sizeof notes)
        snprintf(notes + length, sizeof notes - length, "\n");
}

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void pause_for(double seconds) {
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

int has_failed(void) { return failure[0] != '\0'; }

int print_result(const struct run *run, int number, const struct check *check) {
    int mine = failure[0] != '\0' ? run->rank : run->size;
    int failed;
    MPI_Allreduce(&mine, &failed, 1, MPI_INT, MPI_MIN, run->world);
    if (failed < run->size)
        MPI_Bcast(failure, sizeof failure, MPI_CHAR, failed, run->world);
    if (run->rank == 0) {
        printf("%sok %d - %s: %s", failed < run->size ? "not " : "", number, check->name, check->promise);
        if (failed == run->size && skipped != NULL)
            printf(" # SKIP %s", skipped);
        printf("\n%s", notes);
        if (failed < run->size)
            printf("# process %d: %s\n", failed, failure);
        fflush(stdout);
    }
    failure[0] = notes[0] = '\0';
    skipped = NULL;
    return failed == run->size;
}
