/* Preloaded, also under Python: has calls of the system fail, or take their time, as the environment says.
 *
 *     FAULT_FORK=1    no process is made
 *     FAULT_FSYNC=S   each fsync takes S seconds longer */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
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
