/* Preloaded, also under Python: has calls of the system fail, or take their time, as the environment says.
 *
 *     FAULT_FORK=1    no process is made
 *     FAULT_FSYNC=S   each fsync takes S seconds longer
 *     FAULT_CALL=C FAULT_PATH=P FAULT_ERROR=E   close or fsync fails with error number E for paths that end with P */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

pid_t fork(void) {
    static pid_t (*next)(void);
    if (getenv("FAULT_FORK") != NULL) {
        errno = EAGAIN;
        return -1;
    }
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "fork");
    return next();
}

static bool fails(int file, const char *call) {
    const char *chosen = getenv("FAULT_CALL");
    const char *end = getenv("FAULT_PATH");
    char link[64];
    char path[4096];
    if (chosen == NULL || end == NULL || strcmp(chosen, call) != 0)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path);
    ssize_t size = (ssize_t)strlen(end);
    return length >= size && memcmp(path + length - size, end, (size_t)size) == 0;
}

int close(int file) {
    static int (*next)(int);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "close");
    bool failed = fails(file, "close");
    int code = next(file);
    if (failed)
        errno = atoi(getenv("FAULT_ERROR"));
    return failed ? -1 : code;
}

int fsync(int file) {
    static int (*next)(int);
    const char *text = getenv("FAULT_FSYNC");
    if (text != NULL) {
        double seconds = atof(text);
        struct timespec time = {.tv_sec = (time_t)seconds};
        time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
        nanosleep(&time, NULL);
    }
    if (fails(file, "fsync")) {
        errno = atoi(getenv("FAULT_ERROR"));
        return -1;
    }
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "fsync");
    return next(file);
}
