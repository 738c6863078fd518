// The simulated machine: a platform that SimGrid loads by `smpirun -platform downbeat-platform.so`. The environment
// variable SIMULATED_PLATFORM describes it; `downbeat run --simulate` sets it, with all parameters:
//
//     fat-tree(nodes=1024,ranks_per_node=1,latency=2.5e-07,...)
//
// SimGrid's XML platforms cannot replace it, because they cannot give each message a random latency.
#include "component_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <smpi/smpi.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace sg = simgrid::s4u;

namespace {

constexpr const char *variable = "SIMULATED_PLATFORM";
constexpr double speed = 1e9;                   // flop/s; computation is not simulated, but a host must have a speed
constexpr double within_node = 1e10;            // bytes/s
constexpr double pareto_shape = 1.5;            // as in the literature on estimators of clock offsets
constexpr double default_noise_length = 100e-6; // s, about a tick of the kernel and the work in it
constexpr double longest_tail = 10000.0; // maximum of a tail delay, in units of `tail`: switches drop old packets

/// The parsed description of the platform.
struct Spec {
    std::string text;                         // the complete description
    std::string topology;                     // "cluster", "fat-tree" or "dragonfly"
    std::map<std::string, double> values;     // of the parameters, by name
    std::map<std::string, std::string> words; // the values as they are written

    /// The value of a parameter. Throws std::invalid_argument if it is missing.
    double at(const std::string &key) const {
        const auto value = values.find(key);
        if (value == values.end()) {
            throw std::invalid_argument(std::string(variable) + " '" + text + "' has no " + key);
        }
        return value->second;
    }
    /// The value of a parameter, or `fallback` if it is missing.
    double at(const std::string &key, double fallback) const { return values.contains(key) ? at(key) : fallback; }
    unsigned count(const std::string &key) const { return static_cast<unsigned>(std::lround(at(key))); }
};

/// Parses the environment variable. Throws std::invalid_argument if it is missing or not valid.
Spec read_spec() {
    const char *text = std::getenv(variable);
    if (text == nullptr) {
        throw std::invalid_argument(std::string(variable) +
                                    " is not set; start simulations by 'downbeat run --simulate'");
    }
    Spec spec{text, "", {}, {}};
    db_slice name{};
    db_slice inside{};
    std::array<char, 256> message{};
    if (db_split_component(db_slice_of(text, spec.text.size()), &name, &inside, message.data(), message.size()) != 0) {
        throw std::invalid_argument(std::string(variable) + ": " + message.data());
    }
    spec.topology.assign(name.text, name.length);
    for (db_slice word{}; db_next_word(&inside, &word) != 0;) {
        const std::string argument(word.text, word.length);
        const std::size_t equals = argument.find('=');
        if (equals == std::string::npos) {
            throw std::invalid_argument(std::string(variable) + ": '" + argument + "' is not KEY=VALUE");
        }
        spec.words[argument.substr(0, equals)] = argument.substr(equals + 1);
        spec.values[argument.substr(0, equals)] = std::strtod(argument.c_str() + equals + 1, nullptr);
    }
    return spec;
}

/// Creates the host of a node. A faulty node computes more slowly by factor slow_core.
sg::Host *make_host(sg::NetZone *zone, unsigned long id, const Spec &spec) {
    const bool faulty = static_cast<double>(id) == spec.at("faulty", -1.0);
    return zone->create_host("node-" + std::to_string(id), faulty ? speed / spec.at("slow_core", 1.0) : speed);
}

/// Sets the hosts' properties on late ends of waits, for lib/src/clock/clock_simulated.c.
void set_waits(const sg::Engine &engine, const Spec &spec) {
    if (spec.at("late_share") <= 0.0) {
        return;
    }
    for (sg::Host *host : engine.get_all_hosts()) {
        for (const char *name : {"late", "late_share", "seed"}) {
            host->set_property(name, spec.words.at(name));
        }
    }
}

/// Sets the properties of the faulty node's processor, for bench/smpi/mpi/processor_check.cc.
void set_processor(const sg::Engine &engine, const Spec &spec) {
    if (spec.at("faulty", -1.0) < 0.0) {
        return;
    }
    sg::Host *host = engine.host_by_name("node-" + std::to_string(spec.count("faulty")));
    host->set_property("noise", std::to_string(spec.at("noise", 0.0)));
    host->set_property("noise_length", std::to_string(spec.at("noise_length", default_noise_length)));
}

/// Creates the link between ranks of one node.
sg::Link *make_loopback(sg::NetZone *zone, unsigned long id, const Spec &spec) {
    return zone->create_link("loopback-" + std::to_string(id), within_node)
        ->set_sharing_policy(sg::Link::SharingPolicy::FATPIPE)
        ->set_latency(spec.at("local_latency"));
}

/// A cluster: all nodes are connected to one switch.
sg::NetZone *make_cluster(const Spec &spec) {
    sg::NetZone *zone = sg::create_star_zone("cluster");
    for (unsigned id = 0; id < spec.count("nodes"); ++id) {
        sg::Host *host = make_host(zone, id, spec);
        const sg::Link *link = zone->create_split_duplex_link("link-" + std::to_string(id), spec.at("bandwidth"))
                                   ->set_latency(spec.at("latency") / 2);
        const auto *duplex = dynamic_cast<const sg::SplitDuplexLink *>(link);
        zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {{duplex, sg::LinkInRoute::Direction::UP}},
                        true);
        zone->add_route(host->get_netpoint(), host->get_netpoint(), nullptr, nullptr,
                        {sg::LinkInRoute(make_loopback(zone, id, spec)->seal())}, false);
    }
    return zone;
}

