/* How files of this library share variables. Only this room of the project has mutable globals: a process has one
 * preloaded library. */
#ifndef DOWNBEAT_PRELOAD_SHARING_H
#define DOWNBEAT_PRELOAD_SHARING_H

/* No other library shares it, so it is reached without a table of addresses. */
#define INTERNAL extern __attribute__((visibility("hidden")))

/* Initial-exec: a preloaded library is there when the program starts, and the access costs what a variable costs. */
#define INITIAL_EXEC _Thread_local __attribute__((tls_model("initial-exec")))
#define PER_THREAD static INITIAL_EXEC

/* A thread that jumped out of a function that held the lock has it (EDEADLK), and goes on. */
#define LOCK PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP

#endif
