#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace bench {

/// Memory with every byte written, so that a measurement has no page faults.
class Buffer {
public:
    /// Begins `place` cache lines (modulo those of a page) after the beginning of a page, so that many buffers do not
    /// share the same few places of a cache.
    explicit Buffer(std::uint64_t size, std::size_t place = 0);
    void *data() const { return data_.get() + offset_; }

private:
    struct Free {
        void operator()(char *data) const;
    };
    std::unique_ptr<char[], Free> data_;
    std::size_t offset_;
};

/// Bytes of the largest cache of a processor; 32 MiB if unknown.
std::uint64_t largest_cache();

/// Flushes the memory from all caches of this processor.
void flush_from_caches(const void *data, std::uint64_t size);

} // namespace bench
