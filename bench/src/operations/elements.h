// The elements of messages: MPI datatype, reduction operator, contents to write before a call and to check after it.
#pragma once

#include "text/component.h"

#include <cstdint>
#include <memory>
#include <mpi.h>
#include <optional>
#include <string>

namespace bench {

/// A range of a buffer that holds the contribution of a rank, or the combined contributions of several ranks.
struct Piece {
    std::uint64_t at;    // first element in the buffer
    std::uint64_t count; // number of elements
    std::uint64_t from;  // first element in the contributions
    int first_rank;      // contributions of ranks first_rank to last_rank are combined in this order
    int last_rank;       // first_rank: a copy of its contribution
};

/// The elements of messages, and the reduction operator on them. All ranks can compute the contributions of all ranks,
/// and no reduction of contributions leaves the range in which the type is exact (element_reductions.h).
class Elements {
public:
    virtual ~Elements() = default;

    virtual MPI_Datatype type() const = 0;
    virtual MPI_Op op() const = 0;            // MPI_OP_NULL if nothing is reduced
    virtual std::string name() const = 0;     // "MPI_DOUBLE MPI_SUM"
    virtual std::uint64_t size() const = 0;   // bytes of an element in a message
    virtual std::uint64_t extent() const = 0; // bytes from one element to the next in memory

    /// Writes the contents of a piece.
    virtual void write(void *buffer, const Piece &piece) const = 0;
    /// Compares the buffer with the contents of a piece. Returns the first difference, "element 3 is 5 instead of 6";
    /// nullopt without a difference. Gaps within elements must still contain poison.
    virtual std::optional<std::string> compare(const void *buffer, const Piece &piece) const = 0;
    /// Fills the first `count` elements with poison, a value that no operation produces.
    virtual void poison(void *buffer, std::uint64_t count) const = 0;
    /// Fills the first `count` elements with 0. Every reduction of zeros is 0, so that reductions can be repeated in
    /// place without overflow and without denormal numbers, which would take longer.
    virtual void settle(void *buffer, std::uint64_t count) const = 0;
};

/// The parameters of an operation with elements: `type`, and `op` if it reduces.
std::vector<ComponentParameter> elements_parameters(bool reduces);

/// Sizes of an element in bytes.
struct ElementSize {
    std::uint64_t size;   // in a message; message sizes are multiples of it
    std::uint64_t extent; // in memory
};

/// The sizes of an element with the parameters of an operation. Throws Error::usage if type and op do not fit.
ElementSize element_size(const Component &operation, bool reduces);

/// Makes the elements of messages of `size` bytes, with the parameters of an operation. At most `ranks` contributions
/// are combined.
std::unique_ptr<Elements> make_elements(const Component &operation, bool reduces, std::uint64_t size, int ranks);

} // namespace bench
