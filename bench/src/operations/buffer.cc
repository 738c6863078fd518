#include "operations/buffer.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace bench {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t line = 64;

// Read as double or float this is an ordinary positive number (4.8e-4, 0.75), neither denormal nor close to overflow,
// so that sums take the time they usually take.
constexpr int fill = 0x3f;

} // namespace

Buffer::Buffer(std::uint64_t size, std::size_t place) : offset_(place % (page / line) * line) {
    const std::uint64_t rounded = (offset_ + size + page - 1) / page * page; // as aligned_alloc demands
    data_.reset(static_cast<char *>(std::aligned_alloc(page, rounded)));
    if (!data_) {
        throw std::bad_alloc();
    }
    std::memset(data_.get(), fill, rounded);
}

void Buffer::Free::operator()(char *data) const { std::free(data); }

} // namespace bench
