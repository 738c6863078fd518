// The MPI library's own algorithms of collectives: finding them, choosing one, and checking that the choice takes
// effect. An algorithm family is the set of algorithms of a kind of MPI library (Open MPI, MPICH, Intel MPI). Also
// counts of sent messages, by which `downbeat-bench algorithms` recognizes an algorithm.
#pragma once

#include "mpi/communicator.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mpi.h>
#include <string>
#include <vector>

namespace bench {

/// An algorithm of the MPI library.
struct Algorithm {
    std::string name; // the library's name, with '_' for '-'
    int number;       // value of the variable that chooses it
};

/// A collective whose algorithm can be chosen.
struct SelectableCollective {
    std::string name;     // MPI function in lower case: "ibcast"
    std::string variable; // control variable that holds the choice
    std::vector<Algorithm> algorithms;
};

/// A chosen algorithm. It applies to calls on comm() between enter() and leave().
class AlgorithmInForce {
public:
    AlgorithmInForce(MPI_Comm comm, std::string evidence) : comm_(comm), evidence_(std::move(evidence)) {}
    virtual ~AlgorithmInForce() = default;
    AlgorithmInForce(const AlgorithmInForce &) = delete;
    AlgorithmInForce &operator=(const AlgorithmInForce &) = delete;

    MPI_Comm comm() const { return comm_; }
    /// How the algorithm was chosen and checked, for files: "set before each block and read back: ...".
    const std::string &evidence() const { return evidence_; }

    /// Local; all ranks call it with the same argument `strict`. If `strict`, a call that the algorithm does not
    /// support returns an error, if the library can do that; else the library may use another algorithm for the call.
    virtual void enter(bool) {}
    virtual void leave() {}

protected:
    MPI_Comm comm_;

private:
    std::string evidence_;
};

/// Calls enter() and leave() of an algorithm at the ends of a scope.
class AlgorithmScope {
public:
    explicit AlgorithmScope(AlgorithmInForce &algorithm, bool strict = false) : algorithm_(algorithm) {
        algorithm_.enter(strict);
    }
    ~AlgorithmScope() noexcept(false) { algorithm_.leave(); }
    AlgorithmScope(const AlgorithmScope &) = delete;
    AlgorithmScope &operator=(const AlgorithmScope &) = delete;

private:
    AlgorithmInForce &algorithm_;
};

/// Names of algorithms by collective, from the command line.
using AlgorithmRequests = std::map<std::string, std::vector<std::string>>;

/// The algorithms of this MPI library.
class AlgorithmFamily {
public:
    virtual ~AlgorithmFamily() = default;

    const std::vector<SelectableCollective> &collectives() const { return collectives_; }

    /// True if two communicators can have different algorithms of the collective at the same time.
    virtual bool chosen_per_communicator(const SelectableCollective &collective) const = 0;
    /// True if the algorithm of the collective can be changed after MPI_Init.
    virtual bool switchable(const SelectableCollective &collective) const = 0;

    /// Collective. Chooses an algorithm. Throws Error if the choice would not take effect.
    virtual std::unique_ptr<AlgorithmInForce> choose(const Communicator &comm, const SelectableCollective &collective,
                                                     const Algorithm &algorithm) const = 0;

protected:
    std::vector<SelectableCollective> collectives_;
};

struct AlgorithmFamilyInfo {
    /// Called before MPI_Init. Sets the environment variables that the library reads only in MPI_Init, unless the user
    /// has set them. `requests`: the algorithms on the command line.
    void (*before_init)(const AlgorithmRequests &requests);
    /// Returns null if this MPI library is of another kind. MPI_T must be open.
    std::unique_ptr<AlgorithmFamily> (*find)();
};

namespace algorithm_families {
AlgorithmFamilyInfo openmpi();
AlgorithmFamilyInfo mpich();
AlgorithmFamilyInfo intel();
} // namespace algorithm_families

const std::vector<AlgorithmFamilyInfo> &all_algorithm_families();

/// The algorithms of this MPI library; null if none can be chosen. Opens MPI_T.
std::unique_ptr<AlgorithmFamily> find_algorithm_family();

/// The collective `name`; null if its algorithm cannot be chosen.
const SelectableCollective *find_collective(const AlgorithmFamily &family, const std::string &name);

/// Sets an environment variable unless the user has set it.
void set_unless_set(const std::string &variable, const std::string &value);

/// Messages that this rank has sent. Vectors are indexed by the receiver's rank in MPI_COMM_WORLD.
struct Traffic {
    std::vector<std::int64_t> messages; // number of messages
    std::vector<std::int64_t> bytes;    // sum of their sizes
};

/// Counts the messages that the MPI library sends, including those of collectives.
class MessageCounter {
public:
    virtual ~MessageCounter() = default;
    /// Local. Messages since MPI_Init.
    virtual Traffic sent() const = 0;
};

/// Called before MPI_Init. Enables Open MPI's component pml_monitoring, which counts messages. It slows down every
/// message.
void prepare_message_counter();

/// Collective. Returns null if the library cannot count messages. Destroy the counter before MPI_Finalize.
std::unique_ptr<MessageCounter> find_message_counter(const Communicator &comm);

} // namespace bench
