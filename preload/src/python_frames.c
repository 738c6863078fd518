/* Call sites of Python: file and line of the running frame, where a binding of MPI for Python is the caller. To a
 * binding all lines of a program are one return address.
 *
 * A thread's own frames do not change while it is in MPI, and they hold what they refer to. So they are read without
 * the interpreter's lock, which the binding has given up: to take it again may wait for 5 ms, or for ever. How frames
 * lie in memory differs between versions of Python; of a version that is not known here, the return address stays the
 * site. */
#define _GNU_SOURCE
#include "python_frames.h"

#include "executable.h"
#include "thread_memory.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- CPython 3.11, 64 bits: Include/cpython/{pystate,code,unicodeobject}.h, Include/internal/pycore_frame.h. The GIL
 * is the rule there, and builds that trace references, whose objects begin differently, are told by a symbol. */

struct object {
    intptr_t references;
    const void *type;
};

struct sized_object {
    struct object object;
    intptr_t size;
};

struct bytes_object {
    struct sized_object head;
    intptr_t hash;
    unsigned char content[];
};

struct text_object {
    struct object object;
    intptr_t length; /* characters */
    intptr_t hash;
    uint32_t state;
    const void *wide;
    unsigned char ascii[]; /* if all characters are */
};
#define TEXT_KIND(state) ((state) >> 2 & 7U) /* bytes of a character */
#define TEXT_COMPACT(state) ((state) >> 5 & 1U)
#define TEXT_ASCII(state) ((state) >> 6 & 1U)
#define TEXT_OTHERS 24 /* bytes between the head and characters that are not ASCII */

struct code_object {
    struct sized_object head; /* size in instructions of 2 bytes */
    const void *constants, *names, *exceptions;
    int flags;
    short warm_up, line_size;
    int arguments, positional, keywords, stack, first_line, locals_plus, locals, plain_cells, cells, free_variables;
    const void *local_names, *local_kinds;
    const struct text_object *file, *name, *qualified_name;
    const struct bytes_object *lines;
    const void *weak_references, *code, *line_array;
    int first_traceable;
    const void *extra;
    unsigned char instructions[];
};

struct frame {
    const void *function, *globals, *builtins, *locals;
    const struct code_object *code;
    const void *frame_object;
    const struct frame *previous;
    const unsigned char *instruction; /* or the one before the next */
};

struct c_frame {
    uint8_t tracing;
    const struct frame *current;
};

struct thread_state {
    const void *previous, *next, *interpreter;
    int initialized, is_static, recursion[3], tracing[2];
    const struct c_frame *frame;
};

_Static_assert(offsetof(struct code_object, instructions) == 184 && offsetof(struct text_object, ascii) == 48 &&
                   offsetof(struct thread_state, frame) == 56 && offsetof(struct frame, instruction) == 56,
               "as on 64-bit machines");

#define VERSION_KNOWN 0x030b /* 3.11 */

static const struct thread_state *(*this_thread)(void); /* NULL: no Python, or one that is not known */
static const void *code_type, *text_type, *bytes_type;
static pthread_once_t looked_for = PTHREAD_ONCE_INIT;

static void look_for_python(void) {
    const unsigned long *version = dlsym(RTLD_DEFAULT, "Py_Version");
    code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
    text_type = dlsym(RTLD_DEFAULT, "PyUnicode_Type");
    bytes_type = dlsym(RTLD_DEFAULT, "PyBytes_Type");
    if (version == NULL || *version >> 16 != VERSION_KNOWN || code_type == NULL || text_type == NULL ||
        bytes_type == NULL || dlsym(RTLD_DEFAULT, "PyModule_Create2TraceRefs") != NULL)
        return;
    *(void **)(void *)&this_thread = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
}

/* The frame that runs in this thread, or NULL. */
static const struct frame *running_frame(void) {
    pthread_once(&looked_for, look_for_python);
    const struct thread_state *thread = this_thread != NULL ? this_thread() : NULL;
    const struct frame *frame = thread != NULL && thread->frame != NULL ? thread->frame->current : NULL;
    if (frame == NULL || frame->code == NULL)
        return NULL;
    const struct code_object *code = frame->code;
    if (code->head.object.type != code_type || code->file->object.type != text_type ||
        code->lines->head.object.type != bytes_type || frame->instruction < code->instructions ||
        frame->instruction >= code->instructions + 2 * code->head.size)
        return NULL;
    return frame;
}

/* --- files and lines */

