#pragma once

#include "communicator.h"

#include <map>
#include <memory>
#include <mpi.h>
#include <string>
#include <vector>

namespace bench {

/// The name of the library's own choice, whatever it depends on.
constexpr const char *default_algorithm = "default";

/// An algorithm as the library calls it, with '_' where it writes '-', and as it numbers it.
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

/// A choice that holds: for the calls on comm() between enter() and leave().
class AlgorithmInForce {
public:
    AlgorithmInForce(MPI_Comm comm, std::string evidence) : comm_(comm), evidence_(std::move(evidence)) {}
    virtual ~AlgorithmInForce() = default;
    AlgorithmInForce(const AlgorithmInForce &) = delete;
    AlgorithmInForce &operator=(const AlgorithmInForce &) = delete;

    MPI_Comm comm() const { return comm_; }
    /// How it is known that it holds.
    const std::string &evidence() const { return evidence_; }

    /// Local, on all ranks alike. `strict`: a call for which the algorithm is not made returns an error, where the
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

/// The algorithms of the MPI library at hand.
class AlgorithmFamily {
public:
    virtual ~AlgorithmFamily() = default;

    const std::vector<SelectableCollective> &collectives() const { return collectives_; }

    /// Whether two communicators of one process can have different algorithms for it at the same time.
    virtual bool chosen_per_communicator(const SelectableCollective &collective) const = 0;
    /// Whether one process can have several algorithms for it, one after the other.
    virtual bool switchable(const SelectableCollective &collective) const = 0;

    /// Collective. Throws Error where the choice would not hold.
    virtual std::unique_ptr<AlgorithmInForce> choose(const Communicator &comm, const SelectableCollective &collective,
                                                     const Algorithm &algorithm) const = 0;

protected:
    std::vector<SelectableCollective> collectives_;
};

struct AlgorithmFamilyInfo {
    std::string name;
    /// Before MPI_Init: sets what the library reads there alone. What the user has set stays.
    void (*before_init)(const AlgorithmRequests &requests);
    /// None where the library at hand is of another family. MPI_T must be open.
    std::unique_ptr<AlgorithmFamily> (*find)();
};

// One line per family of MPI libraries; algorithms/<name>.cc defines the function of that name.
#define BENCH_ALGORITHM_FAMILIES(FAMILY)                                                                               \
    FAMILY(openmpi)                                                                                                    \
    FAMILY(mpich)                                                                                                      \
    FAMILY(intel)

namespace algorithm_families {
#define BENCH_DECLARE(name) AlgorithmFamilyInfo name();
BENCH_ALGORITHM_FAMILIES(BENCH_DECLARE)
#undef BENCH_DECLARE
} // namespace algorithm_families

const std::vector<AlgorithmFamilyInfo> &all_algorithm_families();

/// The one whose variables the MPI library has; none where no algorithm can be chosen. Opens MPI_T.
std::unique_ptr<AlgorithmFamily> find_algorithm_family();

/// The collective of that name; nullptr where its algorithm cannot be chosen.
const SelectableCollective *find_collective(const AlgorithmFamily &family, const std::string &name);

/// Names, as messages list them.
std::vector<std::string> algorithm_names(const SelectableCollective &collective);

/// Sets an environment variable unless the user has set it.
void set_unless_set(const std::string &variable, const std::string &value);

} // namespace bench
