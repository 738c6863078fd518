#pragma once

#include <cstdint>

namespace bench {

/// Bytes of the largest cache that a processor has a part in; 32 MiB if the system does not say.
std::uint64_t largest_cache();

/// Takes the memory out of all caches of this processor.
void flush_from_caches(const void *data, std::uint64_t size);

} // namespace bench
