#pragma once

#include <cstdint>
#include <memory>

namespace bench {

/// Page-aligned memory whose every byte has been written, so that no page fault falls into a measurement.
class Buffer {
public:
    explicit Buffer(std::uint64_t size);
    void *data() const { return data_.get(); }

private:
    struct Free {
        void operator()(void *data) const;
    };
    std::unique_ptr<void, Free> data_;
};

} // namespace bench
