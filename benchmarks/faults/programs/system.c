/* Preloaded, also under Python: has calls of the system fail, or take their time, as the environment says.
 *
 *     FAULT_FORK=1    no process is made
 *     FAULT_FSYNC=S   each fsync takes S seconds longer
 *     FAULT_CLOSE=E   closing a file whose name ends in E says that the quota is exceeded, as NFS does */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Whether an open file's name ends so. */
static int named(int file, const char *end) {
    char link[64];
    char name[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, name, sizeof name);
    size_t wanted = strlen(end);
    return length >= (ssize_t)wanted && memcmp(name + length - wanted, end, wanted) == 0;
}

int close(int file) {
    static int (*next)(int);
    const char *end = getenv("FAULT_CLOSE");
    int faulty = end != NULL && named(file, end);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "close");
    int status = next(file);
    if (!faulty)
        return status;
    errno = EDQUOT;
    return -1;
}

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

int fsync(int file) {
    static int (*next)(int);
    const char *text = getenv("FAULT_FSYNC");
    if (text != NULL) {
        double seconds = atof(text);
        struct timespec time = {.tv_sec = (time_t)seconds};
        time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
        nanosleep(&time, NULL);
    }
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "fsync");
    return next(file);
}
