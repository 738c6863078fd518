/* Variables that files of this library share. Only libdownbeat-preload has mutable globals, since a process has one
 * preloaded library. */
#ifndef DOWNBEAT_PRELOAD_SHARING_H
#define DOWNBEAT_PRELOAD_SHARING_H

/* Hidden: not exported, and accessed without the global offset table. */
#define INTERNAL extern __attribute__((visibility("hidden")))

/* Initial-exec is possible because a preloaded library is loaded at program start; access is as fast as that of a
 * global. */
#define INITIAL_EXEC _Thread_local __attribute__((tls_model("initial-exec")))
#define PER_THREAD static INITIAL_EXEC

/* Error-checking: a thread that left a function by a jump may still hold the lock; locking it again returns EDEADLK,
 * and the thread continues. */
#define LOCK PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP

#endif
