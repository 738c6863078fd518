/* Phases of MPI_Pcontrol: planned ones, whose late rank is known; wrong ones; and calls without a name. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STEPS 40

static int rank;

/* All reduce at one place; `late` comes some ms after the others. */
static void reduce_late(int late, int ms) {
    int sum;
    if (rank == late)
        nanosleep(&(struct timespec){0, ms * 1000000L}, NULL);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* The compiler does not know it, and copies it nowhere. */
static void (*volatile reduce)(int, int) = reduce_late;

static void planned(void) {
    for (int i = 0; i < STEPS; ++i) {
        MPI_Pcontrol(1, "step");
        MPI_Pcontrol(1, "solver");
        reduce(1, 4);
        MPI_Pcontrol(-1, "solver");
        MPI_Pcontrol(1, "input and output");
        reduce(0, 2);
        MPI_Pcontrol(-1, "input and output");
        MPI_Pcontrol(-1, "step");
    }
    for (int i = 0; i < 10; ++i)
        reduce(-1, 0);
}

static void wrong(void) {
    for (int i = 0; i < 3; ++i) {
        MPI_Pcontrol(1, "outer");
        MPI_Pcontrol(1, "inner");
        reduce(-1, 0);
        MPI_Pcontrol(-1, "outer"); /* they cross */
        MPI_Pcontrol(-1, "inner");
    }
    MPI_Pcontrol(-1, "stray");
    if (rank == 0) {
        MPI_Pcontrol(1, "alone");
        MPI_Pcontrol(-1, "alone");
    }
    const char *name = rank == 0 ? "even" : "odd";
    MPI_Pcontrol(1, name);
    reduce(-1, 0);
    MPI_Pcontrol(-1, name);
    for (int i = 0; i < 2; ++i) {
        MPI_Pcontrol(1, "open");
        reduce(-1, 0);
        if (i == 0)
            MPI_Pcontrol(-1, "open");
    }
}

/* What a register may have where a call has no name. */
static void bare(void) {
    long page = sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pages, 'x', 2 * (size_t)page);
    munmap(pages + page, (size_t)page);
    int number = 3;
    const void *const found[] = {
        NULL,   (void *)1,        (void *)-1,   (void *)0x7ff123456789,  &number,     "",     "\x80text",
        "a\nb", pages + page - 5, pages + page, (void *)(uintptr_t)bare, "by chance", environ};
    for (size_t i = 0; i < sizeof found / sizeof *found; ++i)
        for (int level = -1; level <= 2; ++level)
            if (i != 11 || level == 1)
                MPI_Pcontrol(level, found[i]);
    MPI_Pcontrol(1, "solver");
    reduce(-1, 0);
    MPI_Pcontrol(-1, "solver");
    MPI_Pcontrol(1); /* the register had the name */
    reduce(-1, 0);
    MPI_Pcontrol(0);
    reduce(-1, 0); /* is not recorded */
    MPI_Pcontrol(1);
    memset(pages, 'y', (size_t)page);
    memcpy(pages + page - 4, "end", 4);
    MPI_Pcontrol(1, pages + page - 4); /* ends with its page */
    reduce(-1, 0);
    MPI_Pcontrol(-1, pages + page - 4);
    MPI_Pcontrol(1, pages); /* too long: cut */
    MPI_Pcontrol(-1, pages);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(argv[1], "planned") == 0)
        planned();
    else if (strcmp(argv[1], "wrong") == 0)
        wrong();
    else
        bare();
    MPI_Finalize();
    return 0;
}
