#include "operations/buffer.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <unistd.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#elif !defined(__aarch64__)
#include <algorithm>
#include <vector>
#endif

namespace bench {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t line = 64; // bytes; no processor with an instruction to flush has shorter ones

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

std::uint64_t largest_cache() {
    const long size = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return size > 0 ? static_cast<std::uint64_t>(size) : std::uint64_t{32} << 20;
}

void flush_from_caches(const void *data, std::uint64_t size) {
    const char *const begin = static_cast<const char *>(data);
#if defined(__x86_64__)
    for (std::uint64_t at = 0; at < size; at += line) {
        _mm_clflush(begin + at);
    }
    _mm_mfence();
#elif defined(__aarch64__)
    for (std::uint64_t at = 0; at < size; at += line) {
        asm volatile("dc civac, %0" : : "r"(begin + at) : "memory");
    }
    asm volatile("dsb ish" : : : "memory");
#else
    // No unprivileged instruction for it: other memory evicts it.
    static std::vector<char> other(2 * largest_cache());
    std::fill(other.begin(), other.end(), static_cast<char>(begin[0] + static_cast<char>(size)));
#endif
}

} // namespace bench
