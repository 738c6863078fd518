/* Whether the program called, or MPI did on behalf of a call of the program. */
#ifndef DOWNBEAT_PRELOAD_FRAMES_H
#define DOWNBEAT_PRELOAD_FRAMES_H

#include "sharing.h"

#include <stddef.h>
#include <stdint.h>

/* The frame of the function that the program called, while it runs: calls that MPI, libdownbeat or this library make
 * meanwhile are not the program's, and nothing of them is recorded. 0: there is none. */
INTERNAL INITIAL_EXEC uintptr_t inside;
#define FRAME_DOUBTFUL ((uintptr_t)1) /* in the lowest bit of a frame: it may have been left */

/* In each function that the program may call, and that sets `inside`: its frame. */
#define FRAME(name)                                                                                                    \
    __asm__ volatile(".cfi_personality 0x1b, frame_unwound");                                                          \
    const uintptr_t name = (uintptr_t)__builtin_frame_address(0)
__attribute__((visibility("hidden"))) int frame_unwound(int version, int actions, uint64_t class, void *exception,
                                                        void *context);

/* Finds out which frames were left. Returns whether the program's call still is on its way. */
int frame_settle(void);

/* Whether a function with this frame was called while another one that the program called runs. */
static inline int frame_within(uintptr_t frame, uintptr_t outer) { return frame < outer && !(outer & FRAME_DOUBTFUL); }
static inline int is_inside(uintptr_t frame) {
    const uintptr_t outer = inside;
    return __builtin_expect(outer != 0, 0) && (__builtin_expect(frame_within(frame, outer), 1) || frame_settle());
}

/* Returns whether the program called. */
static inline int frame_enter(uintptr_t frame) {
    if (is_inside(frame))
        return 0;
    inside = frame;
    return 1;
}

/* Returns whether the program called, and its call was on its way until now. */
static inline int frame_leave(uintptr_t frame) {
    if ((inside & ~FRAME_DOUBTFUL) != frame)
        return 0;
    inside = 0;
    return 1;
}

/* A Fortran entry, while it runs: the C function that it calls was not called by the program. */
struct fortran_call {
    uintptr_t frame;
    const void *site; /* its return address */
};
INTERNAL INITIAL_EXEC struct fortran_call fortran_call;
const void *fortran_settle(void);

/* The call site of the Fortran entry that calls a function with this frame; NULL: none does. */
static inline const void *fortran_site(uintptr_t frame) {
    const uintptr_t outer = fortran_call.frame;
    if (__builtin_expect(outer == 0, 1))
        return NULL;
    return frame_within(frame, outer) ? fortran_call.site : fortran_settle();
}

#endif
