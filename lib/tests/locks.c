/* The library's mutexes pass through the test: nobody unlocks one that he does not hold, or locks one that he holds.
 * Without the lock the same would come out, but for threads that are rarely so close. */
#include "check.h"

#include <pthread.h>

#define DEEPEST 4

static _Thread_local pthread_mutex_t *held[DEEPEST];

/* The linker leads to these (CMakeLists.txt). */
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);   /* NOLINT: the linker's names */
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex); /* NOLINT */
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);   /* NOLINT */
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex); /* NOLINT */

static int place_of(const pthread_mutex_t *mutex) {
    int place = 0;
    while (place < DEEPEST && held[place] != mutex)
        ++place;
    return place;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) { /* NOLINT */
    CHECK_THAT(place_of(mutex), ==, DEEPEST);
    int code = __real_pthread_mutex_lock(mutex);
    int place = place_of(NULL);
    CHECK_THAT(place, <, DEEPEST);
    held[place] = mutex;
    return code;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) { /* NOLINT */
    int place = place_of(mutex);
    CHECK_THAT(place, <, DEEPEST);
    held[place] = NULL;
    return __real_pthread_mutex_unlock(mutex);
}
