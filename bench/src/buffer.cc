#include "buffer.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace bench {
namespace {

constexpr std::uint64_t alignment = 4096;

// Read as double or float this is an ordinary positive number (4.8e-4, 0.75), neither denormal nor close to overflow,
// so that sums take the time they usually take.
constexpr int fill = 0x3f;

} // namespace

Buffer::Buffer(std::uint64_t size) {
    const std::uint64_t rounded = (size + alignment - 1) / alignment * alignment; // as aligned_alloc demands
    data_.reset(std::aligned_alloc(alignment, rounded));
    if (!data_) {
        throw std::bad_alloc();
    }
    std::memset(data_.get(), fill, rounded);
}

void Buffer::Free::operator()(void *data) const { std::free(data); }

} // namespace bench
