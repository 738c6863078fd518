#pragma once

#include "text/component.h"

#include <cstdint>
#include <memory>
#include <mpi.h>
#include <optional>
#include <string>

namespace bench {

/// A stretch of a buffer that holds, element by element, what ranks have contributed.
struct Piece {
    std::uint64_t at;    // element of the buffer at which it begins
    std::uint64_t count; // elements
    std::uint64_t from;  // element of the contributions at which it begins
    int first_rank;      // the contributions of these ranks, combined in their order; of one rank: copied
    int last_rank;
};

/// The elements of messages, and the reduction operator on them. Every rank's contribution is known to all, and no
/// reduction of contributions leaves the range in which it is exact, whatever the type (reductions.h).
class Elements {
public:
    virtual ~Elements() = default;

    virtual MPI_Datatype type() const = 0;
    virtual MPI_Op op() const = 0;            // MPI_OP_NULL if nothing is reduced
    virtual std::string name() const = 0;     // "MPI_DOUBLE MPI_SUM"
    virtual std::uint64_t size() const = 0;   // bytes of an element in a message
    virtual std::uint64_t extent() const = 0; // bytes from one element to the next in memory

    /// Writes the contents of `piece` after the operation, or a rank's contribution before it.
    virtual void write(void *buffer, const Piece &piece) const = 0;
    /// The difference from that: "element 3 is 5 instead of 6"; nothing if all is correct. The gaps between the parts
    /// of an element must be as poison() left them.
    virtual std::optional<std::string> compare(const void *buffer, const Piece &piece) const = 0;
    /// Fills the first elements with values that no operation produces.
    virtual void poison(void *buffer, std::uint64_t count) const = 0;
    /// Fills the first elements with what a reduction of all ranks leaves as it is, so that it can go on in place: 0,
    /// which does so in every operation, neither grows nor becomes denormal, and takes the usual time.
    virtual void settle(void *buffer, std::uint64_t count) const = 0;
};

/// Parameters `type`, and `op` where `reduces`.
std::vector<ComponentParameter> elements_parameters(bool reduces);

/// The constraints of those parameters on sizes.
struct ElementSize {
    std::uint64_t size;   // bytes; message sizes are multiples of it
    std::uint64_t extent; // bytes in memory of an element with `size` bytes in a message
};

/// Throws Error::usage if type and op do not go together.
ElementSize element_size(const Component &operation, bool reduces);

/// The elements of messages of `size` bytes.
std::unique_ptr<Elements> make_elements(const Component &operation, bool reduces, std::uint64_t size, int ranks);

} // namespace bench
