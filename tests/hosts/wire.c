/* A network between hosts that are network namespaces, with delay, jitter and loss of its own for each direction of
 * each pair: what the kernel's netem does where it is there.
 *
 * Every host gets a TAP device; this one process switches frames between them. A frame is due when it was read, plus
 * delay, plus a jitter drawn uniformly from [0, jitter], and never before the frame that went the same way ahead of it:
 * a wire does not reorder, and TCP takes reordering for loss.
 *
 *     wire SEED FROM:TO:DELAY:JITTER:LOSS... PID PID...
 *
 * Gives the network namespace of each process PID, in order host 0, 1, ..., a TAP device eth0. DELAY and JITTER are in
 * seconds, LOSS is a probability; directions that are not named have none of them. Says `ready` when the devices are
 * there, and what it did, as JSON, when SIGTERM or SIGINT ends it. The command hosts starts it, and has checked. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define DEVICE "eth0"
#define NS 1000000000

enum {
    MAX_HOSTS = 16,
    MAX_FRAME = 65536,
    MAX_QUEUED = 4096, /* frames under way in one direction: 6 MB at the usual size */
    BURST = 64,        /* frames read from one host before the others have their turn */
    ADDRESS = 6,       /* bytes of an Ethernet address; the destination's comes first, then the source's */
    SHORTEST_FRAME = 14,
};

struct frame {
    struct frame *next;
    int64_t due_ns;
    size_t length;
    unsigned char bytes[];
};

/* One direction between two hosts: what it does to frames, those under way, first in first out, and what became of the
 * others. */
struct direction {
    int64_t delay_ns;
    double jitter_ns;
    double loss;
    struct frame *first;
    struct frame *last;
    int64_t last_due_ns;
    int queued;
    long long carried;
    long long lost;    /* by chance, as asked for */
    long long dropped; /* no room, or the other end did not take it */
    int64_t late_sum_ns;
    int64_t late_max_ns;
};

struct host {
    int tap;
    int known; /* whether its address was learned */
    unsigned char address[ADDRESS];
};

static int host_count;
static struct host hosts[MAX_HOSTS];
static struct direction directions[MAX_HOSTS][MAX_HOSTS];
static uint64_t random_state;
static volatile sig_atomic_t stopped;

static void stop(int number) {
    (void)number;
    stopped = 1;
}

static _Noreturn void fail(const char *what, const char *detail) {
    fprintf(stderr, "wire: %s%s%s\n", what, detail[0] != '\0' ? ": " : "", detail);
    exit(2);
}

/* As the library's default clock, not steered by NTP: no delay is shorter than asked for. */
static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (int64_t)time.tv_sec * NS + time.tv_nsec;
}

/* Uniform in [0, 1): SplitMix64 (Steele, Lea, Flood 2014). */
static double uniform(void) {
    uint64_t z = random_state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void transmit(const struct host *to, struct direction *way, const struct frame *frame) {
    ssize_t written = write(to->tap, frame->bytes, frame->length);
    if (written != (ssize_t)frame->length) {
        ++way->dropped; /* its device is down, or has no room */
        return;
    }
    int64_t late_ns = now_ns() - frame->due_ns;
    ++way->carried;
    way->late_sum_ns += late_ns;
    if (late_ns > way->late_max_ns)
        way->late_max_ns = late_ns;
}

static void enqueue(struct direction *way, const unsigned char *bytes, size_t length, int64_t read_ns) {
    if (way->loss > 0.0 && uniform() < way->loss) {
        ++way->lost;
        return;
    }
    struct frame *frame = way->queued < MAX_QUEUED ? malloc(sizeof *frame + length) : NULL;
    if (frame == NULL) {
        ++way->dropped;
        return;
    }
    int64_t due_ns = read_ns + way->delay_ns;
    if (way->jitter_ns > 0.0)
        due_ns += (int64_t)(uniform() * way->jitter_ns);
    if (due_ns < way->last_due_ns)
        due_ns = way->last_due_ns;
    way->last_due_ns = due_ns;
    *frame = (struct frame){.due_ns = due_ns, .length = length};
    memcpy(frame->bytes, bytes, length);
    if (way->first == NULL)
        way->first = frame;
    else
        way->last->next = frame;
    way->last = frame;
    ++way->queued;
}

/* To the host whose address it bears; to all, where that is a group's or not known yet. */
static void route(int from, const unsigned char *bytes, size_t length, int64_t read_ns) {
    memcpy(hosts[from].address, bytes + ADDRESS, ADDRESS);
    hosts[from].known = 1;
    for (int to = 0; to < host_count; ++to) {
        if (to != from && hosts[to].known && memcmp(hosts[to].address, bytes, ADDRESS) == 0) {
            enqueue(&directions[from][to], bytes, length, read_ns);
            return;
        }
    }
    for (int to = 0; to < host_count; ++to) {
        if (to != from)
            enqueue(&directions[from][to], bytes, length, read_ns);
    }
}

static void read_frames(int from) {
    static unsigned char bytes[MAX_FRAME];
    for (int i = 0; i < BURST; ++i) {
        ssize_t length = read(hosts[from].tap, bytes, sizeof bytes);
        if (length < SHORTEST_FRAME)
            return; /* nothing more */
        route(from, bytes, (size_t)length, now_ns());
    }
}

/* Sends what is due; returns when the next frame will be, or INT64_MAX. */
static int64_t send_due(void) {
    int64_t next_ns = INT64_MAX;
    for (int from = 0; from < host_count; ++from) {
        for (int to = 0; to < host_count; ++to) {
            struct direction *way = &directions[from][to];
            while (way->first != NULL && way->first->due_ns <= now_ns()) {
                struct frame *frame = way->first;
                way->first = frame->next;
                --way->queued;
                transmit(&hosts[to], way, frame);
                free(frame);
            }
            if (way->first != NULL && way->first->due_ns < next_ns)
                next_ns = way->first->due_ns;
        }
    }
    return next_ns;
}

/* Until a signal says stop. Signals arrive during the wait only. */
static void carry(const sigset_t *during_wait) {
    struct pollfd taps[MAX_HOSTS];
    for (int i = 0; i < host_count; ++i)
        taps[i] = (struct pollfd){.fd = hosts[i].tap, .events = POLLIN};
    while (!stopped) {
        const int64_t next_ns = send_due();
        int64_t wait_ns = next_ns == INT64_MAX ? NS : next_ns - now_ns();
        if (wait_ns < 0)
            wait_ns = 0;
        const struct timespec wait = {.tv_sec = wait_ns / NS, .tv_nsec = wait_ns % NS};
        int ready = ppoll(taps, (nfds_t)host_count, &wait, during_wait);
        if (ready < 0 && errno != EINTR)
            fail("cannot wait for frames", strerror(errno));
        for (int i = 0; i < host_count && ready > 0; ++i) {
            if (taps[i].revents & (POLLERR | POLLNVAL))
                fail("a device has gone", "");
            if (taps[i].revents & POLLIN)
                read_frames(i);
        }
    }
}

/* A TAP device in the network namespace of a process: it belongs to where /dev/net/tun is opened. */
static int open_tap(const char *pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
    int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0)
        fail(path, strerror(errno));
    close(space);
    int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (tap < 0)
        fail("/dev/net/tun", strerror(errno));
    struct ifreq request = {.ifr_name = DEVICE};
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (ioctl(tap, TUNSETIFF, &request) != 0)
        fail("cannot make a TAP device " DEVICE, strerror(errno));
    return tap;
}

