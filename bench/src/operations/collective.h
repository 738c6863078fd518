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

bool is_cartesian(const Component &component);

/// Neighbors of a rank by those parameters, one that is a neighbor in several ways counted for each.
int neighbor_count(const Component &component);

/// A communicator with a topology. Neighbors may be the same rank, or this one, where there are few ranks.
class Neighbors {
public:
    /// Collective.
    Neighbors(MPI_Comm parent, int rank, int ranks, const Component &component);
    ~Neighbors();
    Neighbors(const Neighbors &) = delete;
    Neighbors &operator=(const Neighbors &) = delete;

    MPI_Comm comm() const { return comm_; }

    struct Source {
        int rank;
        int block; // which of its outgoing blocks comes from it
    };
    const std::vector<Source> &sources() const { return sources_; }
    const std::vector<int> &destinations() const { return destinations_; }

private:
    void make_cartesian(MPI_Comm parent, int ranks, int dimensions);
    void make_graph(MPI_Comm parent, int rank, int ranks, int degree);

    MPI_Comm comm_ = MPI_COMM_NULL;
    std::vector<Source> sources_;
    std::vector<int> destinations_;
};

/// "MPI" where the MPI library that runs has MPI 4's persistent collectives, "MPIX" where it has Open MPI 4's extension
/// of the same, nullptr where it has none. Asked at run time: its version says nothing (Open MPI 5 has them and calls
/// itself MPI 3.1), and one program runs under Open MPI 4 and 5.
const char *persistent_prefix();

/// The function that makes a persistent collective, by its name without prefix and suffix; nullptr if the library has
/// no such function.
void *find_persistent(const char *name);

/// The MPI functions of one collective. P: the parameters of the blocking one; the others take a request as well, and
/// the persistent one an MPI_Info before it. nullptr if the MPI library has no such function.
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

enum class Form { blocking, nonblocking, persistent };

/// A collective with its arguments, in each of its forms. Every function returns MPI's error code.
class Call {
public:
    virtual ~Call() = default;
    virtual int run() const = 0;
    /// So many calls, as a loop around the function makes them; ends at the first error.
    virtual int repeat(long calls) const = 0;
    virtual int start(MPI_Request *request) const = 0; // nonblocking
    virtual int init(MPI_Request *request) const = 0;  // persistent
};

/// A call of these functions with these arguments. The data that arguments point to must outlive it.
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

/// The contents of one rank's buffers before and after a call. Counts are elements.
struct Layout {
    std::uint64_t send = 0;    // of the send buffer, which is the rank's contribution from its beginning
    std::uint64_t receive = 0; // of the receive buffer
    /// In the receive buffer before; without a send buffer this is the contribution, in place.
    std::vector<Piece> initial = {};
    std::vector<Piece> result = {}; // in the receive buffer afterwards

    bool in_place() const { return send == 0 && !initial.empty(); }
};

/// The arguments of a call. `send` is MPI_IN_PLACE where the layout has the contribution in the receive buffer.
struct CallBuffers {
    void *send;
    void *receive;
};

/// Blocks of a buffer, as the irregular collectives take them.
struct Blocks {
    std::vector<int> counts;        // elements
    std::vector<int> displacements; // elements

    void add(std::uint64_t count, std::uint64_t at);
    /// After the last one.
    void add(std::uint64_t count) { add(count, end()); }
    std::uint64_t count(std::size_t block) const { return static_cast<std::uint64_t>(counts[block]); }
    std::uint64_t at(std::size_t block) const { return static_cast<std::uint64_t>(displacements[block]); }
    std::uint64_t end() const { return counts.empty() ? 0 : at(counts.size() - 1) + count(counts.size() - 1); }
};

struct CollectiveArguments {
    MPI_Comm comm;
    int rank;
    int ranks;
    const Elements *elements; // nullptr if the collective has no messages
    std::uint64_t count;      // elements that the message size makes
    bool in_place;
    const Component &component;
};

struct CollectiveInfo;

/// One collective on one communicator, with a message size. Independent of forms and memory.
struct Collective : CollectiveArguments {
    /// Collective: it may make a communicator.
    Collective(const CollectiveInfo &described, const CollectiveArguments &arguments);
    Collective(const Collective &) = delete;
    Collective &operator=(const Collective &) = delete;

    Layout layout(int root) const;
    /// A call on these buffers; must not outlive this.
    std::unique_ptr<Call> bind(const CallBuffers &buffers, int root) const;

