#include "operations/collective.h"

namespace bench {
namespace {

constexpr const char *rising_counts = "rising";

} // namespace

void Blocks::add(std::uint64_t count, std::uint64_t at) {
    counts.push_back(static_cast<int>(count));
    displacements.push_back(static_cast<int>(at));
}

ComponentParameter counts_parameter() {
    return {"counts", "equal",
            "block sizes: equal for all ranks, or growing with the rank; their mean is the message size",
            ComponentValues::choice({"equal", rising_counts})};
}

Collective::Collective(const CollectiveInfo &described, const CollectiveArguments &arguments)
    : CollectiveArguments(arguments), info(described),
      rising(described.traits.irregular && component.word("counts") == rising_counts) {
    if (info.traits.neighbors) {
        neighbors.emplace(comm, rank, ranks, component);
    }
    info.divide(*this);
    for (const int displacement : send.displacements) {
        types.push_back(type());
        addresses.push_back(displacement * static_cast<MPI_Aint>(elements->extent()));
        bytes.push_back(static_cast<int>(addresses.back()));
    }
}

Layout Collective::layout(int root) const { return info.layout(*this, root); }

std::unique_ptr<Call> Collective::bind(const CallBuffers &buffers, int root) const {
    return info.bind(*this, buffers, root);
}

Layout Collective::bring(std::uint64_t brought, bool stays, std::uint64_t at) const {
    Layout layout;
    if (stays) {
        layout.initial = {{at, brought, 0, rank, rank}};
    } else {
        layout.send = brought;
    }
    return layout;
}

Blocks Collective::share(std::uint64_t total) const {
    const auto all = static_cast<std::uint64_t>(ranks);
    const auto begin = [&](std::uint64_t of) {
        return rising ? total * (of * (of + 1) / 2) / (all * (all + 1) / 2) : total * of / all;
    };
    Blocks blocks;
    for (std::uint64_t of = 0; of < all; ++of) {
        blocks.add(begin(of + 1) - begin(of));
    }
    return blocks;
}

std::uint64_t Collective::pair_count(int a, int b) const {
    return rising ? count * static_cast<std::uint64_t>(1 + a + b) / static_cast<std::uint64_t>(ranks) : count;
}

void share_messages(Collective &collective) {
    collective.send = collective.receive =
        collective.share(collective.count * static_cast<std::uint64_t>(collective.ranks));
}

const std::vector<CollectiveInfo> &all_collectives() {
    static const std::vector<CollectiveInfo> all = [] {
        std::vector<CollectiveInfo> found = collectives::data_movement();
        for (const auto &others : {collectives::reductions(), collectives::neighborhood()}) {
            found.insert(found.end(), others.begin(), others.end());
        }
        return found;
    }();
    return all;
}

} // namespace bench