static const unsigned char *characters_of(const struct text_object *text, size_t *bytes) {
    *bytes = (size_t)text->length * (TEXT_ASCII(text->state) ? 1 : TEXT_KIND(text->state));
    return text->ascii + (TEXT_ASCII(text->state) ? 0 : TEXT_OTHERS);
}

/* As UTF-8; the end of a long one, which says more than its beginning. */
static void copy_text(char *target, size_t size, const struct text_object *text) {
    size_t bytes;
    const unsigned char *from = characters_of(text, &bytes);
    unsigned width = TEXT_ASCII(text->state) ? 1 : TEXT_KIND(text->state);
    char *whole = malloc(4 * (size_t)text->length + 1);
    size_t used = 0;
    target[0] = '\0';
    if (whole == NULL)
        return;
    for (intptr_t i = 0; i < text->length; ++i) {
        uint32_t c = 0;
        memcpy(&c, from + (size_t)i * width, width);
        if (c < 0x80) {
            whole[used++] = (char)c;
        } else if (c < 0x800) {
            whole[used++] = (char)(0xc0 | c >> 6);
            whole[used++] = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
            whole[used++] = (char)(0xe0 | c >> 12);
            whole[used++] = (char)(0x80 | (c >> 6 & 0x3f));
            whole[used++] = (char)(0x80 | (c & 0x3f));
        } else {
            whole[used++] = (char)(0xf0 | c >> 18);
            whole[used++] = (char)(0x80 | (c >> 12 & 0x3f));
            whole[used++] = (char)(0x80 | (c >> 6 & 0x3f));
            whole[used++] = (char)(0x80 | (c & 0x3f));
        }
    }
    whole[used] = '\0';
    size_t first = used >= size ? used - size + 1 : 0;
    while (((unsigned char)whole[first] & 0xc0) == 0x80) /* not in the middle of a character */
        ++first;
    strcpy(target, whole + first);
    free(whole);
}

static unsigned read_varint(const struct bytes_object *table, intptr_t *at) {
    unsigned value = 0;
    for (unsigned shift = 0; *at < table->head.size && shift < 32; shift += 6) {
        unsigned char byte = table->content[(*at)++];
        value |= (byte & 63U) << shift;
        if ((byte & 64U) == 0)
            break;
    }
    return value;
}

/* The line of the instruction at an offset, in bytes; 0: it has none (Objects/locations.md of CPython). */
static int line_at(const struct code_object *code, intptr_t offset) {
    const struct bytes_object *table = code->lines;
    int line = code->first_line;
    intptr_t end = 0;
    for (intptr_t at = 0; at < table->head.size;) {
        unsigned char first = table->content[at++];
        unsigned kind = first >> 3 & 15U;
        if (kind == 13 || kind == 14) { /* a difference with a sign in the last bit */
            unsigned value = read_varint(table, &at);
            line += (value & 1U) != 0 ? -(int)(value >> 1) : (int)(value >> 1);
        } else if (kind >= 10 && kind <= 12) {
            line += (int)kind - 10;
        }
        while (at < table->head.size && (table->content[at] & 128U) == 0) /* columns */
            ++at;
        end += 2 * ((intptr_t)(first & 7U) + 1);
        if (offset < end)
            return kind == 15 ? 0 : line;
    }
    return 0;
}

/* --- sites */

struct python_site {
    int line;
    char file[sizeof((struct trace_site){.offset = 0}.module)];
    char function[128];
};

#define CHUNK 64
struct chunk {
    struct chunk *next;
    int used;
    struct python_site sites[CHUNK];
};

struct known {
    uint64_t key; /* 0: none */
    const struct python_site *site;
};

#define KNOWN (1 << 14) /* places in code, open addressing */
#define CACHED 64       /* per thread */

static struct chunk *chunks;
static struct known *table;
static int entries;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct caches {
    struct known sites[CACHED];
    struct {
        const void *address;
        int is_binding;
    } callers[CACHED];
};
PER_THREAD struct caches *caches;

static uint64_t mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
    return hash ^ hash >> 32;
}

static uint64_t hash_bytes(uint64_t hash, const unsigned char *bytes, size_t size) {
    uint64_t word = 0;
    for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = mixed(hash, word);
    }
    word = size;
    memcpy(&word, bytes, size);
    return mixed(hash, word ^ (uint64_t)size << 56);
}

/* All that file and line follow from: memory that other code had before may be at the same address. */
static uint64_t key_of(const struct code_object *code, intptr_t offset) {
    size_t bytes;
    const unsigned char *file = characters_of(code->file, &bytes);
    uint64_t hash = mixed((uint64_t)offset, (uint64_t)code->first_line);
    hash = hash_bytes(hash, file, bytes);
    return hash_bytes(hash, code->lines->content, (size_t)code->lines->head.size) | 1;
}

