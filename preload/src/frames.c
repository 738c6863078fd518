/* Detection of calls that ended without returning (frames.h). A call of the program is active from the entry of a
 * wrapper to its return; MPI calls in between are made by MPI, not by the program. But a wrapper may end without
 * returning: by an exception or a longjmp out of an error handler or a signal handler. Both are intercepted and mark
 * the frame as doubtful; the next wrapper that is called takes a backtrace to decide whether the frame is still active.
 * So the backtrace is taken once per jump and not in every call.
 *
 * Only libc's jumps are intercepted. A jump by the compiler (__builtin_longjmp) is noticed if the next call is not
 * deeper in the stack than the abandoned one; the same holds for a coroutine on a higher stack. While a coroutine is
 * inside a call, calls of other coroutines of its thread may be mistaken for MPI's. */
#define _GNU_SOURCE
#include "frames.h"

#include "process.h"

#include <dlfcn.h>
#include <execinfo.h>

INITIAL_EXEC uintptr_t program_frame;
INITIAL_EXEC struct fortran_call fortran_call;

/* Fortran wrappers are in a separate section. */
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
extern const char __start_downbeat_fortran[] __attribute__((visibility("hidden")));
extern const char __stop_downbeat_fortran[] __attribute__((visibility("hidden")));
// NOLINTEND(bugprone-reserved-identifier)

/* Largest number of frames in a backtrace. */
#define DEPTH 256

/* Which wrappers are active on this thread's stack. */
struct callers {
    int c;       /* 1 if a C wrapper is active */
    int fortran; /* 1 if a Fortran wrapper is active */
};

/* True if a return address is in a wrapper of fortran.c. */
static int is_fortran(const char *address) {
    /* A return address is after the call, so it may be the end of the section but not its begin. */
    return address > __start_downbeat_fortran && address <= __stop_downbeat_fortran;
}

/* Finds wrappers on the stack, except the wrapper that was called last. */
static struct callers find_callers(void) {
    void *addresses[DEPTH];
    Dl_info library = {.dli_fbase = NULL};
    Dl_info object;
    struct callers callers = {0};
    /* 1 in the first frames of the backtrace, which are this library's: this function and the wrapper called last. */
    int latest = 1;
    int count = backtrace(addresses, DEPTH);
    dladdr((void *)(uintptr_t)frame_unwound, &library); /* any function of this library */
    for (int i = 0; i < count; ++i) {
        const char *address = addresses[i];
        int in_library = dladdr(address, &object) != 0 && object.dli_fbase == library.dli_fbase;
        latest = latest && in_library;
        if (in_library && !latest && is_fortran(address))
            callers.fortran = 1;
        else if (in_library && !latest)
            callers.c = 1;
    }
    return callers;
}

/* Marks the active calls: a jump or an exception may have ended them. */
static void mark_doubtful(void) {
    if (program_frame != 0)
        program_frame |= FRAME_DOUBTFUL;
    if (fortran_call.frame != 0)
        fortran_call.frame |= FRAME_DOUBTFUL;
}

/* Takes a backtrace: clears the state of abandoned calls and removes the mark of calls that are still active. */
static void resolve_doubt(void) {
    struct callers callers = find_callers();
    if (callers.c)
        program_frame &= ~FRAME_DOUBTFUL;
    else
        program_frame = 0;
    if (callers.fortran)
        fortran_call.frame &= ~FRAME_DOUBTFUL;
    else
        fortran_call = (struct fortran_call){0};
}

int frame_resolve(void) {
    resolve_doubt();
    return program_frame != 0;
}

const void *fortran_resolve(void) {
    resolve_doubt();
    return fortran_call.site;
}

/* The personality routine of wrappers (Itanium C++ ABI: Exception Handling, 2.5.2), called when an exception leaves
 * one. */
int frame_unwound(int version, int actions, uint64_t class, void *exception, void *context) {
    enum { CLEANUP_PHASE = 2, CONTINUE = 8 };
    (void)version;
    (void)class;
    (void)exception;
    (void)context;
    if (actions & CLEANUP_PHASE)
        mark_doubtful();
    return CONTINUE;
}

/* --- jumps */

typedef void jump(void *, int);

/* Assembler names, since setjmp.h also declares these functions under other names. */
#define JUMP(name)                                                                                                     \
    jump intercepted_##name __asm__(#name);                                                                            \
    static jump *real_##name;                                                                                          \
    void intercepted_##name(void *environment, int value) {                                                            \
        mark_doubtful();                                                                                               \
        if (real_##name == NULL)                                                                                       \
            find_next((void **)(void *)&real_##name, #name);                                                           \
        real_##name(environment, value);                                                                               \
    }
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

/* At load time, since signal handlers may jump, where dlsym is not safe. */
__attribute__((constructor)) static void find_jumps(void) {
    find_next((void **)(void *)&real_longjmp, "longjmp");
    find_next((void **)(void *)&real__longjmp, "_longjmp");
    find_next((void **)(void *)&real_siglongjmp, "siglongjmp");
    find_next((void **)(void *)&real___longjmp_chk, "__longjmp_chk");
}
