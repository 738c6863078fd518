/* Call sites in Python (python_frames.h): file and line of the running frame if the caller is a Python binding of MPI.
 * All calls by a binding have the same return address, so the return address does not distinguish the lines of a
 * program.
 *
 * A thread's frames do not change while it is in MPI, and they hold references to their objects. So they are read
 * without the GIL, which the binding has released: acquiring it may take 5 ms, or deadlock. The layout of frames
 * differs between versions of Python; for a version that is not listed here, the return address is the site. */
#define _GNU_SOURCE
#include "python_frames.h"

#include "executable.h"
#include "thread_memory.h"

#include "split_mix.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- CPython on 64-bit machines: Include/cpython/{pystate,code,unicodeobject,bytesobject}.h and
 * Include/internal/pycore_frame.h. */

/* Offsets in objects, bytes. */
#define TYPE 8           /* any object: its type */
#define SIZE 16          /* code object: number of instructions of 2 bytes; bytes object: bytes; string: characters */
#define TEXT_STATE 32    /* string: its form (characters_of) */
#define BYTES_CONTENT 32 /* bytes object: the first byte */
#define INSTRUCTION 56   /* frame: the current instruction, or one of its caches */
#define CODE_FILE 112    /* code object: path of the file, a string */
#define CODE_NAME 128    /* code object: qualified name of the function, a string */
#define CODE_LINES 136   /* code object: table of lines, a bytes object (line_of) */

/* Offsets that differ between versions, bytes; `tests/preload/test_python_programs.py` runs each of them that is
 * installed. */
struct layout {
    unsigned version; /* 0x030b: 3.11 */
    int c_frame; /* in the thread state: pointer to the structure that has the frame pointer; -1: the thread state has
                    it */
    int frame;   /* in the thread state, or the structure of c_frame: pointer to the current frame */
    int code;    /* in a frame: pointer to its code object */
    int first_line, instructions; /* in a code object: first line; array of instructions */
    int ascii, wide;              /* in a string: characters of an ASCII string, of another string */
};
static const struct layout layouts[] = {
    {.version = 0x030b,
     .c_frame = 56,
     .frame = 8,
     .code = 32,
     .first_line = 72,
     .instructions = 184,
     .ascii = 48,
     .wide = 72},
    {.version = 0x030c,
     .c_frame = 56,
     .frame = 0,
     .code = 0,
     .first_line = 68,
     .instructions = 192,
     .ascii = 40,
     .wide = 56},
    {.version = 0x030d,
     .c_frame = -1,
     .frame = 72,
     .code = 0,
     .first_line = 68,
     .instructions = 200,
     .ascii = 40,
     .wide = 56},
};
/* Symbols of builds with another object header: with reference tracing, and without the GIL. */
static const char *const other_builds[] = {"PyModule_Create2TraceRefs", "_Py_MergeZeroLocalRefcount"};

static const struct layout *layout; /* NULL: no Python, or an unknown version */
static const char *(*this_thread)(void);
static const void *code_type, *text_type, *bytes_type;
static pthread_once_t find_once = PTHREAD_ONCE_INIT;

/* The pointer stored in a Python object at an offset. */
static const char *pointer_at(const char *object, int offset) {
    const char *value;
    memcpy(&value, object + offset, sizeof value);
    return value;
}

static size_t size_of(const char *object) { return (size_t)(uintptr_t)pointer_at(object, SIZE); }

/* True if a Python object is an instance of exactly this type. */
static int is_of_type(const char *object, const void *type) {
    return object != NULL && pointer_at(object, TYPE) == type;
}

static void find_python(void) {
    if (sizeof(void *) != 8)
        return;
    const unsigned long *version = dlsym(RTLD_DEFAULT, "Py_Version");
    code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
    text_type = dlsym(RTLD_DEFAULT, "PyUnicode_Type");
    bytes_type = dlsym(RTLD_DEFAULT, "PyBytes_Type");
    *(void **)(void *)&this_thread = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    if (version == NULL || code_type == NULL || text_type == NULL || bytes_type == NULL || this_thread == NULL)
        return;
    for (size_t i = 0; i < sizeof other_builds / sizeof *other_builds; ++i)
        if (dlsym(RTLD_DEFAULT, other_builds[i]) != NULL)
            return;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; ++i)
        if (layouts[i].version == *version >> 16)
            layout = &layouts[i];
}

