/* Call sites: numbers for return addresses. */
#define _GNU_SOURCE
#include "preload.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define CACHED 64  /* per thread */
#define TABLE 8192 /* open addressing; more than the file has room for */

struct entry {
    const void *address;
    uint32_t number;
};

static struct entry table[TABLE];
static int entries;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
PER_THREAD struct entry cache[CACHED];

static uint64_t hash_address(const void *address) { return (uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15U; }

static uint32_t record_site(const void *address) {
    struct trace_site site = {.offset = (uint64_t)(uintptr_t)address, .module = "", .symbol = ""};
    Dl_info found;
    if (dladdr(address, &found) != 0) {
        site.offset -= (uint64_t)(uintptr_t)found.dli_fbase;
        if (found.dli_fname != NULL) {
            size_t length = strlen(found.dli_fname); /* the end of a path says more than its beginning */
            size_t longest = sizeof site.module - 1;
            strcpy(site.module, found.dli_fname + (length > longest ? length - longest : 0));
        }
        if (found.dli_sname != NULL)
            snprintf(site.symbol, sizeof site.symbol, "%s", found.dli_sname);
    }
    return recording_add_site(&site);
}

static uint32_t find_site(const void *address) {
    pthread_mutex_lock(&lock);
    uint64_t place = hash_address(address) % TABLE;
    while (table[place].address != NULL && table[place].address != address)
        place = (place + 1) % TABLE;
    uint32_t number = table[place].number;
    if (table[place].address == NULL) {
        number = record_site(address);
        if (entries < TABLE / 2) {
            ++entries;
            table[place] = (struct entry){address, number};
        }
    }
    pthread_mutex_unlock(&lock);
    return number;
}

uint32_t site_of(const void *address) {
    struct entry *cached = &cache[(hash_address(address) >> 32) % CACHED];
    if (cached->address != address)
        *cached = (struct entry){address, find_site(address)};
    return cached->number;
}

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
