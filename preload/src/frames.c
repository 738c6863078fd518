/* A call of the program is on its way from the entry of a function of ours to its return; calls that it makes meanwhile
 * are MPI's. But it may end without a return: by an exception out of an error handler, or by a jump out of one or of a
 * signal's. Both are noticed, and leave a doubt; the next function that the program, or MPI, calls looks at the stack,
 * which says whether that call is still on its way. So a call costs what it did, and the stack is read once a jump.
 *
 * Jumps are those of libc. One that a compiler makes itself (__builtin_longjmp) is noticed if the next call comes from
 * no deeper in the stack than the one that was left; so is a coroutine with a stack above. While a coroutine is within
 * a call, calls of others of its thread may be taken for MPI's. */
#define _GNU_SOURCE
#include "frames.h"

#include "process.h"

#include <dlfcn.h>
#include <execinfo.h>

INITIAL_EXEC uintptr_t inside;
INITIAL_EXEC struct fortran_call fortran_call;

/* Entries of Fortran are in a section of their own. */
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
extern const char __start_downbeat_fortran[] __attribute__((visibility("hidden")));
extern const char __stop_downbeat_fortran[] __attribute__((visibility("hidden")));
// NOLINTEND(bugprone-reserved-identifier)

/* Frames between a call of the program and one that MPI makes meanwhile. */
#define DEPTH 256

struct callers {
    int of_mpi;  /* a function of ours */
    int fortran; /* an entry of Fortran */
};

static int is_fortran(const char *address) {
    return address > __start_downbeat_fortran && address <= __stop_downbeat_fortran;
}

/* Which functions of ours are in the stack, but for the one that was called last. */
static struct callers find_callers(void) {
    void *addresses[DEPTH];
    Dl_info own = {.dli_fbase = NULL};
    Dl_info other;
    struct callers callers = {0};
    int last = 1;
    int count = backtrace(addresses, DEPTH);
    dladdr((void *)(uintptr_t)frame_unwound, &own);
    for (int i = 0; i < count; ++i) {
        const char *address = addresses[i];
        int ours = dladdr(address, &other) != 0 && other.dli_fbase == own.dli_fbase;
        last = last && ours;
        if (ours && !last && is_fortran(address))
            callers.fortran = 1;
        else if (ours && !last)
            callers.of_mpi = 1;
    }
    return callers;
}

static void doubt(void) {
    if (inside != 0)
        inside |= FRAME_DOUBTFUL;
    if (fortran_call.frame != 0)
        fortran_call.frame |= FRAME_DOUBTFUL;
}

/* Undoes what calls that were left have begun. */
static void settle(void) {
    struct callers callers = find_callers();
    if (callers.of_mpi)
        inside &= ~FRAME_DOUBTFUL;
    else
        inside = 0;
    if (callers.fortran)
        fortran_call.frame &= ~FRAME_DOUBTFUL;
    else
        fortran_call = (struct fortran_call){0};
}

int frame_settle(void) {
    settle();
    return inside != 0;
}

const void *fortran_settle(void) {
    settle();
    return fortran_call.site;
}

/* The personality of functions of ours (Itanium C++ ABI: Exception Handling, 2.5.2): called when one is left. */
int frame_unwound(int version, int actions, uint64_t class, void *exception, void *context) {
    enum { CLEANUP_PHASE = 2, CONTINUE = 8 };
    (void)version;
    (void)class;
    (void)exception;
    (void)context;
    if (actions & CLEANUP_PHASE)
        doubt();
    return CONTINUE;
}

/* --- what jumps */

typedef void jump(void *, int);

/* setjmp.h has these under other names, too. */
#define JUMP(name)                                                                                                     \
    jump leave_by_##name __asm__(#name);                                                                               \
    static jump *real_##name;                                                                                          \
    void leave_by_##name(void *to, int value) {                                                                        \
        doubt();                                                                                                       \
        if (real_##name == NULL)                                                                                       \
            find_next((void **)(void *)&real_##name, #name);                                                           \
        real_##name(to, value);                                                                                        \
    }
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

/* When the library is loaded: handlers of signals jump, too. */
__attribute__((constructor)) static void find_jumps(void) {
    find_next((void **)(void *)&real_longjmp, "longjmp");
    find_next((void **)(void *)&real__longjmp, "_longjmp");
    find_next((void **)(void *)&real_siglongjmp, "siglongjmp");
    find_next((void **)(void *)&real___longjmp_chk, "__longjmp_chk");
}
