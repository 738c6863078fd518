#pragma once

#include <cstddef>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace bench {

/// Numbered events in the order in which they are due. Times are seconds on any one clock.
class DueEvents {
public:
    void add(double due, std::size_t event) { queue_.emplace(due, event); }
    bool empty() const { return queue_.empty(); }
    /// When the first is due; there is one.
    double next_due() const { return queue_.top().first; }

    /// Removes and returns the event that is due first; there is one.
    std::size_t take_first() {
        const std::size_t event = queue_.top().second;
        queue_.pop();
        return event;
    }

private:
    using Item = std::pair<double, std::size_t>;
    std::priority_queue<Item, std::vector<Item>, std::greater<>> queue_;
};

} // namespace bench