/* An instruction of a Python program. */
struct instruction {
    const char *code;
    size_t offset; /* bytes */
};

/* Returns the current instruction of this thread; `code` is NULL if it is unknown. */
static struct instruction running_instruction(void) {
    static const struct instruction none = {NULL, 0};
    pthread_once(&find_once, find_python);
    const char *state = layout != NULL ? this_thread() : NULL;
    if (state != NULL && layout->c_frame >= 0)
        state = pointer_at(state, layout->c_frame);
    const char *frame = state != NULL ? pointer_at(state, layout->frame) : NULL;
    const char *code = frame != NULL ? pointer_at(frame, layout->code) : NULL;
    if (!is_of_type(code, code_type) || !is_of_type(pointer_at(code, CODE_FILE), text_type) ||
        !is_of_type(pointer_at(code, CODE_LINES), bytes_type))
        return none;
    size_t offset = (size_t)(pointer_at(frame, INSTRUCTION) - (code + layout->instructions));
    return offset < 2 * size_of(code) ? (struct instruction){code, offset} : none;
}

/* --- files and lines */

/* Sets `first` to the address of a string's characters. Returns the size of a character in bytes. Bits of the form:
 * bit 6: ASCII; bits 2 to 4: size of a character. */
static unsigned characters_of(const char *text, const char **first) {
    uint32_t state;
    memcpy(&state, text + TEXT_STATE, sizeof state);
    unsigned is_ascii = state >> 6 & 1U;
    *first = text + (is_ascii ? layout->ascii : layout->wide);
    return is_ascii ? 1 : state >> 2 & 7U;
}

/* Copies a string as UTF-8. Copies only the end of a long string, since the end of a path is more specific. */
static void copy_text(char *target, size_t size, const char *text) {
    const char *from;
    unsigned width = characters_of(text, &from);
    size_t length = size_of(text);
    char *utf8 = malloc(4 * length + 1);
    size_t used = 0;
    target[0] = '\0';
    if (utf8 == NULL)
        return;
    for (size_t i = 0; i < length; ++i) {
        uint32_t c = 0;
        memcpy(&c, from + i * width, width);
        if (c < 0x80) {
            utf8[used++] = (char)c;
        } else if (c < 0x800) {
            utf8[used++] = (char)(0xc0 | c >> 6);
            utf8[used++] = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
            utf8[used++] = (char)(0xe0 | c >> 12);
            utf8[used++] = (char)(0x80 | (c >> 6 & 0x3f));
            utf8[used++] = (char)(0x80 | (c & 0x3f));
        } else {
            utf8[used++] = (char)(0xf0 | c >> 18);
            utf8[used++] = (char)(0x80 | (c >> 12 & 0x3f));
            utf8[used++] = (char)(0x80 | (c >> 6 & 0x3f));
            utf8[used++] = (char)(0x80 | (c & 0x3f));
        }
    }
    utf8[used] = '\0';
    size_t first = used >= size ? used - size + 1 : 0;
    while (((unsigned char)utf8[first] & 0xc0) == 0x80) /* begin at a complete character */
        ++first;
    strcpy(target, utf8 + first);
    free(utf8);
}

/* Reads a number of variable length, 6 bits per byte, from `at` on, and moves `at` behind it. */
static unsigned read_varint(const unsigned char **at, const unsigned char *end) {
    unsigned value = 0;
    for (unsigned shift = 0; *at < end && shift < 32; shift += 6) {
        unsigned char byte = *(*at)++;
        value |= (byte & 63U) << shift;
        if ((byte & 64U) == 0)
            break;
    }
    return value;
}

/* Returns the table of lines of a code object, and its size in bytes. */
static const unsigned char *lines_of(const char *code, size_t *bytes) {
    const char *lines = pointer_at(code, CODE_LINES);
    *bytes = size_of(lines);
    return (const unsigned char *)lines + BYTES_CONTENT;
}

