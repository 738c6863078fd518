/* Distinguishes MPI calls of the program from those that MPI or a tool makes inside one. */
#ifndef DOWNBEAT_PRELOAD_FRAMES_H
#define DOWNBEAT_PRELOAD_FRAMES_H

#include "sharing.h"

#include <stddef.h>
#include <stdint.h>

/* Frame address of the wrapper that the program has called, while it runs; else 0. Meanwhile, calls of MPI, libdownbeat
 * or this library are not the program's and are not recorded. */
INTERNAL INITIAL_EXEC uintptr_t inside;
#define FRAME_DOUBTFUL                                                                                                 \
    ((uintptr_t)1) /* lowest bit of a frame address: the frame may have been left by a jump or an exception */

/* Declares the frame address in a wrapper that sets `inside`, and registers frame_unwound for it. */
#define FRAME(name)                                                                                                    \
    __asm__ volatile(".cfi_personality 0x1b, frame_unwound");                                                          \
    const uintptr_t name = (uintptr_t)__builtin_frame_address(0)
__attribute__((visibility("hidden"))) int frame_unwound(int version, int actions, uint64_t class, void *exception,
                                                        void *context);

/* Resolves FRAME_DOUBTFUL by a backtrace. Returns 1 if the program's call is still active. */
int frame_settle(void);

/* True if the function with this frame was called inside another wrapper that the program has called. */
static inline int frame_within(uintptr_t frame, uintptr_t outer) { return frame < outer && !(outer & FRAME_DOUBTFUL); }
static inline int is_inside(uintptr_t frame) {
    const uintptr_t outer = inside;
    return __builtin_expect(outer != 0, 0) && (__builtin_expect(frame_within(frame, outer), 1) || frame_settle());
}

/* Returns 1, and sets `inside`, if the program made this call. */
static inline int frame_enter(uintptr_t frame) {
    if (is_inside(frame))
        return 0;
    inside = frame;
    return 1;
}

/* Returns 1, and clears `inside`, if the program made this call. */
static inline int frame_leave(uintptr_t frame) {
    if ((inside & ~FRAME_DOUBTFUL) != frame)
        return 0;
    inside = 0;
    return 1;
}

/* The active Fortran wrapper: the C function that it calls is attributed to its call site. */
struct fortran_call {
    uintptr_t frame;
    const void *site; /* its call site, a return address */
};
INTERNAL INITIAL_EXEC struct fortran_call fortran_call;
const void *fortran_settle(void);

/* Call site of the Fortran wrapper that calls the function with this frame; else NULL. */
static inline const void *fortran_site(uintptr_t frame) {
    const uintptr_t outer = fortran_call.frame;
    if (__builtin_expect(outer == 0, 1))
        return NULL;
    return frame_within(frame, outer) ? fortran_call.site : fortran_settle();
}

#endif
