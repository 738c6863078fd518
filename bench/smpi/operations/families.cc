// The algorithms of collectives in a simulation (replaces bench/src/operations/families.cc): SMPI implements those of
// several MPI libraries. They are listed here by the names of Open MPI.
#include "operations/algorithm.h"
#include "rules/cell.h"

#include <algorithm>
#include <fmt/format.h>
#include <simgrid/barrier.h>

// SimGrid exports these functions, but no installed header declares them.
namespace simgrid::smpi::colls {
void set_allreduce(const std::string &name);
void set_barrier(const std::string &name);
void set_bcast(const std::string &name);
void set_reduce(const std::string &name);
} // namespace simgrid::smpi::colls

namespace bench {
namespace {

namespace colls = simgrid::smpi::colls;

/// An algorithm that SMPI implements.
struct Simulated {
    const char *name; // in Open MPI
    const char *smpi; // in SMPI
};

/// A collective whose algorithm SMPI lets us select.
struct SimulatedCollective {
    const char *name;
    void (*set)(const std::string &name); // selects an algorithm by SMPI's name
    const char *usual; // SMPI's name of the algorithm that smpirun selects (python/downbeat/run/simulation.py)
    std::vector<Simulated> algorithms;
};

/// Algorithms of Open MPI, and "mvapich2", the selection that MVAPICH2 makes by message size.
const std::vector<SimulatedCollective> &simulated_collectives() {
    static const std::vector<SimulatedCollective> entries = {
        {"allreduce",
         colls::set_allreduce,
         "ompi",
         {{"nonoverlapping", "redbcast"}, {"recursive_doubling", "rdb"}, {"ring", "lr"}}},
        {"barrier",
         colls::set_barrier,
         "ompi",
         {{"linear", "ompi_basic_linear"},
          {"double_ring", "ompi_doublering"},
          {"recursive_doubling", "ompi_recursivedoubling"},
          {"bruck", "ompi_bruck"},
          {"tree", "ompi_tree"},
          {"mvapich2", "mvapich2"}}},
        {"bcast",
         colls::set_bcast,
         "binomial_tree",
         {{"linear", "flattree"},
          {"binomial", "binomial_tree"},
          {"knomial", "mvapich2_knomial_intra_node"},
          {"pipeline", "ompi_pipeline"},
          {"mvapich2", "mvapich2"}}},
        {"reduce",
         colls::set_reduce,
         "ompi",
         {{"linear", "ompi_basic_linear"},
          {"chain", "ompi_chain"},
          {"pipeline", "ompi_pipeline"},
          {"binary", "ompi_binary"},
          {"binomial", "ompi_binomial"},
          {"in_order_binary", "ompi_in_order_binary"},
          {"mvapich2", "mvapich2"}}},
    };
    return entries;
}

/// Waits until all ranks have called it, in no simulated time. All simulated ranks are in a single process, so they
/// share the barrier object.
void meet(int ranks) {
    static std::map<int, sg_bar_t> barriers;
    sg_bar_t &barrier = barriers[ranks];
    if (barrier == nullptr) {
        barrier = sg_barrier_init(static_cast<unsigned>(ranks));
    }
    sg_barrier_wait(barrier);
}

/// An algorithm that is selected around blocks. The selection is global, i.e. shared by all ranks, so the ranks wait
/// for each other before it changes.
class SharedChoice : public AlgorithmInForce {
public:
    SharedChoice(const Communicator &comm, const SimulatedCollective &collective, const Simulated &algorithm)
        : AlgorithmInForce(comm.handle(), fmt::format("SMPI's {}, set for all ranks", algorithm.smpi)),
          ranks_(comm.size()), collective_(collective), algorithm_(algorithm) {}

    void enter(bool) override {
        meet(ranks_);
        collective_.set(algorithm_.smpi);
    }

    void leave() override {
        meet(ranks_);
        collective_.set(collective_.usual);
    }

private:
    int ranks_;
    const SimulatedCollective &collective_;
    const Simulated &algorithm_;
};

/// The algorithms of SMPI, the MPI library of simulations.
class SimGrid : public AlgorithmFamily {
public:
    SimGrid() {
        for (const SimulatedCollective &entry : simulated_collectives()) {
            SelectableCollective collective{entry.name, fmt::format("smpi/{}", entry.name), {}};
            for (const Simulated &algorithm : entry.algorithms) {
                const int number = static_cast<int>(collective.algorithms.size());
                collective.algorithms.push_back({algorithm.name, number});
            }
            collectives_.push_back(collective);
        }
    }

    bool chosen_per_communicator(const SelectableCollective &) const override { return false; }
    bool switchable(const SelectableCollective &) const override { return true; }

    std::unique_ptr<AlgorithmInForce> choose(const Communicator &comm, const SelectableCollective &collective,
                                             const Algorithm &algorithm) const override {
        const auto &entries = simulated_collectives();
        const auto entry = std::ranges::find_if(
            entries, [&](const SimulatedCollective &candidate) { return candidate.name == collective.name; });
        return std::make_unique<SharedChoice>(comm, *entry,
                                              entry->algorithms.at(static_cast<std::size_t>(algorithm.number)));
    }
};

} // namespace

const std::vector<AlgorithmFamilyInfo> &all_algorithm_families() {
    static const std::vector<AlgorithmFamilyInfo> entries = {
        {[](const AlgorithmRequests &) {},
         []() -> std::unique_ptr<AlgorithmFamily> { return std::make_unique<SimGrid>(); }}};
    return entries;
}

// SMPI does not count messages.
void prepare_message_counter() {}

std::unique_ptr<MessageCounter> find_message_counter(const Communicator &) { return nullptr; }

} // namespace bench
