#pragma once

#include "mpi/communicator.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mpi.h>
#include <string>
#include <vector>

namespace bench {

/// An algorithm by the library's name, with '_' for '-', and by its number.
struct Algorithm {
    std::string name;
    int number;
};

/// A collective whose algorithm can be chosen. Its name is that of the MPI function in lower case: "ibcast".
struct SelectableCollective {
    std::string name;
    std::string variable; // that holds the choice
    std::vector<Algorithm> algorithms;
};

/// A choice in force: for the calls on comm() between enter() and leave().
class AlgorithmInForce {
public:
    AlgorithmInForce(MPI_Comm comm, std::string evidence) : comm_(comm), evidence_(std::move(evidence)) {}
    virtual ~AlgorithmInForce() = default;
    AlgorithmInForce(const AlgorithmInForce &) = delete;
    AlgorithmInForce &operator=(const AlgorithmInForce &) = delete;

    MPI_Comm comm() const { return comm_; }
    /// The evidence that it is in force.
    const std::string &evidence() const { return evidence_; }

    /// Local, the same on all ranks. `strict`: a call that the algorithm does not support returns an error, if the
    /// library can do that; else the library may choose another algorithm for it.
    virtual void enter(bool) {}
    virtual void leave() {}

protected:
    MPI_Comm comm_;

private:
    std::string evidence_;
};

/// Between enter() and leave().
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

/// Algorithms by collective, as a command line asks for them.
using AlgorithmRequests = std::map<std::string, std::vector<std::string>>;

/// The algorithms of this MPI library.
class AlgorithmFamily {
public:
    virtual ~AlgorithmFamily() = default;

    const std::vector<SelectableCollective> &collectives() const { return collectives_; }

    /// Whether two communicators of one process can have different algorithms for it at the same time.
    virtual bool chosen_per_communicator(const SelectableCollective &collective) const = 0;
    /// Whether one process can have several algorithms for it, one after the other.
    virtual bool switchable(const SelectableCollective &collective) const = 0;

    /// Collective. Throws Error if the choice would not hold.
    virtual std::unique_ptr<AlgorithmInForce> choose(const Communicator &comm, const SelectableCollective &collective,
                                                     const Algorithm &algorithm) const = 0;

protected:
    std::vector<SelectableCollective> collectives_;
};

struct AlgorithmFamilyInfo {
    /// Before MPI_Init: sets the variables that the library reads only there. Variables set by the user stay.
    void (*before_init)(const AlgorithmRequests &requests);
    /// None if this library is of another family. MPI_T must be open.
    std::unique_ptr<AlgorithmFamily> (*find)();
};

namespace algorithm_families {
AlgorithmFamilyInfo openmpi();
AlgorithmFamilyInfo mpich();
AlgorithmFamilyInfo intel();
} // namespace algorithm_families

const std::vector<AlgorithmFamilyInfo> &all_algorithm_families();

/// The family whose variables the MPI library has; none if no algorithm can be chosen. Opens MPI_T.
std::unique_ptr<AlgorithmFamily> find_algorithm_family();

/// The collective of that name; nullptr if its algorithm cannot be chosen.
const SelectableCollective *find_collective(const AlgorithmFamily &family, const std::string &name);

/// Names, as messages list them.
std::vector<std::string> algorithm_names(const SelectableCollective &collective);

/// Sets an environment variable unless the user has set it.
void set_unless_set(const std::string &variable, const std::string &value);

/// Messages and bytes that this rank has sent to each rank of MPI_COMM_WORLD.
struct Traffic {
    std::vector<std::int64_t> messages;
    std::vector<std::int64_t> bytes;
};

/// Counts the messages that the MPI library sends, those of its collectives included.
class MessageCounter {
public:
    virtual ~MessageCounter() = default;
    /// Local. Since MPI_Init.
    virtual Traffic sent() const = 0;
};

/// Before MPI_Init: makes Open MPI put component pml_monitoring before the one that sends its messages. This slows down
/// every message.
void prepare_message_counter();

/// Collective. None if the library cannot count. Destroy it before MPI_Finalize.
std::unique_ptr<MessageCounter> find_message_counter(const Communicator &comm);

} // namespace bench
