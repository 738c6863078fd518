// The collectives that move data without combining it, and barrier: the table row of each, and the layout of its
// buffers.
#include "mpi/communicator.h"
#include "operations/collective.h"

namespace bench {
namespace {

/// Layout of barrier, which has no buffers.
Layout no_layout(const Collective &, int) { return {}; }

/// Broadcast has one buffer: the root sends from the buffer into which the other ranks receive.
Layout broadcast(const Collective &c, int root) {
    Layout layout = c.rank == root ? c.contribution(c.count, /*in_receive_buffer=*/true) : Layout{};
    layout.receive = c.count;
    layout.result = {{.at = 0, .count = c.count, .from = 0, .first_rank = root, .last_rank = root}};
    return layout;
}

/// Index of this rank's block.
std::size_t own_block(const Collective &c) { return static_cast<std::size_t>(c.rank); }

/// Layout of gather and allgather: the root, or every rank of a collective without a root, has the blocks of all ranks.
Layout gathered(const Collective &c, int root) {
    if (c.info.traits.rooted() && c.rank != root) {
        return c.contribution(c.send.count(own_block(c)));
    }
    // In place, the contribution is at this rank's block of the receive buffer.
    Layout layout = c.contribution(c.send.count(own_block(c)), c.in_place, c.receive.at(own_block(c)));
    layout.receive = c.receive.end();
    for (int rank = 0; rank < c.ranks; ++rank) {
        const auto block = static_cast<std::size_t>(rank);
        layout.result.push_back({.at = c.receive.at(block),
                                 .count = c.receive.count(block),
                                 .from = 0,
                                 .first_rank = rank,
                                 .last_rank = rank});
    }
    return layout;
}

/// True on the root of a scatter in place: the root does not receive its own block.
bool root_in_place(const Collective &c, int root) { return c.in_place && c.rank == root; }

/// Layout of scatter: the root has the blocks of all ranks, and each rank receives its block.
Layout scattered(const Collective &c, int root) {
    Layout layout = c.rank == root ? c.contribution(c.send.end()) : Layout{};
    if (!root_in_place(c, root)) {
        layout.receive = c.receive.count(own_block(c));
        layout.result = {
            {.at = 0, .count = layout.receive, .from = c.send.at(own_block(c)), .first_rank = root, .last_rank = root}};
    }
    return layout;
}

/// For CollectiveInfo::divide of alltoall: a block for each rank, as large as the block that this rank receives from
/// it.
void exchange_pairs(Collective &c) {
    for (int peer = 0; peer < c.ranks; ++peer) {
        c.send.add(c.pair_count(c.rank, peer));
    }
    c.receive = c.send;
}

/// Layout of alltoall: each rank has a block for every rank.
Layout exchanged(const Collective &c, int) {
    Layout layout = c.contribution(c.send.end(), c.in_place);
    layout.receive = c.receive.end();
    for (int rank = 0; rank < c.ranks; ++rank) {
        const auto block = static_cast<std::size_t>(rank);
        std::uint64_t from = c.count * own_block(c); // begin of this rank's block in the send buffer of `rank`
        if (c.rising) {
            from = 0;
            for (int lower = 0; lower < c.rank; ++lower) {
                from += c.pair_count(rank, lower);
            }
        }
        layout.result.push_back({.at = c.receive.at(block),
                                 .count = c.receive.count(block),
                                 .from = from,
                                 .first_rank = rank,
                                 .last_rank = rank});
    }
    return layout;
}

/// For CollectiveInfo::reach of alltoallv and alltoallw. Blocks that rise with the ranks have less than twice the
/// message size (pair_count), so a rank's blocks end before twice the message size times `ranks`.
std::uint64_t reach_pairs(const Component &component, int ranks) {
    return reach_all_ranks(component, ranks) * (component.word("counts") == "equal" ? 1 : 2);
}

/// Tests for a bug of MPICH up to 4.2 in gather, scatter and allgather: the persistent form sends the contents of the
/// buffers at the creation of the request, not at its start.
std::string find_stale_copies(const Component &, int, Form form) {
    if (form != Form::persistent) {
        return "";
    }
    int sent = 1;
    int received = 0;
    const auto call =
        bind_call(BENCH_FORMS(Gather, gather), &sent, 1, MPI_INT, &received, 1, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Request request = MPI_REQUEST_NULL;
    check(call->init(&request), "MPI_Gather_init");
    sent = 2;
    check(MPI_Start(&request), "MPI_Start");
    check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    check(MPI_Request_free(&request), "MPI_Request_free");
    return received == sent ? ""
                            : "this MPI library copies some data when the request is made, not when it is started "
                              "(pmodels/mpich#7078)";
}

} // namespace

std::vector<CollectiveInfo> collectives::data_movement() {
    return {
        {BENCH_COLLECTIVE(Barrier, barrier, c.comm), .description = "no rank leaves before all have entered",
         .size_meaning = "", .layout = no_layout},
        {BENCH_COLLECTIVE(Bcast, bcast, b.receive, c.number(), c.type(), root, c.comm),
         .description = "one message from the root to all", .size_meaning = "of the message",
         .traits = {.flow = Flow::from_root}, .layout = broadcast},
        {BENCH_COLLECTIVE(Gather, gather, b.send, c.number(), c.type(), b.receive, c.number(), c.type(), root, c.comm),
         .description = "one message from each rank to the root", .size_meaning = "from each rank",
         .traits = {.flow = Flow::to_root, .in_place = true}, .layout = gathered, .divide = share_messages,
         .reach = reach_all_ranks, .fault = find_stale_copies},
        {BENCH_COLLECTIVE(Gatherv, gatherv, b.send, c.send.counts[own_block(c)], c.type(), b.receive,
                          c.receive.counts.data(), c.receive.displacements.data(), c.type(), root, c.comm),
         .description = "one message from each rank to the root", .size_meaning = "from each rank",
         .traits = {.flow = Flow::to_root, .in_place = true, .irregular = true}, .layout = gathered,
         .divide = share_messages, .reach = reach_all_ranks},
        {BENCH_COLLECTIVE(Scatter, scatter, b.send, c.number(), c.type(),
                          root_in_place(c, root) ? MPI_IN_PLACE : b.receive, c.number(), c.type(), root, c.comm),
         .description = "one message from the root to each rank", .size_meaning = "to each rank",
         .traits = {.flow = Flow::from_root, .in_place = true}, .layout = scattered, .divide = share_messages,
         .reach = reach_all_ranks, .fault = find_stale_copies},
        {BENCH_COLLECTIVE(Scatterv, scatterv, b.send, c.send.counts.data(), c.send.displacements.data(), c.type(),
                          root_in_place(c, root) ? MPI_IN_PLACE : b.receive, c.receive.counts[own_block(c)], c.type(),
                          root, c.comm),
         .description = "one message from the root to each rank", .size_meaning = "to each rank",
         .traits = {.flow = Flow::from_root, .in_place = true, .irregular = true}, .layout = scattered,
         .divide = share_messages, .reach = reach_all_ranks},
        {BENCH_COLLECTIVE(Allgather, allgather, b.send, c.number(), c.type(), b.receive, c.number(), c.type(), c.comm),
         .description = "one message from each rank to all", .size_meaning = "from each rank",
         .traits = {.in_place = true}, .layout = gathered, .divide = share_messages, .reach = reach_all_ranks,
         .fault = find_stale_copies},
        {BENCH_COLLECTIVE(Allgatherv, allgatherv, b.send, c.send.counts[own_block(c)], c.type(), b.receive,
                          c.receive.counts.data(), c.receive.displacements.data(), c.type(), c.comm),
         .description = "one message from each rank to all", .size_meaning = "from each rank",
         .traits = {.in_place = true, .irregular = true}, .layout = gathered, .divide = share_messages,
         .reach = reach_all_ranks},
        {BENCH_COLLECTIVE(Alltoall, alltoall, b.send, c.number(), c.type(), b.receive, c.number(), c.type(), c.comm),
         .description = "one message from each rank to every rank", .size_meaning = "from each to each",
         .traits = {.in_place = true}, .layout = exchanged, .divide = exchange_pairs, .reach = reach_all_ranks},
        {BENCH_COLLECTIVE(Alltoallv, alltoallv, b.send, c.send.counts.data(), c.send.displacements.data(), c.type(),
                          b.receive, c.receive.counts.data(), c.receive.displacements.data(), c.type(), c.comm),
         .description = "one message from each rank to every rank", .size_meaning = "from each to each",
         .traits = {.in_place = true, .irregular = true}, .layout = exchanged, .divide = exchange_pairs,
         .reach = reach_pairs},
        {BENCH_COLLECTIVE(Alltoallw, alltoallw, b.send, c.send.counts.data(), c.bytes.data(), c.types.data(), b.receive,
                          c.receive.counts.data(), c.bytes.data(), c.types.data(), c.comm),
         .description = "one message from each rank to every rank, each with its own datatype",
         .size_meaning = "from each to each",
         .traits = {.in_place = true, .irregular = true, .byte_displacements = true}, .layout = exchanged,
         .divide = exchange_pairs, .reach = reach_pairs},
    };
}

} // namespace bench