/* The site of a file and line; the same for all code that was compiled of it. NULL: no memory. */
static const struct python_site *find_place(const struct code_object *code, int line) {
    struct python_site wanted = {.line = line};
    copy_text(wanted.file, sizeof wanted.file, code->file);
    for (const struct chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
        for (int i = 0; i < chunk->used; ++i)
            if (chunk->sites[i].line == line && strcmp(chunk->sites[i].file, wanted.file) == 0)
                return &chunk->sites[i];
    if (chunks == NULL || chunks->used == CHUNK) {
        struct chunk *more = malloc(sizeof *more);
        if (more == NULL)
            return NULL;
        more->next = chunks;
        more->used = 0;
        chunks = more;
    }
    copy_text(wanted.function, sizeof wanted.function, code->qualified_name);
    struct python_site *site = &chunks->sites[chunks->used++];
    *site = wanted;
    return site;
}

static const struct python_site *find_known(uint64_t key, const struct code_object *code, intptr_t offset) {
    pthread_mutex_lock(&lock);
    if (table == NULL)
        table = calloc(KNOWN, sizeof *table);
    const struct python_site *site = NULL;
    uint64_t place = key % KNOWN;
    while (table != NULL && table[place].key != 0 && table[place].key != key)
        place = (place + 1) % KNOWN;
    if (table != NULL && table[place].key == key) {
        site = table[place].site;
    } else {
        int line = line_at(code, offset);
        site = line > 0 ? find_place(code, line) : NULL;
        if (table != NULL && site != NULL && entries < KNOWN / 2) {
            ++entries;
            table[place] = (struct known){key, site};
        }
    }
    pthread_mutex_unlock(&lock);
    return site;
}

/* Whether an address is in the module of mpi4py, or in what ctypes and cffi call functions through. Modules of users
 * stay sites of their own language: they have several calls, and lines. */
static int is_binding(const void *address) {
    Dl_info found;
    if (in_executable(address) || dladdr(address, &found) == 0 || found.dli_fname == NULL)
        return 0;
    const char *name = strrchr(found.dli_fname, '/');
    name = name != NULL ? name + 1 : found.dli_fname;
    if (strncmp(name, "libffi", 6) == 0)
        return 1;
    if (strncmp(name, "MPI.", 4) != 0)
        return 0;
    void *module = dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    int has_it = module != NULL && dlsym(module, "PyInit_MPI") != NULL;
    if (module != NULL)
        dlclose(module);
    return has_it;
}

const void *python_frame_caller(const void *address) {
    unsigned slot = (unsigned)(((uint64_t)(uintptr_t)address * 0x9e3779b97f4a7c15U) >> 32) % CACHED;
    if (caches == NULL && !thread_memory((void **)(void *)&caches, sizeof *caches))
        return address;
    if (caches->callers[slot].address != address) {
        caches->callers[slot].is_binding = is_binding(address);
        caches->callers[slot].address = address;
    }
    const struct frame *frame = caches->callers[slot].is_binding ? running_frame() : NULL;
    if (frame == NULL)
        return address;
    intptr_t offset = frame->instruction - frame->code->instructions;
    uint64_t key = key_of(frame->code, offset);
    struct known *cached = &caches->sites[(key >> 32) % CACHED];
    if (cached->key != key) {
        const struct python_site *site = find_known(key, frame->code, offset);
        if (site == NULL)
            return address;
        *cached = (struct known){key, site};
    }
    return cached->site;
}

int python_begun;

void python_frames_begin(void) { python_begun = dlsym(RTLD_DEFAULT, "Py_GetVersion") != NULL; }

int python_site(const void *address, struct trace_site *site) {
    const struct python_site *found = NULL;
    pthread_mutex_lock(&lock);
    for (const struct chunk *chunk = chunks; found == NULL && chunk != NULL; chunk = chunk->next)
        if ((uintptr_t)address - (uintptr_t)chunk->sites < sizeof chunk->sites)
            found = address;
    pthread_mutex_unlock(&lock);
    if (found == NULL)
        return 0;
    site->offset = (uint64_t)found->line;
    snprintf(site->module, sizeof site->module, "%s", found->file);
    snprintf(site->symbol, sizeof site->symbol, "%s", found->function);
    snprintf(site->build_id, sizeof site->build_id, "%s", TRACE_PYTHON);
    return 1;
}
