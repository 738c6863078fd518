#include "operations/cache.h"

#include <unistd.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#elif !defined(__aarch64__)
#include <algorithm>
#include <vector>
#endif

namespace bench {
namespace {

#if defined(__x86_64__) || defined(__aarch64__)
constexpr std::uint64_t line = 64; // bytes; no processor of these kinds has shorter ones
#endif

} // namespace

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
    // No instruction for it that a program may use: other memory takes the place.
    static std::vector<char> other(2 * largest_cache());
    std::fill(other.begin(), other.end(), static_cast<char>(begin[0] + static_cast<char>(size)));
#endif
}

} // namespace bench