/* The line of the source file in which a code object begins. */
static int first_line_of(const char *code) {
    int line;
    memcpy(&line, code + layout->first_line, sizeof line);
    return line;
}

/* Returns the line of an instruction; 0 if it has none. The table of lines is a sequence of entries
 * (Objects/locations.md of CPython). Kinds of entries: 0 to 9: on the same line as the entry before; 10 to 12: 0 to 2
 * lines later; 13 and 14: with a signed difference; 15: without a line. */
static int line_of(struct instruction instruction) {
    size_t bytes;
    const unsigned char *at = lines_of(instruction.code, &bytes), *end = at + bytes;
    int line = first_line_of(instruction.code);
    for (size_t covered = 0; at < end;) {
        unsigned char first = *at++;
        unsigned kind = first >> 3 & 15U; /* bits 3 to 6 of the first byte of an entry */
        if (kind == 13 || kind == 14) {   /* a signed difference, with the sign in the last bit */
            unsigned value = read_varint(&at, end);
            line += (value & 1U) != 0 ? -(int)(value >> 1) : (int)(value >> 1);
        } else if (kind >= 10 && kind <= 12) {
            line += (int)kind - 10;
        }
        while (at < end && (*at & 128U) == 0) /* skip the columns, bytes without bit 7 */
            ++at;
        covered += 2 * ((first & 7U) + (size_t)1); /* bits 0 to 2: number of instructions of the entry - 1 */
        if (instruction.offset < covered)
            return kind == 15 ? 0 : line;
    }
    return 0;
}

/* --- sites */

/* A call site. Its address is used in place of a return address. */
struct python_site {
    int line;
    char file[TRACE_MODULE_SIZE];
    char function[128]; /* qualified name; truncated at its beginning */
};

#define CHUNK 64 /* sites */
struct chunk {
    struct chunk *next;
    int used; /* number of sites in use */
    struct python_site sites[CHUNK];
};

/* An entry of the table of Python sites. */
struct table_entry {
    uint64_t key; /* hash of the instruction (key_of); 0: empty */
    const struct python_site *site;
};

#define TABLE_SIZE (1 << 14) /* open addressing */
#define CACHED 64            /* per thread */

static struct chunk *chunks;      /* all sites; they never move */
static struct table_entry *table; /* sites by the key of an instruction */
static int entries;               /* number of entries in the table */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Caches of a thread. */
struct caches {
    struct table_entry sites[CACHED]; /* by the key of an instruction */
    struct {
        const void *address; /* return address of the wrapper */
        int is_binding;      /* result of is_binding */
    } callers[CACHED];       /* by return address */
};
PER_THREAD struct caches *caches;

/* Adds a word to a hash. */
static uint64_t mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * GOLDEN_GAMMA;
    return hash ^ hash >> 32;
}

static uint64_t hash_bytes(uint64_t hash, const void *from, size_t size) {
    const unsigned char *bytes = from;
    uint64_t word = 0;
    for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = mixed(hash, word);
    }
    word = size;
    memcpy(&word, bytes, size);
    return mixed(hash, word ^ (uint64_t)size << 56);
}

/* Hash of the data that determine file and line; never 0. Not the address of the code object, because memory of freed
 * code objects is used again. */
static uint64_t key_of(struct instruction instruction) {
    const char *file = pointer_at(instruction.code, CODE_FILE), *characters;
    unsigned width = characters_of(file, &characters);
    size_t bytes;
    const unsigned char *lines = lines_of(instruction.code, &bytes);
    uint64_t hash = mixed(instruction.offset, (uint64_t)first_line_of(instruction.code));
    hash = hash_bytes(hash, characters, width * size_of(file));
    return hash_bytes(hash, lines, bytes) | 1;
}

/* Finds or creates the site of a file and line. All code objects that were compiled from it share the site. Returns
 * NULL if out of memory. The caller holds the lock. */