static void print_statistics(int realtime) {
    printf("{\"realtime\": %s, \"directions\": [", realtime ? "true" : "false");
    const char *separator = "";
    for (int from = 0; from < host_count; ++from) {
        for (int to = 0; to < host_count; ++to) {
            const struct direction *way = &directions[from][to];
            if (from == to)
                continue;
            double mean_ns = way->carried > 0 ? (double)way->late_sum_ns / (double)way->carried : 0.0;
            printf("%s{\"from\": %d, \"to\": %d, \"carried\": %lld, \"lost\": %lld, \"dropped\": %lld, "
                   "\"late_mean_us\": %.1f, \"late_max_us\": %.1f}",
                   separator, from, to, way->carried, way->lost, way->dropped, mean_ns / 1e3,
                   (double)way->late_max_ns / 1e3);
            separator = ", ";
        }
    }
    printf("]}\n");
}

/* Whether the text is a direction. */
static int parse_direction(const char *text) {
    int from;
    int to;
    double delay;
    double jitter;
    double loss;
    if (sscanf(text, "%d:%d:%lf:%lf:%lf", &from, &to, &delay, &jitter, &loss) != 5)
        return 0;
    if (from < 0 || from >= MAX_HOSTS || to < 0 || to >= MAX_HOSTS)
        fail("no such hosts", text);
    directions[from][to] =
        (struct direction){.delay_ns = (int64_t)(delay * NS), .jitter_ns = jitter * NS, .loss = loss};
    return 1;
}

int main(int argc, char **argv) {
    int first = 2;
    while (first < argc && parse_direction(argv[first]))
        ++first;
    host_count = argc - first;
    if (host_count < 2 || host_count > MAX_HOSTS)
        fail("usage", "wire SEED FROM:TO:DELAY:JITTER:LOSS... PID PID..., of 2 to 16 hosts");
    random_state = strtoull(argv[1], NULL, 10);
    for (int i = 0; i < host_count; ++i)
        hosts[i].tap = open_tap(argv[first + i]);
    /* The ranks spin on all processors: without priority a frame would wait for a time slice to end. */
    const struct sched_param priority = {.sched_priority = 1};
    const int realtime = sched_setscheduler(0, SCHED_FIFO, &priority) == 0;

    const struct sigaction action = {.sa_handler = stop};
    sigset_t signals;
    sigset_t during_wait;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    if (sigprocmask(SIG_BLOCK, &signals, &during_wait) != 0 || sigaction(SIGTERM, &action, NULL) != 0 ||
        sigaction(SIGINT, &action, NULL) != 0)
        fail("cannot handle signals", strerror(errno));
    sigdelset(&during_wait, SIGTERM);
    sigdelset(&during_wait, SIGINT);

    printf("ready\n");
    fflush(stdout);
    carry(&during_wait);
    print_statistics(realtime);
    return 0;
}