/// Functions by which SimGrid creates the nodes of a topology and their loopback links.
sg::ClusterCallbacks callbacks(const Spec &spec) {
    return {[spec](sg::NetZone *zone, const std::vector<unsigned long> &, unsigned long id) {
                return std::make_pair(make_host(zone, id, spec)->get_netpoint(),
                                      static_cast<simgrid::kernel::routing::NetPoint *>(nullptr));
            },
            [spec](sg::NetZone *zone, const std::vector<unsigned long> &, unsigned long id) {
                return make_loopback(zone, id, spec)->seal();
            },
            {}};
}

/// The quotient, rounded up.
unsigned divided(unsigned number, unsigned by) { return (number + by - 1) / by; }

/// A fat tree of two levels with full bisection bandwidth: leaf switches with `radix` nodes, and `radix` spine
/// switches.
sg::NetZone *make_fat_tree(const Spec &spec) {
    const unsigned radix = spec.count("radix");
    const unsigned leaves = divided(spec.count("nodes"), radix);
    const sg::FatTreeParams shape(2, {radix, leaves}, {1, radix}, {1, 1});
    return sg::create_fatTree_zone("fat-tree", nullptr, shape, callbacks(spec), spec.at("bandwidth"),
                                   spec.at("latency"), sg::Link::SharingPolicy::SPLITDUPLEX);
}

/// A dragonfly: each router is connected to all routers of its group, and each group to all other groups.
sg::NetZone *make_dragonfly(const Spec &spec) {
    const unsigned nodes = spec.count("nodes_per_router");
    const unsigned routers = spec.count("routers");
    const unsigned groups = divided(spec.count("nodes"), nodes * routers);
    const sg::DragonflyParams shape({groups, 1}, {1, 1}, {routers, 1}, nodes);
    return sg::create_dragonfly_zone("dragonfly", nullptr, shape, callbacks(spec), spec.at("bandwidth"),
                                     spec.at("latency"), sg::Link::SharingPolicy::SPLITDUPLEX);
}

/// The fault of a node, or of one of its links, that the description may contain.
class Fault {
public:
    explicit Fault(const Spec &spec)
        : node_(static_cast<int>(spec.at("faulty", -1.0))), peer_(static_cast<int>(spec.at("faulty_to", -1.0))),
          out_(spec.at("slow_out", 1.0)), in_(spec.at("slow_in", 1.0)), noise_(spec.at("noise", 0.0)),
          length_(spec.at("noise_length", default_noise_length)) {}

    bool is_planted() const { return node_ >= 0; }

    /// Factor by which the fault lengthens a message; 1 if it does not concern these nodes.
    double slowness(int source, int destination) const {
        if (source == node_ && (peer_ < 0 || destination == peer_)) {
            return out_;
        }
        return destination == node_ && (peer_ < 0 || source == peer_) ? in_ : 1.0;
    }

