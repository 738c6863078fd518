// The collectives that combine vectors of ranks: a row for each, with the contents of its buffers.
#include "operations/collective.h"

namespace bench {
namespace {

/// Every rank contributes a vector; this rank's result combines the vectors of ranks `first` to `last`.
Layout reduced(const Collective &c, int first, int last) {
    Layout layout = c.contribution(c.count, c.in_place);
    layout.receive = c.count;
    layout.result = {{.at = 0, .count = c.count, .from = 0, .first_rank = first, .last_rank = last}};
    return layout;
}

/// Layout of reduce.
Layout reduced_at_root(const Collective &c, int root) {
    return c.rank == root ? reduced(c, 0, c.ranks - 1) : c.contribution(c.count);
}

/// Layout of allreduce.
Layout reduced_at_all(const Collective &c, int) { return reduced(c, 0, c.ranks - 1); }

/// Layout of scan.
Layout reduced_up_to_own(const Collective &c, int) { return reduced(c, 0, c.rank); }

/// Layout of exscan.
Layout reduced_before_own(const Collective &c, int) {
    Layout layout = reduced(c, 0, c.rank - 1);
    if (c.rank == 0) {
        layout.result.clear(); // MPI does not define the receive buffer of rank 0
    }
    return layout;
}

/// For CollectiveInfo::divide of reduce_scatter: the ranks share the result.
void share_vector(Collective &c) { c.receive = c.share(c.count); }

/// Layout of reduce_scatter: each rank contributes a vector with a block for every rank, and receives its block of the
/// result. In place, the vector is in the receive buffer.
Layout reduced_and_scattered(const Collective &c, int) {
    const auto local_rank = static_cast<std::size_t>(c.rank);
    Layout layout = c.contribution(c.receive.end(), c.in_place);
    layout.receive = c.in_place ? c.receive.end() : c.receive.count(local_rank);
    layout.result = {{.at = 0,
                      .count = c.receive.count(local_rank),
                      .from = c.receive.at(local_rank),
                      .first_rank = 0,
                      .last_rank = c.ranks - 1}};
    return layout;
}

/// MPI_Reduce_local combines this rank's vector with the contents of the receive buffer, here the next rank's vector.
Layout reduced_here(const Collective &c, int) {
    return {.send = c.count,
            .receive = c.count,
            .initial = {{.at = 0, .count = c.count, .from = 0, .first_rank = c.rank + 1, .last_rank = c.rank + 1}},
            .result = {{.at = 0, .count = c.count, .from = 0, .first_rank = c.rank, .last_rank = c.rank + 1}}};
}

} // namespace

std::vector<CollectiveInfo> collectives::reductions() {
    return {
        {BENCH_COLLECTIVE(Reduce, reduce, b.send, b.receive, c.number(), c.type(), c.op(), root, c.comm),
         .description = "the vectors of all ranks combined; the root gets the result",
         .size_meaning = "of each rank's vector", .traits = {.flow = Flow::to_root, .reduces = true, .in_place = true},
         .layout = reduced_at_root},
        {BENCH_COLLECTIVE(Allreduce, allreduce, b.send, b.receive, c.number(), c.type(), c.op(), c.comm),
         .description = "the vectors of all ranks combined; all ranks get the result",
         .size_meaning = "of each rank's vector", .traits = {.reduces = true, .in_place = true},
         .layout = reduced_at_all},
        {BENCH_COLLECTIVE(Reduce_scatter, reduce_scatter, b.send, b.receive, c.receive.counts.data(), c.type(), c.op(),
                          c.comm),
         .description = "the vectors of all ranks combined; each rank gets a part of the result",
         .size_meaning = "of each rank's vector", .traits = {.reduces = true, .in_place = true, .irregular = true},
         .layout = reduced_and_scattered, .divide = share_vector},
        {BENCH_COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, b.send, b.receive, c.number(), c.type(), c.op(),
                          c.comm),
         .description = "the vectors of all ranks combined; each rank gets an equal part of the result",
         .size_meaning = "of each rank's result", .traits = {.reduces = true, .in_place = true},
         .layout = reduced_and_scattered, .divide = share_messages, .reach = reach_all_ranks},
        {BENCH_COLLECTIVE(Scan, scan, b.send, b.receive, c.number(), c.type(), c.op(), c.comm),
         .description = "each rank gets the combined vectors of all ranks up to its own",
         .size_meaning = "of each rank's vector",
         .traits = {.flow = Flow::from_lower, .reduces = true, .in_place = true}, .layout = reduced_up_to_own},
        {BENCH_COLLECTIVE(Exscan, exscan, b.send, b.receive, c.number(), c.type(), c.op(), c.comm),
         .description = "each rank gets the combined vectors of all ranks before it",
         .size_meaning = "of each rank's vector",
         .traits = {.flow = Flow::from_lower, .reduces = true, .in_place = true}, .layout = reduced_before_own},
        {.name = "reduce_local",
         .mpi_name = "Reduce_local",
         .bind =
             [](const Collective &c, const CallBuffers &b, int) {
                 return bind_call(Forms{MPI_Reduce_local, nullptr, "Reduce_local"}, b.send, b.receive, c.number(),
                                  c.type(), c.op());
             },
         .description = "two vectors of a rank combined, without communication",
         .size_meaning = "of each vector",
         .traits = {.flow = Flow::none, .reduces = true, .blocking_only = true},
         .layout = reduced_here},
    };
}

} // namespace bench
