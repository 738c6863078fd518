#include "patterns/arrival_pattern.h"

#include <algorithm>
#include <utility>

namespace bench {
namespace {

class NodeSteps : public ArrivalPattern {
public:
    explicit NodeSteps(std::vector<int> nodes)
        : nodes_(std::move(nodes)), last_(*std::max_element(nodes_.begin(), nodes_.end())) {}
    double share(int place, long) const override {
        return static_cast<double>(nodes_[static_cast<std::size_t>(place)]) / last_;
    }

private:
    std::vector<int> nodes_;
    int last_;
};

} // namespace

PatternInfo patterns::node_steps() {
    return {{"node_steps", "the ranks of a node together, each node later than the one before", "", {}},
            false,
            [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
                if (std::count(arguments.nodes.begin(), arguments.nodes.end(), 0) == arguments.ranks) {
                    throw Error::usage(
                        "arrival pattern node_steps needs ranks on at least 2 nodes, but all are on one");
                }
                return std::make_unique<NodeSteps>(arguments.nodes);
            }};
}

} // namespace bench