    int number() const { return static_cast<int>(count); }
    MPI_Datatype type() const { return elements->type(); }
    MPI_Op op() const { return elements->op(); }

    /// A contribution of so many elements: in the send buffer, or, if it `stays`, at an element of the receive buffer.
    Layout bring(std::uint64_t brought, bool stays = false, std::uint64_t at = 0) const;

    /// `total` elements, shared among the ranks by parameter `counts`: evenly, or rising with the rank, so that rank i
    /// has 2 (i + 1) / (ranks + 1) of the mean; up to rounding. The sum is always `total`.
    Blocks share(std::uint64_t total) const;
    /// Elements that two ranks send each other, by that parameter: `count`, or (1 + a + b) / ranks times as many,
    /// rounded down, which is the same in the mean. The same in both directions, as MPI_Alltoallv demands it in place.
    std::uint64_t pair_count(int a, int b) const;

    const CollectiveInfo &info;
    bool rising;                        // whether blocks grow with the rank
    std::optional<Neighbors> neighbors; // of neighborhood collectives
    Blocks send;                        // of the buffers, where the collective divides them
    Blocks receive;
    // The types of alltoallw and neighbor_alltoallw, whose blocks begin at the same places of both buffers.
    std::vector<MPI_Datatype> types;
    std::vector<int> bytes; // displacements
    std::vector<MPI_Aint> addresses;
};

/// Whose contribution the result of a rank has, so that the rank cannot leave before the other has entered.
enum class Flow {
    all,        // of all ranks, at all
    from_root,  // of the root, at all
    to_root,    // of all ranks, at the root
    from_lower, // of the ranks below
    neighbors,  // of neighbors; communicates with them alone
    none,       // of no other rank
};

/// "from_root"
std::string to_string(Flow flow);

/// The traits of a collective, which decide the parameters of its operations.
struct CollectiveTraits {
    Flow flow = Flow::all;
    bool reduces = false;
    bool in_place = false;
    bool irregular = false; // takes blocks of different sizes
    bool blocking_only = false;
    bool byte_displacements = false; // as int, of blocks in memory

    bool rooted() const { return flow == Flow::from_root || flow == Flow::to_root; }
};

struct CollectiveInfo {
    std::string name;     // "bcast"
    std::string mpi_name; // "Bcast"
    std::unique_ptr<Call> (*bind)(const Collective &collective, const CallBuffers &buffers, int root);
    std::string description;  // what it does, in a few words
    std::string size_meaning; // what the bytes of a message size are: "of the message"; "" if it has none
    CollectiveTraits traits = {};
    Layout (*layout)(const Collective &collective, int root);
    /// Sets Collective::send and Collective::receive.
    void (*divide)(Collective &collective) = [](Collective &) {};
    /// The most elements, in multiples of the message's, whose count or displacement MPI takes as an int.
    std::uint64_t (*reach)(const Component &component, int ranks) = [](const Component &, int) {
        return std::uint64_t{1};
    };
    /// Local. Why this MPI library gets it wrong in this form on so many ranks; "" if it does not.
    std::string (*fault)(const Component &component, int ranks, Form form) = [](const Component &, int, Form) {
        return std::string();
    };
};

/// Name, MPI's name and call of a CollectiveInfo: BENCH_COLLECTIVE(Bcast, bcast, arguments...), where `c` is the
/// collective, `b` its buffers, and `root` the root.
#define BENCH_COLLECTIVE(Name, lower, ...)                                                                             \
    .name = #lower, .mpi_name = #Name,                                                                                 \
    .bind = []([[maybe_unused]] const Collective &c, [[maybe_unused]] const CallBuffers &b,                            \
               [[maybe_unused]] int root) -> std::unique_ptr<Call> {                                                   \
        return bind_call(BENCH_FORMS(Name, lower), __VA_ARGS__);                                                       \
    }

/// The parameter of irregular collectives.
ComponentParameter counts_parameter();

/// For CollectiveInfo::reach: a block for every rank, of the same size or in the mean.
inline std::uint64_t reach_all_ranks(const Component &, int ranks) { return static_cast<std::uint64_t>(ranks); }

/// For CollectiveInfo::divide: every rank's share of all ranks' messages, in both buffers.
void share_messages(Collective &collective);

namespace collectives {
std::vector<CollectiveInfo> data_movement(); // and barrier
std::vector<CollectiveInfo> reductions();
std::vector<CollectiveInfo> neighborhood();
} // namespace collectives

const std::vector<CollectiveInfo> &all_collectives();

} // namespace bench