    /// The probability that a message arrives while the node has no processor for it.
    double noise(int source, int destination) const { return source == node_ || destination == node_ ? noise_ : 0.0; }
    /// The maximum time for which such a message waits, s.
    double noise_length() const { return length_; }

private:
    int node_;      // number of the faulty node; -1: none
    int peer_;      // only messages from and to this node are slow; -1: of all nodes
    double out_;    // factor for messages from the node
    double in_;     // factor for messages to the node
    double noise_;  // see noise()
    double length_; // see noise_length()
};

/// The number in a host's name, "node-<number>".
int number_of(const sg::Host *host) { return std::atoi(host->get_cname() + 5); }

/// The random delay of each message in addition to the latency of the links. Equal seeds give equal delays.
class Noise {
public:
    explicit Noise(const Spec &spec)
        : jitter_(spec.at("jitter")), tail_(spec.at("tail")), tail_share_(spec.at("tail_share")),
          asymmetry_(spec.at("asymmetry")), fault_(spec), random_(static_cast<std::uint64_t>(spec.at("seed"))) {}

    /// The latency of a message with its random delay, relative to the latency of the links.
    double operator()(double, const sg::Host *source, const sg::Host *destination, const std::vector<sg::Link *> &links,
                      const std::unordered_set<sg::NetZone *> &) {
        if (source == destination) {
            return 1.0;
        }
        double latency = 0.0;
        for (const sg::Link *link : links) {
            latency += link->get_latency();
        }
        // Messages to higher nodes take longer by half the asymmetry, messages to lower nodes are faster by half.
        const double direction = number_of(source) < number_of(destination) ? 1.0 : -1.0;
        double delay = latency * (1.0 + direction * asymmetry_ / 2.0);
        if (jitter_ > 0.0) {
            delay -= jitter_ * std::log(uniform());
        }
        if (tail_share_ > 0.0 && uniform() < tail_share_) {
            delay += tail_ * std::min(longest_tail, std::pow(uniform(), -1.0 / pareto_shape));
        }
        delay *= fault_.slowness(number_of(source), number_of(destination));
        const double noise = fault_.noise(number_of(source), number_of(destination));
        if (noise > 0.0 && uniform() < noise) {
            delay += fault_.noise_length() * uniform();
        }
        return delay / latency;
    }

private:
    double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; } // above 0

    double jitter_;     // mean of an exponential delay of each message, s
    double tail_;       // scale of a Pareto delay of some messages, s
    double tail_share_; // share of messages with a Pareto delay
    double asymmetry_;  // relative difference of latency between the directions
    Fault fault_;
    std::mt19937_64 random_;
};

} // namespace

// SimGrid calls this function when it has loaded the library.
extern "C" void load_platform(const sg::Engine &engine);
void load_platform(const sg::Engine &engine) {
    static const std::map<std::string, sg::NetZone *(*)(const Spec &)> topologies = {
        {"cluster", make_cluster}, {"fat-tree", make_fat_tree}, {"dragonfly", make_dragonfly}};
    const Spec spec = read_spec();
    const auto topology = topologies.find(spec.topology);
    if (topology == topologies.end()) {
        throw std::invalid_argument(std::string(variable) + ": '" + spec.topology +
                                    "' is not a topology; choose one of cluster, fat-tree, dragonfly");
    }
    sg::NetZone *zone = topology->second(spec);
    zone->set_property("simulated", spec.text);
    const auto noise = std::make_shared<Noise>(spec);
    zone->get_network_model()->set_lat_factor_cb(
        [noise](double size, const sg::Host *source, const sg::Host *destination, const std::vector<sg::Link *> &links,
                const std::unordered_set<sg::NetZone *> &zones) {
            return (*noise)(size, source, destination, links, zones);
        });
    if (const Fault fault(spec); fault.is_planted()) {
        zone->get_network_model()->set_bw_factor_cb([fault](double, const sg::Host *source, const sg::Host *destination,
                                                            const std::vector<sg::Link *> &,
                                                            const std::unordered_set<sg::NetZone *> &) {
            return 1.0 / fault.slowness(number_of(source), number_of(destination));
        });
    }
    zone->seal();
    const double overhead = spec.at("overhead");
    if (overhead > 0.0) {
        for (const SmpiOperation operation : {SmpiOperation::SEND, SmpiOperation::ISEND, SmpiOperation::RECV}) {
            smpi_register_op_cost_callback(operation, [overhead](size_t, sg::Host *, sg::Host *) { return overhead; });
        }
    }
    set_waits(engine, spec);
    set_processor(engine, spec);
}
