/* Phases of the program, as IPM has them: MPI_Pcontrol(1, "solver") begins one, MPI_Pcontrol(-1, "solver") ends it.
 * They nest; a phase within another is another one than by itself. They are the process's, whichever thread is in them,
 * and each has rows of its own in the profile, so a call costs no more. */
#define _GNU_SOURCE
#include "phases.h"

#include "process.h"
#include "recording.h"

#include "utf8_length.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

_Atomic uint16_t phase_now;
static pthread_mutex_t lock = LOCK;

/* Copies what is at an address, up to a 0 or TRACE_PHASE_SIZE bytes, page by page. The kernel reads it, so that an
 * address of anything cannot end the program. Returns how many bytes before the 0; 0: nothing can be read there. */
static size_t read_text(const char *address, char text[TRACE_PHASE_SIZE]) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = 0;
    while (size < TRACE_PHASE_SIZE) {
        size_t rest = page - ((uintptr_t)address + size) % page;
        size_t piece = rest < TRACE_PHASE_SIZE - size ? rest : TRACE_PHASE_SIZE - size;
        struct iovec to = {text + size, piece};
        struct iovec from = {(char *)(uintptr_t)(address + size), piece};
        if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)piece) {
            static _Atomic int told;
            if ((errno == EPERM || errno == ENOSYS) && !told++)
                say("phases of MPI_Pcontrol are not recorded: process_vm_readv fails: %s; allow it in the container",
                    strerror(errno));
            return 0;
        }
        const char *end = memchr(text + size, '\0', piece);
        if (end != NULL)
            return (size_t)(end - text);
        size += piece;
    }
    return size;
}

/* C does not say how many arguments a call has: after a bare MPI_Pcontrol(1) `address` is what a register had. It is a
 * name if a text in UTF-8 without control characters is there, which is cut to what the file has room for. Where such a
 * text is there by chance, a phase begins that never ends; who reads the file knows it by that. */
static int read_name(const char *address, char name[TRACE_PHASE_SIZE]) {
    char text[TRACE_PHASE_SIZE];
    size_t size = read_text(address, text);
    size_t kept = 0;
    while (kept < size) {
        size_t length = utf8_length(text + kept, size - kept);
        if (length == 0 && size - kept >= 4) /* else a character that was cut */
            return 0;
        if (length == 0 || kept + length >= TRACE_PHASE_SIZE)
            break;
        kept += length;
    }
    if (kept < size && size < TRACE_PHASE_SIZE)
        return 0;
    memset(name, 0, TRACE_PHASE_SIZE);
    memcpy(name, text, kept);
    return kept > 0;
}

static struct trace_phase *entry_of(uint16_t phase) { return recording_phase(phase - 1U); }

static int is_open(const struct trace_phase *phase) { return phase->begins > phase->ends + phase->cut; }

/* The phase of this name within another one, made if need be; 0: no room, which is counted. */
static uint16_t find_phase(uint16_t parent, const char name[TRACE_PHASE_SIZE]) {
    uint32_t count = recording_phases();
    for (uint32_t i = 0; i < count; ++i)
        if (recording_phase(i)->parent == parent && strcmp(recording_phase(i)->name, name) == 0)
            return (uint16_t)(i + 1);
    struct trace_phase made = {.parent = parent};
    memcpy(made.name, name, TRACE_PHASE_SIZE);
    uint32_t number = recording_add_phase(&made);
    return number == TRACE_NONE ? 0 : (uint16_t)(number + 1);
}

static void begin_phase(const char name[TRACE_PHASE_SIZE]) {
    uint16_t phase = phase_now;
    if (phase == 0 || strcmp(entry_of(phase)->name, name) != 0) /* else within itself: the same one */
        phase = find_phase(phase, name);
    if (phase == 0)
        return;
    if (!is_open(entry_of(phase)))
        entry_of(phase)->began = recording_ticks();
    ++entry_of(phase)->begins;
    phase_now = phase;
}

/* Ends what is left of a phase within one that ends, at the end of the program too. */
static void leave_phase(struct trace_phase *phase, int64_t now) {
    phase->ticks += now - phase->began;
    phase_now = phase->parent;
}

static void end_phase(const char name[TRACE_PHASE_SIZE]) {
    int64_t now = recording_ticks();
    uint16_t ending = phase_now;
    while (ending != 0 && strcmp(entry_of(ending)->name, name) != 0)
        ending = entry_of(ending)->parent;
    if (ending == 0) {
        uint16_t stray = find_phase(phase_now, name);
        if (stray != 0)
            ++entry_of(stray)->strays;
        return;
    }
    while (phase_now != ending) {
        struct trace_phase *inner = entry_of(phase_now);
        inner->cut = inner->begins - inner->ends;
        leave_phase(inner, now);
    }
    struct trace_phase *phase = entry_of(ending);
    ++phase->ends;
    if (!is_open(phase))
        leave_phase(phase, now);
}

void phases_control(int level, const char *address) {
    char name[TRACE_PHASE_SIZE];
    if (!settings.record || !read_name(address, name))
        return;
    pthread_mutex_lock(&lock);
    if (level > 0)
        begin_phase(name);
    else
        end_phase(name);
    pthread_mutex_unlock(&lock);
}

void phases_end(void) {
    int64_t now = recording_ticks();
    while (phase_now != 0)
        leave_phase(entry_of(phase_now), now);
}
