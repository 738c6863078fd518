/* Phases of the program (phases.h), like in IPM: MPI_Pcontrol(1, "solver") begins a phase, MPI_Pcontrol(-1, "solver")
 * ends it. Phases nest; a phase inside another phase is distinct from a phase of the same name outside. They apply to
 * all threads of the process. Each phase has separate rows in the profile. A call looks up its row anyway, with the
 * current phase as a part of the key, so phases do not make calls slower. */
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

_Atomic uint16_t current_phase;
static pthread_mutex_t lock = LOCK;

/* Copies the bytes at an address, page by page, up to a 0 or TRACE_PHASE_SIZE bytes. Reads by process_vm_readv, so that
 * an invalid address does not end the program. Returns the number of bytes before the 0; 0 if the address is not
 * readable. */
static size_t read_text(const char *address, char text[TRACE_PHASE_SIZE]) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = 0;
    while (size < TRACE_PHASE_SIZE) {
        size_t remaining = page - ((uintptr_t)address + size) % page;
        size_t piece = remaining < TRACE_PHASE_SIZE - size ? remaining : TRACE_PHASE_SIZE - size;
        struct iovec to = {text + size, piece};
        struct iovec from = {(char *)(uintptr_t)(address + size), piece};
        if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)piece) {
            static _Atomic int printed;
            if ((errno == EPERM || errno == ENOSYS) && !printed++)
                print_message(
                    "phases of MPI_Pcontrol are not recorded: process_vm_readv fails: %s; allow it in the container",
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

/* Reads a phase's name. Returns 0 without a name. The number of arguments of a variadic call is unknown: after a bare
 * MPI_Pcontrol(1), `address` is the value of a register. It counts as a name if it points to UTF-8 text without control
 * characters, which is truncated to the size in the file. If there is such a text by chance, a phase begins that never
 * ends; readers of the file recognize it by that. */
static int read_name(const char *address, char name[TRACE_PHASE_SIZE]) {
    char text[TRACE_PHASE_SIZE];
    size_t size = read_text(address, text);
    size_t valid_size = 0;
    while (valid_size < size) {
        size_t length = utf8_length(text + valid_size, size - valid_size);
        /* 0: a control character or invalid UTF-8. With fewer than 4 bytes left, it may also be a truncated character.
         */
        if (length == 0 && size - valid_size >= 4)
            return 0;
        if (length == 0 || valid_size + length >= TRACE_PHASE_SIZE)
            break;
        valid_size += length;
    }
    /* A truncated character at the end is allowed only if the text itself is truncated. */
    if (valid_size < size && size < TRACE_PHASE_SIZE)
        return 0;
    memset(name, 0, TRACE_PHASE_SIZE);
    memcpy(name, text, valid_size);
    return valid_size > 0;
}

/* The entry of a phase by its number, from 1. */
static struct trace_phase *entry_of(uint16_t phase) { return recording_phase(phase - 1U); }

/* Returns 1 if the phase has begun more often than it has ended or was cut off by the end of an outer phase. */
static int is_open(const struct trace_phase *phase) { return phase->begins > phase->ends + phase->cut; }

/* Finds or creates the phase of this name within `parent`. Returns its number; 0 if there is no room, which is counted
 * in the header. */
static uint16_t find_phase(uint16_t parent, const char name[TRACE_PHASE_SIZE]) {
    uint32_t count = recording_phases();
    for (uint32_t i = 0; i < count; ++i)
        if (recording_phase(i)->parent == parent && strcmp(recording_phase(i)->name, name) == 0)
            return (uint16_t)(i + 1);
    struct trace_phase phase = {.parent = parent};
    memcpy(phase.name, name, TRACE_PHASE_SIZE);
    uint32_t number = recording_add_phase(&phase);
    return number == TRACE_NONE ? 0 : (uint16_t)(number + 1);
}

/* Begins a phase inside the current phase. A phase that begins again inside itself is counted, but its time only once.
 */
static void begin_phase(const char name[TRACE_PHASE_SIZE]) {
    uint16_t phase = current_phase;
    /* A phase directly inside a phase of the same name is the same phase. */
    if (phase == 0 || strcmp(entry_of(phase)->name, name) != 0)
        phase = find_phase(phase, name);
    if (phase == 0)
        return;
    if (!is_open(entry_of(phase)))
        entry_of(phase)->began = recording_ticks();
    ++entry_of(phase)->begins;
    current_phase = phase;
}

/* Leaves a phase: adds its time and returns to its parent. */
static void leave_phase(struct trace_phase *phase, int64_t now) {
    phase->ticks += now - phase->began;
    current_phase = phase->parent;
}

/* Ends the innermost open phase with this name, and cuts off the phases inside it. Without such a phase, counts a stray
 * end. */
static void end_phase(const char name[TRACE_PHASE_SIZE]) {
    int64_t now = recording_ticks();
    uint16_t ending = current_phase;
    while (ending != 0 && strcmp(entry_of(ending)->name, name) != 0)
        ending = entry_of(ending)->parent;
    if (ending == 0) {
        uint16_t stray = find_phase(current_phase, name);
        if (stray != 0)
            ++entry_of(stray)->strays; /* ends without a begin */
        return;
    }
    while (current_phase != ending) {
        struct trace_phase *inner = entry_of(current_phase);
        inner->cut = inner->begins - inner->ends; /* begins without an end before the enclosing phase ended */
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
    while (current_phase != 0)
        leave_phase(entry_of(current_phase), now);
}
