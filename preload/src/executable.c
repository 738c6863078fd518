/* The address range of the executable (executable.h), found once when the library is loaded. */
#define _GNU_SOURCE
#include "executable.h"

#include <limits.h>
#include <link.h>
#include <stdint.h>

/* A range of addresses. */
struct range {
    uintptr_t begin;
    uintptr_t end;
};

/* Callback of dl_iterate_phdr, whose first object is the executable: sets `data` to the range of its code. Returns 1,
 * to end the iteration. */
static int find_executable(struct dl_phdr_info *info, size_t size, void *data) {
    struct range *range = data;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0)
            continue;
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        range->begin = begin < range->begin ? begin : range->begin;
        range->end = begin + segment->p_memsz > range->end ? begin + segment->p_memsz : range->end;
    }
    return 1;
}

static struct range executable = {UINTPTR_MAX, 0};

__attribute__((constructor)) static void find_range(void) { dl_iterate_phdr(find_executable, &executable); }

int in_executable(const void *address) {
    uintptr_t position = (uintptr_t)address;
    return position >= executable.begin && position <= executable.end;
}
