/* Call sites (sites.h): numbers for return addresses, found by a per-thread cache and a hash table. A new site is
 * described in the trace file by its module, symbol and build ID. */
#define _GNU_SOURCE
#include "sites.h"

#include "executable.h"
#include "python_frames.h"
#include "recording.h"
#include "thread_memory.h"

#include "split_mix.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CACHED 64       /* entries of a thread's cache */
#define TABLE (1 << 17) /* entries; open addressing; larger than the file's capacity */

/* An entry of the table of sites. */
struct entry {
    const void *address; /* NULL: empty */
    uint32_t number;     /* number of the site in the file; TRACE_NONE: no room */
};

static struct entry table[TABLE];
static int entries; /* number of entries in the table */
static pthread_mutex_t lock = LOCK;
PER_THREAD struct entry *cache; /* by address */

static uint64_t hash_address(const void *address) { return (uint64_t)(uintptr_t)address * GOLDEN_GAMMA; }

/* Argument of find_build_id. */
struct module {
    uintptr_t address; /* an address in the module */
    char *build_id;    /* the result, hexadecimal */
};

/* Callback of dl_iterate_phdr: copies the build ID from the notes of the module that contains the address. */
static int find_build_id(struct dl_phdr_info *info, size_t size, void *data) {
    struct module *module = data;
    int contains_address = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && module->address - info->dlpi_addr - segment->p_vaddr < segment->p_memsz)
            contains_address = 1;
    }
    for (int i = 0; contains_address && i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE)
            continue;
        const char *begin =
            (const char *)(uintptr_t)(info->dlpi_addr + segment->p_vaddr); // NOLINT(performance-no-int-to-ptr)
        const size_t align = segment->p_align == 8 ? 8 : 4;
        for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= segment->p_memsz;) {
            ElfW(Nhdr) note;
            memcpy(&note, begin + at, sizeof note);
            size_t name = at + sizeof note;
            size_t content = (name + note.n_namesz + align - 1) / align * align;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(begin + name, "GNU", 4) == 0) {
                for (size_t k = 0; k < note.n_descsz && k < 20; ++k)
                    snprintf(module->build_id + 2 * k, 3, "%02x", (unsigned char)begin[content + k]);
                return 1;
            }
            at = (content + note.n_descsz + align - 1) / align * align;
        }
    }
    return contains_address;
}

/* Copies a text; of a long text only the end, which is more specific than the beginning. */
static void copy_end(char *target, size_t size, const char *text) {
    size_t length = strlen(text);
    strcpy(target, text + (length >= size ? length - size + 1 : 0));
}

/* Demangles a C++ symbol, if the program has the demangler. */
static void demangle(char *target, size_t size, const char *symbol) {
    typedef char *demangler(const char *, char *, size_t *, int *);
    demangler *demangle_symbol = NULL;
    int failed = 1;
    if (strncmp(symbol, "_Z", 2) == 0)
        *(void **)(void *)&demangle_symbol = dlsym(RTLD_DEFAULT, "__cxa_demangle"); /* defined in every C++ program */
    char *plain = demangle_symbol != NULL ? demangle_symbol(symbol, NULL, NULL, &failed) : NULL;
    snprintf(target, size, "%s", plain != NULL && !failed ? plain : symbol);
    free(plain);
}

/* Adds a call site to the file, and returns its number. Offsets are like addresses in the module's symbol table:
 * relative to the load address of position-independent code, else absolute. The executable's path comes from
 * /proc/self/exe, since dladdr returns argv[0]. */
static uint32_t record_site(const void *address) {
    static struct trace_site site; /* static, under the lock, since the thread's stack may be small */
    static char path[PATH_MAX + 1];
    memset(&site, 0, sizeof site);
    site.offset = (uint64_t)(uintptr_t)address;
    if (python_site(address, &site))
        return recording_add_site(&site);
    /* The address of the call itself: the return address may be after the end of the module. */
    struct module module = {(uintptr_t)address - 1, site.build_id};
    Dl_info info;
    struct link_map *map = NULL;
    if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0) {
        site.offset -= map != NULL ? (uint64_t)map->l_addr : (uint64_t)(uintptr_t)info.dli_fbase;
        memset(path, 0, sizeof path);
        if (in_executable(address))
            (void)!readlink("/proc/self/exe", path, PATH_MAX);
        else if (info.dli_fname == NULL || realpath(info.dli_fname, path) == NULL)
            path[0] = '\0';
        if (path[0] != '\0' || info.dli_fname != NULL)
            copy_end(site.module, sizeof site.module, path[0] != '\0' ? path : info.dli_fname);
        if (info.dli_sname != NULL)
            demangle(site.symbol, sizeof site.symbol, info.dli_sname);
        dl_iterate_phdr(find_build_id, &module);
    }
    return recording_add_site(&site);
}

/* Finds or creates the number of a call site, without the cache. */
static uint32_t find_site(const void *address) {
    pthread_mutex_lock(&lock);
    uint64_t index = hash_address(address) % TABLE;
    while (table[index].address != NULL && table[index].address != address)
        index = (index + 1) % TABLE;
    uint32_t number = table[index].number;
    if (table[index].address == NULL) {
        number = record_site(address);
        if (entries < TABLE / 2) { /* a fuller table would be slow to search */
            ++entries;
            table[index] = (struct entry){address, number};
        }
    }
    pthread_mutex_unlock(&lock);
    return number;
}

uint32_t site_of(const void *address) {
    if (cache == NULL && !thread_memory((void **)(void *)&cache, CACHED * sizeof *cache))
        return find_site(address);
    struct entry *cached = &cache[(hash_address(address) >> 32) % CACHED];
    if (cached->address != address)
        *cached = (struct entry){address, find_site(address)};
    return cached->number;
}

void site_text(char text[SITE_TEXT_SIZE], const void *address) {
    uint32_t number = site_of(address);
    const struct trace_site *site = number != TRACE_NONE ? recording_site(number) : NULL;
    if (site == NULL)
        snprintf(text, SITE_TEXT_SIZE, "%p", address);
    else
        snprintf(text, SITE_TEXT_SIZE, "%.300s+0x%llx%s%.200s%s", site->module, (unsigned long long)site->offset,
                 site->symbol[0] != '\0' ? " (" : "", site->symbol, site->symbol[0] != '\0' ? ")" : "");
}
