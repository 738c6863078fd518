/* Trees of mailboxes: their shape, and words that go up and down in them, or are exchanged, between threads that stand
 * for processes, so that the thread sanitizer sees the order of memory. Without MPI. */
#include "check.h"
#include "start/transport.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST 300

static uint64_t random_state = 1;

static int uniform(int below) {
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (int)((random_state >> 33) % (uint64_t)below);
}

static int depth_of(const struct db_branch *branches, int place) {
    int depth = 0;
    for (; branches[place].parent >= 0; place = branches[place].parent)
        CHECK_THAT(++depth, <=, 20); /* and not a ring */
    return depth;
}

static int is_child(const struct db_branch *branch, int place) {
    for (int i = 0; i < branch->count; ++i)
        if (branch->children[i] == place)
            return 1;
    return 0;
}

/* Whatever the caches: one tree of all, whose parents know their children, none of them too many. */
static void check_tree(int size, const int64_t *caches, int most_depth) {
    static struct db_branch branches[MOST];
    int children = 0;
    for (int i = 0; i < size; ++i)
        branches[i] = db_branch_of(i, size, caches);
    for (int i = 0; i < size; ++i) {
        CHECK_THAT(branches[i].count, <=, DB_MAX_CHILDREN);
        children += branches[i].count;
        CHECK_THAT(branches[i].parent < 0, ==, i == 0);
        CHECK(i == 0 || is_child(&branches[branches[i].parent], i));
        CHECK_THAT(depth_of(branches, i), <=, most_depth);
        /* Words go to another cache once on the way up: from the first of its own. */
        int crossings = 0;
        for (int place = i; branches[place].parent > 0; place = branches[place].parent)
            crossings += caches[place] == caches[i] && caches[branches[place].parent] != caches[i];
        CHECK_THAT(crossings, <=, 1);
    }
    CHECK_THAT(children, ==, size - 1);
}

static void trees(void) {
    int64_t caches[MOST] = {0};
    check_tree(1, caches, 0);
    check_tree(2, caches, 1);
    check_tree(1 + DB_TREE_DEGREE, caches, 1);
    check_tree(128, caches, 4);
    for (int i = 0; i < 128; ++i) /* 16 caches of 8 processors */
        caches[i] = i / 8;
    check_tree(128, caches, 4);
    for (int i = 0; i < 128; ++i) /* round robin */
        caches[i] = i % 16;
    check_tree(128, caches, 4);
    for (int trial = 0; trial < 200; ++trial) {
        int size = 1 + uniform(MOST);
        int count = 1 + uniform(size);
        for (int i = 0; i < size; ++i)
            caches[i] = uniform(count);
        check_tree(size, caches, 10);
    }
}

enum { THREADS = 7, ROUNDS = 1000, SLOW_ROUNDS = 30, WORDS = DB_MAILBOX_WORDS };

static struct {
    struct db_mailbox lines[THREADS * 6]; /* of two levels, as there are more threads than one reaches */
    int64_t caches[THREADS];
} memory;

struct thread {
    pthread_t id;
    int place;
    int rounds;
    enum db_patience patience;
};

/* What a process says in a round: the largest of each word is another one's. */
static int64_t word_of(int place, int round, int word) { return round * 1000 + (place * 3 + word * 5) % 31 - 500; }

static int64_t most_of(int round, int word) {
    int64_t most = INT64_MIN;
    for (int place = 0; place < THREADS; ++place)
        most = word_of(place, round, word) > most ? word_of(place, round, word) : most;
    return most;
}

/* Several in a row, since a fast process may be in the next one already. */
static void exchange(struct db_transport *transport, const struct db_channel *channel, int place, int round) {
    int64_t words[WORDS];
    for (int i = 0; i < WORDS; ++i)
        words[i] = word_of(place, round, i);
    CHECK_THAT(db_transport_exchange(transport, channel, words, WORDS), ==, MPI_SUCCESS);
    for (int i = 0; i < WORDS; ++i)
        CHECK_THAT(words[i], ==, most_of(round, i));
}

static void *take_part(void *argument) {
    const struct thread *self = argument;
    const struct db_channel channel = {.comm = MPI_COMM_NULL, .patience = &self->patience};
    struct db_transport transport = {.kind = DB_TRANSPORT_SHARED,
                                     .branch = db_branch_of(self->place, THREADS, memory.caches)};
    db_neighbors_lay_out(&transport.neighbors, memory.lines, self->place, THREADS);
    int64_t words[WORDS];
    int64_t all[WORDS];
    for (int round = 0; round < self->rounds; ++round) {
        for (int i = 0; i < round % 4; ++i)
            exchange(&transport, &channel, self->place, round + i);
        for (int i = 0; i < WORDS; ++i)
            words[i] = word_of(self->place, round, i);
        CHECK_THAT(db_transport_gather(&transport, &channel, words, all, WORDS), ==, MPI_SUCCESS);
        for (int i = 0; i < WORDS && self->place == 0; ++i) {
            CHECK_THAT(all[i], ==, most_of(round, i));
            words[i] = ~all[i];
        }
        CHECK_THAT(db_transport_spread(&transport, &channel, words, WORDS), ==, MPI_SUCCESS);
        for (int i = 1; i < WORDS; ++i) /* who knows one word of process 0 knows the others */
            CHECK_THAT(words[i] <= -round * 1000 + 500, ==, 1);
    }
    return NULL;
}

static void words_go_up_and_down(enum db_patience patience, int rounds) {
    struct thread threads[THREADS];
    CHECK_THAT(THREADS * db_neighbors_lines(THREADS), ==, (int)(sizeof memory.lines / sizeof *memory.lines));
    memset(&memory, 0, sizeof memory);
    for (int i = 0; i < THREADS; ++i)
        memory.caches[i] = i % 2;
    for (int i = 0; i < THREADS; ++i) {
        threads[i] = (struct thread){.place = i, .rounds = rounds, .patience = patience};
        CHECK(pthread_create(&threads[i].id, NULL, take_part, &threads[i]) == 0);
    }
    for (int i = 0; i < THREADS; ++i)
        CHECK(pthread_join(threads[i].id, NULL) == 0);
}

/* No two processes write one pair of lines. */
static void mailboxes_are_apart(void) {
    CHECK_THAT(sizeof(struct db_mailbox), ==, 2 * DB_CACHE_LINE);
    CHECK_THAT(offsetof(struct db_mailbox, sleepers), ==, DB_CACHE_LINE);
    CHECK_THAT(offsetof(struct db_mailbox, words) + sizeof memory.lines[0].words, <=, DB_CACHE_LINE);
}

int main(void) {
    mailboxes_are_apart();
    trees();
    words_go_up_and_down(DB_YIELD, ROUNDS);
    words_go_up_and_down(DB_SLEEP, SLOW_ROUNDS);
    return 0;
}
