/* Preloaded: a clock of the kernel that is wrong, as the environment says.
 *
 *     FAULT_CLOCK=ID:KIND:AMOUNT:PERIOD   ID monotonic or realtime; KIND one of
 *         step     AMOUNT seconds are added each PERIOD seconds, or taken away
 *         slew     runs fast by AMOUNT
 *         freeze   stands still for AMOUNT seconds each PERIOD, then is right again
 *     FAULT_RANK=R   on process R alone, as on a host of its own; else on all, at the same instants
 *
 * The instants are those of CLOCK_MONOTONIC_RAW, which stays right. */
#define _GNU_SOURCE
#include "concerned.h"

#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    bool known;
    bool wrong;
    clockid_t id;
    char kind[16];
    double amount;
    double period;
    double begin;                                      /* of the process */
    int (*right)(clockid_t id, struct timespec *time); /* as quick as ever: a system call would come too late */
} fault;

static double seconds(clockid_t id) {
    struct timespec time;
    fault.right(id, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void learn(void) {
    char id[16] = "";
    const char *text = getenv("FAULT_CLOCK");
    *(void **)&fault.right = dlsym(RTLD_NEXT, "clock_gettime");
    fault.known = true;
    fault.begin = seconds(CLOCK_MONOTONIC_RAW);
    fault.wrong = text != NULL && concerned(false) &&
                  sscanf(text, "%15[a-z]:%15[a-z]:%lf:%lf", id, fault.kind, &fault.amount, &fault.period) == 4;
    fault.id = strcmp(id, "realtime") == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

/* The clock's error, ns; the same on all processes that are concerned. */
static int64_t wrong_by(void) {
    const double now = seconds(CLOCK_MONOTONIC_RAW);
    const double periods = floor(now / fault.period);
    if (strcmp(fault.kind, "step") == 0)
        return (int64_t)((periods - floor(fault.begin / fault.period)) * fault.amount * 1e9);
    if (strcmp(fault.kind, "slew") == 0)
        return (int64_t)((now - fault.begin) * fault.amount * 1e9);
    const double into = now - periods * fault.period;
    return into < fault.amount ? -(int64_t)(into * 1e9) : 0;
}

int clock_gettime(clockid_t id, struct timespec *time) {
    if (!fault.known)
        learn();
    int status = fault.right(id, time);
    if (!fault.wrong || id != fault.id)
        return status;
    int64_t ns = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + wrong_by();
    time->tv_sec = (time_t)(ns / 1000000000);
    time->tv_nsec = (long)(ns % 1000000000);
    return status;
}
