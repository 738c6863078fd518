// Describes the MPI collectives: MPI functions and arguments (Forms, Call), buffers before and after a call (Layout),
// sizes of the blocks that ranks send (Blocks), and topologies of neighborhood collectives (Neighbors). A
// CollectiveInfo is a row of the tables in data_movement.cc, reductions.cc and neighborhood.cc.
// collective_operations.cc makes a blocking, a nonblocking and a persistent operation of it.
#pragma once

#include "operations/elements.h"
#include "text/component.h"

#include <cstdint>
#include <memory>
#include <mpi.h>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace bench {

/// The parameters of neighborhood collectives: `topology`, `dimensions`, `degree`.
std::vector<ComponentParameter> neighbor_parameters();

/// True if parameter `topology` is cartesian.
bool is_cartesian(const Component &component);

/// The number of neighbors of a rank with these parameters. With few ranks, a rank may occur several times as a
/// neighbor.
int neighbor_count(const Component &component);

/// A communicator with a topology. With few ranks, neighbors may be the same rank, or this rank.
class Neighbors {
public:
    /// Collective.
    Neighbors(MPI_Comm parent, int rank, int ranks, const Component &component);
    ~Neighbors();
    Neighbors(const Neighbors &) = delete;
    Neighbors &operator=(const Neighbors &) = delete;

    MPI_Comm comm() const { return comm_; }

    /// A rank from which this rank receives.
    struct Source {
        int rank;
        int block; // index of its outgoing block that this rank receives
    };
    /// The neighbors that this rank receives from, in the order of its receive blocks.
    const std::vector<Source> &sources() const { return sources_; }
    /// The ranks that this rank sends to, in the order of its send blocks.
    const std::vector<int> &destinations() const { return destinations_; }

private:
    void make_cartesian(MPI_Comm parent, int ranks, int dimensions);
    void make_graph(MPI_Comm parent, int rank, int ranks, int degree);

    MPI_Comm comm_ = MPI_COMM_NULL;
    std::vector<Source> sources_;
    std::vector<int> destinations_;
};

/// The prefix of the MPI library's persistent collectives: "MPI" for MPI 4's, "MPIX" for the extension of Open MPI 4,
/// null if it has none. Determined at run time, because the same program runs with Open MPI 4 and 5, and Open MPI 5,
/// which has them, reports MPI 3.1.
const char *persistent_prefix();

/// The function that makes a persistent collective, by its name without prefix and suffix, e.g. "Bcast"; null if the
/// library has no such function.
void *find_persistent(const char *name);

/// The MPI functions of a collective; null if the MPI library has no such function. P are the parameters of the
/// blocking function. The nonblocking function also has a request, and the persistent function an MPI_Info and a
/// request.
template <typename... P> struct Forms {
    Forms(int (*blocking_form)(P...), std::type_identity_t<int (*)(P..., MPI_Request *)> nonblocking_form,
          const char *name)
        : blocking(blocking_form), nonblocking(nonblocking_form),
          // POSIX guarantees this for dlsym, although C++ does not.
          persistent(reinterpret_cast<decltype(persistent)>(find_persistent(name))) {} // NOLINT

    int (*blocking)(P...);
    int (*nonblocking)(P..., MPI_Request *);
    int (*persistent)(P..., MPI_Info, MPI_Request *);
};

/// How MPI runs a collective.
enum class Form { blocking, nonblocking, persistent };

/// A collective with its arguments. Every function returns MPI's error code.
class Call {
public:
    virtual ~Call() = default;
    virtual int run() const = 0; // calls the blocking function
    /// Calls the blocking function in a loop, like a user's benchmark. Stops at the first error.
    virtual int repeat(long calls) const = 0;
    virtual int start(MPI_Request *request) const = 0; // calls the nonblocking function
    virtual int init(MPI_Request *request) const = 0;  // creates a persistent request
};