static const struct python_site *find_site(const char *code, int line) {
    struct python_site key_site = {.line = line};
    copy_text(key_site.file, sizeof key_site.file, pointer_at(code, CODE_FILE));
    for (const struct chunk *chunk = chunks; chunk != NULL; chunk = chunk->next)
        for (int i = 0; i < chunk->used; ++i)
            if (chunk->sites[i].line == line && strcmp(chunk->sites[i].file, key_site.file) == 0)
                return &chunk->sites[i];
    if (chunks == NULL || chunks->used == CHUNK) {
        struct chunk *more = malloc(sizeof *more);
        if (more == NULL)
            return NULL;
        more->next = chunks;
        more->used = 0;
        chunks = more;
    }
    copy_text(key_site.function, sizeof key_site.function, pointer_at(code, CODE_NAME));
    struct python_site *site = &chunks->sites[chunks->used++];
    *site = key_site;
    return site;
}

/* Finds or creates the site of an instruction with this key; NULL if it has no line or memory is short. */
static const struct python_site *look_up(uint64_t key, struct instruction instruction) {
    pthread_mutex_lock(&lock);
    if (table == NULL)
        table = calloc(TABLE_SIZE, sizeof *table);
    const struct python_site *site = NULL;
    uint64_t index = key % TABLE_SIZE;
    while (table != NULL && table[index].key != 0 && table[index].key != key)
        index = (index + 1) % TABLE_SIZE;
    if (table != NULL && table[index].key == key) {
        site = table[index].site;
    } else {
        int line = line_of(instruction);
        site = line > 0 ? find_site(instruction.code, line) : NULL;
        if (table != NULL && site != NULL && entries < TABLE_SIZE / 2) {
            ++entries;
            table[index] = (struct table_entry){key, site};
        }
    }
    pthread_mutex_unlock(&lock);
    return site;
}

/* Returns 1 if an address is in mpi4py's module, or in libffi, by which ctypes and cffi call functions. Other extension
 * modules are not bindings: their return addresses are the sites. */
static int is_binding(const void *address) {
    Dl_info object;
    if (in_executable(address) || dladdr(address, &object) == 0 || object.dli_fname == NULL)
        return 0;
    const char *name = strrchr(object.dli_fname, '/');
    name = name != NULL ? name + 1 : object.dli_fname;
    if (strncmp(name, "libffi", 6) == 0)
        return 1;
    if (strncmp(name, "MPI.", 4) != 0)
        return 0;
    void *module = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    int is_mpi4py = module != NULL && dlsym(module, "PyInit_MPI") != NULL;
    if (module != NULL)
        dlclose(module);
    return is_mpi4py;
}

const void *python_frame_caller(const void *address) {
    unsigned slot = (unsigned)(((uint64_t)(uintptr_t)address * GOLDEN_GAMMA) >> 32) % CACHED;
    if (caches == NULL && !thread_memory((void **)(void *)&caches, sizeof *caches))
        return address;
    if (caches->callers[slot].address != address) {
        caches->callers[slot].is_binding = is_binding(address);
        caches->callers[slot].address = address;
    }
    if (!caches->callers[slot].is_binding)
        return address;
    struct instruction running = running_instruction();
    if (running.code == NULL)
        return address;
    uint64_t key = key_of(running);
    struct table_entry *cached = &caches->sites[(key >> 32) % CACHED];
    if (cached->key != key) {
        const struct python_site *site = look_up(key, running);
        if (site == NULL)
            return address;
        *cached = (struct table_entry){key, site};
    }
    return cached->site;
}

int python_begun;

void python_frames_begin(void) { python_begun = dlsym(RTLD_DEFAULT, "Py_GetVersion") != NULL; }

int python_site(const void *address, struct trace_site *site) {
    const struct python_site *match = NULL;
    pthread_mutex_lock(&lock);
    for (const struct chunk *chunk = chunks; match == NULL && chunk != NULL; chunk = chunk->next)
        if ((uintptr_t)address - (uintptr_t)chunk->sites < sizeof chunk->sites)
            match = address;
    pthread_mutex_unlock(&lock);
    if (match == NULL)
        return 0;
    site->offset = (uint64_t)match->line;
    snprintf(site->module, sizeof site->module, "%s", match->file);
    snprintf(site->symbol, sizeof site->symbol, "%s", match->function);
    snprintf(site->build_id, sizeof site->build_id, "%s", TRACE_PYTHON);
    return 1;
}
