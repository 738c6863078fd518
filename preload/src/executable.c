#define _GNU_SOURCE
#include "executable.h"

#include <limits.h>
#include <link.h>
#include <stdint.h>

struct range {
    uintptr_t begin;
    uintptr_t end;
};

/* The first object is the executable. */
static int find_executable(struct dl_phdr_info *info, size_t size, void *data) {
    struct range *range = data;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0)
            continue;
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        range->begin = begin < range->begin ? begin : range->begin;
        range->end = begin + part->p_memsz > range->end ? begin + part->p_memsz : range->end;
    }
    return 1;
}

static struct range executable = {UINTPTR_MAX, 0};

__attribute__((constructor)) static void find_range(void) { dl_iterate_phdr(find_executable, &executable); }

int in_executable(const void *address) {
    uintptr_t here = (uintptr_t)address;
    return here >= executable.begin && here <= executable.end;
}