/// Binds arguments to the functions of a collective. The data that arguments point to must outlive the result.
template <typename... P>
std::unique_ptr<Call> bind_call(const Forms<P...> &forms, std::type_identity_t<P>... arguments) {
    class Bound : public Call {
    public:
        Bound(const Forms<P...> &functions, P... values) : forms_(functions), arguments_(values...) {}
        int run() const override { return std::apply(forms_.blocking, arguments_); }
        int repeat(long calls) const override {
            int code = MPI_SUCCESS;
            for (long i = 0; i < calls && code == MPI_SUCCESS; ++i) {
                code = std::apply(forms_.blocking, arguments_);
            }
            return code;
        }
        int start(MPI_Request *request) const override {
            return std::apply([&](P... values) { return forms_.nonblocking(values..., request); }, arguments_);
        }
        int init(MPI_Request *request) const override {
            return std::apply([&](P... values) { return forms_.persistent(values..., MPI_INFO_NULL, request); },
                              arguments_);
        }

    private:
        Forms<P...> forms_;
        std::tuple<P...> arguments_;
    };
    return std::make_unique<Bound>(forms, arguments...);
}

/// The forms of a collective: BENCH_FORMS(Bcast, bcast) are MPI_Bcast, MPI_Ibcast and MPI_Bcast_init.
#define BENCH_FORMS(Name, name)                                                                                        \
    ::bench::Forms { MPI_##Name, MPI_I##name, #Name }

/// The contents of a rank's buffers before and after a call. Counts are in elements.
struct Layout {
    std::uint64_t send = 0;          // size of the send buffer, which holds the rank's contribution from its beginning
    std::uint64_t receive = 0;       // size of the receive buffer
    std::vector<Piece> initial = {}; // contents of the receive buffer before the call, e.g. a contribution in place
    std::vector<Piece> result = {};  // contents of the receive buffer after the call

    bool in_place() const { return send == 0 && !initial.empty(); }
};

/// The buffers of a call. `send` is MPI_IN_PLACE if the contribution is in the receive buffer.
struct CallBuffers {
    void *send;
    void *receive;
};

/// Blocks of a buffer: the counts and displacements of irregular collectives, in elements.
struct Blocks {
    std::vector<int> counts;
    std::vector<int> displacements;

    /// Adds a block of `count` elements that begins at element `at`.
    void add(std::uint64_t count, std::uint64_t at);
    /// Adds a block after the last block.
    void add(std::uint64_t count) { add(count, end()); }
    std::uint64_t count(std::size_t block) const { return static_cast<std::uint64_t>(counts[block]); }
    std::uint64_t at(std::size_t block) const { return static_cast<std::uint64_t>(displacements[block]); }
    /// End of the last block.
    std::uint64_t end() const { return counts.empty() ? 0 : at(counts.size() - 1) + count(counts.size() - 1); }
};

/// The arguments with which a collective is measured, on this rank.
struct CollectiveArguments {
    MPI_Comm comm;
    int rank;
    int ranks;                  // size of `comm`
    const Elements *elements;   // null if the collective has no messages
    std::uint64_t count;        // message size in elements
    bool in_place;              // with MPI_IN_PLACE
    const Component &component; // the operation and its parameters
};

struct CollectiveInfo;

/// A collective on a communicator with a message size. It is the same for all forms, and has no buffers.
struct Collective : CollectiveArguments {
    /// Collective, since it may create a communicator.
    Collective(const CollectiveInfo &described, const CollectiveArguments &arguments);
    Collective(const Collective &) = delete;
    Collective &operator=(const Collective &) = delete;

    Layout layout(int root) const;
    /// A call with these buffers. It must not outlive this object.
    std::unique_ptr<Call> bind(const CallBuffers &buffers, int root) const;

    /// `count` as MPI's type of counts.
    int number() const { return static_cast<int>(count); }
    MPI_Datatype type() const { return elements->type(); }
    MPI_Op op() const { return elements->op(); }

    /// A layout with a contribution of `elements` elements: in the send buffer or, if `in_receive_buffer`, at element
    /// `at` of the receive buffer.
    Layout contribution(std::uint64_t elements, bool in_receive_buffer = false, std::uint64_t at = 0) const;

    /// Divides `total` elements among the ranks, by parameter `counts`: evenly, or rising with the rank, i.e. rank i
    /// has 2 (i + 1) / (ranks + 1) of the mean (rounded). The sum is always `total`.
    Blocks share(std::uint64_t total) const;
    /// The number of elements that ranks a and b send each other, by parameter `counts`: `count`, or `count` times
    /// (1 + a + b) / ranks, rounded down, whose mean is `count`. Symmetric in a and b, because MPI_Alltoallv requires
    /// that in place.
    std::uint64_t pair_count(int a, int b) const;

    const CollectiveInfo &info;
    bool rising;                        // blocks grow with the rank
    std::optional<Neighbors> neighbors; // only of neighborhood collectives
    Blocks send;                        // blocks of the send buffer; empty if it is not divided
    Blocks receive;                     // blocks of the receive buffer; empty if it is not divided
    // Arguments of alltoallw and neighbor_alltoallw. Their blocks have the same displacements in both buffers.
    std::vector<MPI_Datatype> types;
    std::vector<int> bytes;          // displacements of alltoallw, bytes
    std::vector<MPI_Aint> addresses; // displacements of neighbor_alltoallw, bytes
};

/// The contributions that a rank's result depends on. A rank cannot leave before these ranks have entered.
enum class Flow {
    all,        // all ranks depend on all ranks
    from_root,  // all ranks depend on the root
    to_root,    // the root depends on all ranks
    from_lower, // a rank depends on the ranks below it
    neighbors,  // a rank depends on its neighbors and communicates with them only
    none,       // a rank depends on no other rank
};

/// The name of a flow in files: "from_root".
std::string to_string(Flow flow);

/// Properties of a collective. They decide which parameters its operations have.
struct CollectiveTraits {
    Flow flow = Flow::all;
    bool reduces = false;            // has a reduction operator
    bool in_place = false;           // supports MPI_IN_PLACE
    bool irregular = false;          // takes blocks of different sizes
    bool blocking_only = false;      // has no nonblocking and persistent form
    bool byte_displacements = false; // displacements are int and in bytes, which limits the size of buffers

    bool rooted() const { return flow == Flow::from_root || flow == Flow::to_root; }
};

/// A row of the tables of collectives.
struct CollectiveInfo {
    std::string name;     // "bcast"
    std::string mpi_name; // "Bcast"
    /// Binds the arguments of a call with these buffers to the MPI functions.
    std::unique_ptr<Call> (*bind)(const Collective &collective, const CallBuffers &buffers, int root);
    std::string description;  // for help, e.g. "one message from the root to all"
    std::string size_meaning; // the object that has the message size: "of the message"; "" if there is no size
    CollectiveTraits traits = {};
    /// The contents of this rank's buffers before and after a call.
    Layout (*layout)(const Collective &collective, int root);
    /// Sets Collective::send and Collective::receive.
    void (*divide)(Collective &collective) = [](Collective &) {};
    /// The largest count or displacement that MPI takes as an int, in multiples of the message size.
    std::uint64_t (*reach)(const Component &component, int ranks) = [](const Component &, int) {
        return std::uint64_t{1};
    };
    /// Local. Tests a known bug of MPI libraries. Returns a description if this library has it in this form on `ranks`
    /// ranks; else "".
    std::string (*fault)(const Component &component, int ranks, Form form) = [](const Component &, int, Form) {
        return std::string();
    };
};

/// Initializes the members name, mpi_name and bind of a CollectiveInfo: BENCH_COLLECTIVE(Bcast, bcast, arguments...).
/// The arguments of the MPI function may use `c`, the Collective, `b`, the CallBuffers, and `root`.
#define BENCH_COLLECTIVE(Name, lower, ...)                                                                             \
    .name = #lower, .mpi_name = #Name,                                                                                 \
    .bind = []([[maybe_unused]] const Collective &c, [[maybe_unused]] const CallBuffers &b,                            \
               [[maybe_unused]] int root) -> std::unique_ptr<Call> {                                                   \
        return bind_call(BENCH_FORMS(Name, lower), __VA_ARGS__);                                                       \
    }

/// Parameter `counts` of irregular collectives.
ComponentParameter counts_parameter();

/// For CollectiveInfo::reach of collectives whose buffer has a block for every rank; the blocks have the message size
/// as their mean.
inline std::uint64_t reach_all_ranks(const Component &, int ranks) { return static_cast<std::uint64_t>(ranks); }

/// For CollectiveInfo::divide: both buffers have a block for every rank.
void share_messages(Collective &collective);

namespace collectives {
std::vector<CollectiveInfo> data_movement(); // with barrier
std::vector<CollectiveInfo> reductions();
std::vector<CollectiveInfo> neighborhood();
} // namespace collectives

const std::vector<CollectiveInfo> &all_collectives();

} // namespace bench
