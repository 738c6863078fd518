/* A network between hosts that are network namespaces, with delay, jitter and loss of its own for each direction of
 * each pair: what the kernel's netem does where it is there.
 *
 * Every host gets a TAP device; this one process switches frames between them. A frame is due when it was read, plus
 * delay, plus a jitter drawn uniformly from [0, jitter], and never before the frame that went the same way ahead of it:
 * a wire does not reorder, and TCP takes reordering for loss. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <math.h>
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

#define USAGE                                                                                                          \
    "usage: wire [--seed N] [--pair FROM:TO:DELAY:JITTER:LOSS]... PID PID...\n"                                        \
    "Gives the network namespace of each process PID, in order host 0, 1, ..., a TAP device eth0 and carries frames\n" \
    "between them. A pair is one direction: DELAY and JITTER in seconds, LOSS as a probability; other directions "     \
    "have\n"                                                                                                           \
    "none of them. Says `ready` when the devices are there, and what it did, as JSON, when SIGTERM or SIGINT ends "    \
    "it.\n"

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
static int named_hosts; /* 1 + the highest host that a pair names */
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
static int open_tap(int pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
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

/* The whole of a text as a number in [low, high]. */
static int parse_number(const char *text, double low, double high, double *value) {
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value >= low && *value <= high;
}

static int parse_whole(const char *text, int low, int high, int *value) {
    double number;
    if (!parse_number(text, low, high, &number) || number != floor(number))
        return 0;
    *value = (int)number;
    return 1;
}

static void parse_pair(const char *text) {
    enum { PARTS = 5 };
    char copy[256];
    char *parts[PARTS] = {NULL};
    int count = 0;
    if (strlen(text) < sizeof copy) {
        strcpy(copy, text);
        for (char *rest = copy; rest != NULL; ++count) {
            char *colon = strchr(rest, ':');
            if (colon != NULL)
                *colon = '\0';
            if (count < PARTS)
                parts[count] = rest;
            rest = colon != NULL ? colon + 1 : NULL;
        }
    }
    int from;
    int to;
    double delay;
    double jitter;
    double loss;
    if (count != PARTS || !parse_whole(parts[0], 0, MAX_HOSTS - 1, &from) ||
        !parse_whole(parts[1], 0, MAX_HOSTS - 1, &to) || from == to || !parse_number(parts[2], 0.0, 10.0, &delay) ||
        !parse_number(parts[3], 0.0, 10.0, &jitter) || !parse_number(parts[4], 0.0, 1.0, &loss))
        fail("a pair is FROM:TO:DELAY:JITTER:LOSS, two hosts, seconds up to 10 and a probability; not", text);
    named_hosts = from >= named_hosts ? from + 1 : named_hosts;
    named_hosts = to >= named_hosts ? to + 1 : named_hosts;
    directions[from][to].delay_ns = (int64_t)(delay * NS);
    directions[from][to].jitter_ns = jitter * NS;
    directions[from][to].loss = loss;
}

/* Returns the place of the first PID. */
static int parse_options(int argc, char **argv) {
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        int seed;
        if (strcmp(argv[i], "--help") == 0) {
            fputs(USAGE, stdout);
            exit(0);
        }
        if (strcmp(argv[i], "--pair") != 0 && strcmp(argv[i], "--seed") != 0)
            fail("unknown option; valid are --pair, --seed, --help", argv[i]);
        if (i + 1 == argc)
            fail("option without its value", argv[i]);
        if (strcmp(argv[i], "--pair") == 0)
            parse_pair(argv[i + 1]);
        else if (parse_whole(argv[i + 1], 0, INT32_MAX, &seed))
            random_state = (uint64_t)seed;
        else
            fail("a seed is a whole number, not", argv[i + 1]);
    }
    return i;
}

int main(int argc, char **argv) {
    int first = parse_options(argc, argv);
    host_count = argc - first;
    if (host_count < 2 || host_count > MAX_HOSTS)
        fail("the PIDs of 2 to 16 processes, one per host, are needed", "");
    if (named_hosts > host_count)
        fail("a pair names a host that is not there", "");
    int pids[MAX_HOSTS];
    for (int i = 0; i < host_count; ++i) {
        if (!parse_whole(argv[first + i], 1, INT32_MAX, &pids[i]))
            fail("no process id", argv[first + i]);
    }
    for (int i = 0; i < host_count; ++i)
        hosts[i].tap = open_tap(pids[i]);
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
