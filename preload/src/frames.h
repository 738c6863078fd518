/* Distinguishes MPI calls of the program from calls that MPI or a tool makes inside such a call. Each wrapper passes
 * its frame address; the stack grows down, so an inner function has a lower address. */
#ifndef DOWNBEAT_PRELOAD_FRAMES_H
#define DOWNBEAT_PRELOAD_FRAMES_H

#include "sharing.h"

#include <stddef.h>
#include <stdint.h>

/* Frame address of the wrapper that the program has called on this thread, while it runs; else 0. Meanwhile, calls of
 * MPI, libdownbeat or this library on this thread are not the program's and are not recorded. */
INTERNAL INITIAL_EXEC uintptr_t program_frame;
/* Flag in bit 0 of a frame address: a jump or an exception may have ended the call. */
#define FRAME_DOUBTFUL ((uintptr_t)1)

/* Declares the frame address in a wrapper that sets `program_frame`, and registers frame_unwound, which the unwinder
 * calls when an exception leaves the wrapper. 0x1b: the address of frame_unwound is encoded as pc-relative, signed, 4
 * bytes. */
#define FRAME(name)                                                                                                    \
    __asm__ volatile(".cfi_personality 0x1b, frame_unwound");                                                          \
    const uintptr_t name = (uintptr_t)__builtin_frame_address(0)
__attribute__((visibility("hidden"))) int frame_unwound(int version, int actions, uint64_t class, void *exception,
                                                        void *context);

/* Decides by a backtrace whether the program's call is still active, after a jump or an exception (FRAME_DOUBTFUL), or
 * if a wrapper that is not deeper in the stack was called. Clears `program_frame` if the call has ended. Returns 1 if
 * it is still active. */
int frame_resolve(void);

/* Returns 1 if the function with this frame was called by the function with frame `outer`, and `outer` is not doubtful.
 */
static inline int frame_within(uintptr_t frame, uintptr_t outer) { return frame < outer && !(outer & FRAME_DOUBTFUL); }

/* Returns 1 if the function with this frame was called inside another wrapper that the program has called. */
static inline int is_inside(uintptr_t frame) {
    const uintptr_t outer = program_frame;
    return __builtin_expect(outer != 0, 0) && (__builtin_expect(frame_within(frame, outer), 1) || frame_resolve());
}

/* Returns 1, and sets `program_frame`, if the program made this call. */
static inline int frame_enter(uintptr_t frame) {
    if (is_inside(frame))
        return 0;
    program_frame = frame;
    return 1;
}

/* Returns 1, and clears `program_frame`, if the program made this call. */
static inline int frame_leave(uintptr_t frame) {
    if ((program_frame & ~FRAME_DOUBTFUL) != frame)
        return 0;
    program_frame = 0;
    return 1;
}

/* The active Fortran wrapper of this thread. The C function that it calls gets the call site of the Fortran call. */
struct fortran_call {
    uintptr_t frame;  /* frame address of the wrapper; 0: none */
    const void *site; /* call site, a return address */
};
INTERNAL INITIAL_EXEC struct fortran_call fortran_call;

/* Does the same for the Fortran wrapper and `fortran_call`. Returns its call site; NULL if it has ended. */
const void *fortran_resolve(void);

/* Returns the call site of the Fortran wrapper that has called the function with this frame; NULL without such a
 * wrapper. */
static inline const void *fortran_site(uintptr_t frame) {
    const uintptr_t outer = fortran_call.frame;
    if (__builtin_expect(outer == 0, 1))
        return NULL;
    return frame_within(frame, outer) ? fortran_call.site : fortran_resolve();
}

#endif
