// Operations from collectives (collective.h): the blocking, nonblocking and persistent form, with buffers, roots that
// rotate, computation between start and wait, and validation of results.
#include "operations/operation.h"

#include "mpi/communicator.h"
#include "operations/collective.h"
#include "operations/elements.h"
#include "text/error.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

namespace bench {
namespace {

// Maximum number of sets of buffers that rotate. It limits the memory for their bound calls.
constexpr std::uint64_t max_sets = 4096;

// Maximum number of calls in a validation.
constexpr std::size_t max_validated = 64;

// Calls in a validation of a barrier; in each, another rank enters late.
constexpr std::size_t order_calls = 4;

constexpr const char *rotating = "rotating";

/// A collective with buffers. Buffers and roots rotate from call to call in a fixed order, the variants.
class CollectiveOperation : public Operation {
public:
    CollectiveOperation(const CollectiveInfo &info, const OperationArguments &arguments)
        : name_("MPI_" + info.mpi_name), comm_(arguments.comm) {
        const Component &component = arguments.component;
        check(MPI_Comm_rank(arguments.comm, &rank_), "MPI_Comm_rank");
        check(MPI_Comm_size(arguments.comm, &ranks_), "MPI_Comm_size");
        if (!info.size_meaning.empty()) {
            elements_ = make_elements(component, info.traits.reduces, arguments.size, ranks_);
            flushed_ = component.word("buffers") == "flushed";
        }
        collective_.emplace(info,
                            CollectiveArguments{.comm = arguments.comm,
                                                .rank = rank_,
                                                .ranks = ranks_,
                                                .elements = elements_.get(),
                                                .count = elements_ ? arguments.size / elements_->size() : 0,
                                                .in_place = info.traits.in_place && component.word("in_place") == "yes",
                                                .component = component});
        make_variants(info.traits.rooted() ? roots(component) : std::vector<int>{0},
                      elements_ && component.word("buffers") == "rotated");
        for (const Variant &variant : variants_) {
            settle(variant);
        }
    }

    void prepare() override {
        if (flushed_) {
            const Variant &variant = variants_[next_];
            if (variant.layout.send > 0) {
                flush_from_caches(variant.buffers.send, bytes(variant.layout.send));
            }
            flush_from_caches(variant.buffers.receive, bytes(variant.layout.receive));
        }
    }

    std::optional<Validation> validate() override {
        Validation validation;
        next_ = 0;
        const std::size_t calls = elements_ ? std::min(variants_.size(), max_validated) : order_calls;
        for (; validation.calls < static_cast<long>(calls); ++validation.calls) {
            if (const std::optional<std::string> error = elements_ ? validate_contents() : validate_order()) {
                if (++validation.wrong == 1) {
                    validation.error = *error;
                }
            }
        }
        next_ = 0;
        return validation;
    }

protected:
    /// A call with one set of buffers and one root.
    struct Variant {
        CallBuffers buffers;
        Layout layout;
        std::unique_ptr<Call> call;
    };
    const std::vector<Variant> &variants() const { return variants_; }
    const char *name() const { return name_.c_str(); }

    /// Returns the index of the variant for this call, and advances to the next variant.
    std::size_t next() {
        const std::size_t current = next_;
        next_ = next_ + 1 == variants_.size() ? 0 : next_ + 1;
        return current;
    }

private:
    /// The roots of consecutive calls: one, or all ranks if the root rotates.
    std::vector<int> roots(const Component &component) const {
        if (component.word("root") != rotating) {
            return {static_cast<int>(component.whole("root"))};
        }
        std::vector<int> roots(static_cast<std::size_t>(ranks_));
        std::iota(roots.begin(), roots.end(), 0);
        return roots;
    }

    /// Collective. Makes a variant for each call until buffers and roots repeat. `rotated`: use several sets of
    /// buffers, which together are twice as large as the largest cache.
    void make_variants(const std::vector<int> &roots, bool rotated) {
        std::vector<Layout> layouts;
        std::uint64_t send = 0; // bytes of a buffer that is large enough with every root
        std::uint64_t receive = 0;
        for (const int root : roots) {
            layouts.push_back(collective_->layout(root));
            send = std::max(send, bytes(layouts.back().send));
            receive = std::max(receive, bytes(layouts.back().receive));
        }
        // All ranks need the same number of sets, although their buffers differ: they must create the same persistent
        // operations.
        std::uint64_t largest = send + receive;
        check(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_UINT64_T, MPI_MAX, comm_), "MPI_Allreduce");
        const std::uint64_t sets =
            rotated ? std::clamp<std::uint64_t>(2 * largest_cache() / std::max<std::uint64_t>(largest, 1), 2, max_sets)
                    : 1;
        // Roots and sets advance together. Combining every root with every set would need too many variants.
        const std::uint64_t rounds = (sets + roots.size() - 1) / roots.size();
        for (std::size_t i = 0; i < rounds * roots.size(); ++i) {
            if (i < sets) {
                memory_.emplace_back(send, i);
                memory_.emplace_back(receive, i);
            }
            const std::size_t set = i % sets;
            const std::size_t root = i % roots.size();
            CallBuffers buffers{memory_[2 * set].data(), memory_[2 * set + 1].data()};
            if (layouts[root].in_place()) {
                buffers.send = MPI_IN_PLACE;
            }
            variants_.push_back({buffers, layouts[root], collective_->bind(buffers, roots[root])});
        }
    }

    /// The contents of this rank's send buffer.
    Piece contribution(const Variant &variant) const {
        return {.at = 0, .count = variant.layout.send, .from = 0, .first_rank = rank_, .last_rank = rank_};
    }

    /// Writes this rank's contribution, and poison elsewhere, so that validation finds every element that MPI does not
    /// write.
    void contribute(const Variant &variant) const {
        elements_->poison(variant.buffers.receive, variant.layout.receive);
        for (const Piece &piece : variant.layout.initial) {
            elements_->write(variant.buffers.receive, piece);
        }
        if (variant.layout.send > 0) {
            elements_->poison(variant.buffers.send, variant.layout.send);
            elements_->write(variant.buffers.send, contribution(variant));
        }
    }

    /// Writes data for measurements, which repeated calls leave unchanged.
    void settle(const Variant &variant) const {
        if (!elements_) {
            return;
        }
        if (variant.layout.initial.empty()) {
            contribute(variant);
            return;
        }
        // In place, the result of a call is the input of the next call.
        elements_->settle(variant.buffers.receive, variant.layout.receive);
        if (variant.layout.send > 0) {
            elements_->settle(variant.buffers.send, variant.layout.send);
        }
    }

    /// Makes the next call, and returns its first wrong element; nullopt if all are right.
    std::optional<std::string> validate_contents() {
        const Variant &variant = variants_[next_];
        contribute(variant);
        run();
        const std::optional<std::string> error = first_error(variant);
        settle(variant);
        return error;
    }

    /// Tests a barrier with another late rank in each call.
    std::optional<std::string> validate_order() {
        const int late = late_;
        late_ = (late_ + 1) % ranks_;
        return find_early_leaver(comm_, late, [this] { run(); });
    }

    /// The first element of the buffers that is not as expected after a call.
    std::optional<std::string> first_error(const Variant &variant) const {
        for (const Piece &piece : variant.layout.result) {
            if (const auto error = elements_->compare(variant.buffers.receive, piece)) {
                return error;
            }
        }
        if (variant.layout.send > 0) {
            if (const auto error = elements_->compare(variant.buffers.send, contribution(variant))) {
                return fmt::format("the send buffer has changed: {}", *error);
            }
        }
        return std::nullopt;
    }

    /// The size of `count` elements in memory, bytes.
    std::uint64_t bytes(std::uint64_t count) const { return elements_ ? count * elements_->extent() : 0; }

    std::string name_; // of MPI's blocking function
    MPI_Comm comm_;
    int rank_ = 0;
    int ranks_ = 0;
    bool flushed_ = false;               // buffers are flushed from the caches before each start
    std::unique_ptr<Elements> elements_; // null if the collective has no messages
    std::optional<Collective> collective_;
    std::vector<Buffer> memory_;    // send and receive buffer of each set, alternating
    std::vector<Variant> variants_; // calls with different buffers and roots
    std::size_t next_ = 0;          // index of the next variant
    int late_ = 0;                  // rank that enters last in the next validation of a barrier
};

/// The blocking form of a collective.
class Blocking : public CollectiveOperation {
public:
    static constexpr Form form = Form::blocking;
    static constexpr const char *form_name = "blocking";
    using CollectiveOperation::CollectiveOperation;
    void run() override { check(variants()[next()].call->run(), name()); }
    void repeat(long calls) override {
        if (variants().size() == 1) {
            check(variants().front().call->repeat(calls), name());
        } else {
            Operation::repeat(calls);
        }
    }
};

/// A nonblocking or persistent collective: start and wait, with or without computation in between.
class Started : public CollectiveOperation {
public:
    Started(const CollectiveInfo &info, const OperationArguments &arguments)
        : CollectiveOperation(info, arguments), computation_(arguments.component) {}
    void choose_computation(double operation_time) override { computation_.choose(operation_time); }
    double computation() const override { return computation_.seconds(); }
    double take_computed() override { return computation_.take(); }

protected:
    void compute(MPI_Request *request) {
        if (computation_.seconds() > 0.0) {
            computation_.run(request);
        }
    }

private:
    Computation computation_;
};

/// A collective in its nonblocking form, e.g. MPI_Ibcast and MPI_Wait.
class Nonblocking : public Started {
public:
    static constexpr Form form = Form::nonblocking;
    static constexpr const char *form_name = "nonblocking";
    using Started::Started;
    void run() override {
        MPI_Request request = MPI_REQUEST_NULL;
        check(variants()[next()].call->start(&request), name());
        compute(&request);
        check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    }
};

/// A collective in its persistent form: initialized once, then MPI_Start and MPI_Wait per call.
class Persistent : public Started {
public:
    static constexpr Form form = Form::persistent;
    static constexpr const char *form_name = "persistent";
    Persistent(const CollectiveInfo &info, const OperationArguments &arguments) : Started(info, arguments) {
        for (const Variant &variant : variants()) {
            requests_.push_back(MPI_REQUEST_NULL);
            check(variant.call->init(&requests_.back()), name());
        }
    }
    ~Persistent() override {
        for (MPI_Request &request : requests_) {
            MPI_Request_free(&request);
        }
    }
    Persistent(const Persistent &) = delete;
    Persistent &operator=(const Persistent &) = delete;

    void run() override {
        MPI_Request &request = requests_[next()];
        check(MPI_Start(&request), "MPI_Start");
        compute(&request);
        check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    }

private:
    std::vector<MPI_Request> requests_; // one per variant
};

/// The parameters of an operation. `computes`: it has parameters of Computation.
std::vector<ComponentParameter> parameters_of(const CollectiveInfo &info, bool computes) {
    std::vector<ComponentParameter> parameters;
    if (!info.size_meaning.empty()) {
        parameters = elements_parameters(info.traits.reduces);
        parameters.push_back({"buffers", "reused",
                              "message buffers: the same in every call, rotated beyond the size of the largest cache, "
                              "or flushed from the caches before each start",
                              ComponentValues::choice({"reused", "rotated", "flushed"})});
    }
    if (info.traits.in_place) {
        parameters.push_back({"in_place", "no", "use MPI_IN_PLACE", ComponentValues::choice({"no", "yes"})});
    }
    if (info.traits.rooted()) {
        parameters.push_back({"root", "0", "root rank; rotating: another one in every call",
                              ComponentValues::whole(0, std::numeric_limits<int>::max()).or_word(rotating)});
    }
    if (info.traits.flow == Flow::neighbors) {
        const std::vector<ComponentParameter> topology = neighbor_parameters();
        parameters.insert(parameters.end(), topology.begin(), topology.end());
    }
    if (info.traits.irregular) {
        parameters.push_back(counts_parameter());
    }
    if (computes) {
        const std::vector<ComponentParameter> computation = computation_parameters();
        parameters.insert(parameters.end(), computation.begin(), computation.end());
    }
    return parameters;
}

/// The limits of the message size. Throws Error::usage if the parameters are not valid for the number of ranks, or if
/// the MPI library has a bug that makes results wrong.
SizeLimits limits_of(const CollectiveInfo &info, Form form, const Component &component, int ranks) {
    if (info.traits.rooted() && component.word("root") != rotating && component.whole("root") >= ranks) {
        throw Error::usage(fmt::format("root of {} cannot be '{}'; use 0 to {}, or {}", component.name(),
                                       component.word("root"), ranks - 1, rotating));
    }
    if (const std::string fault = info.fault(component, ranks, form); !fault.empty()) {
        throw Error::usage(fmt::format("{} cannot be measured: {}", component.text(), fault));
    }
    if (info.size_meaning.empty()) {
        return {};
    }
    const ElementSize element = element_size(component, info.traits.reduces);
    const std::uint64_t max = std::numeric_limits<int>::max() / (info.traits.byte_displacements ? element.extent : 1) /
                              info.reach(component, ranks);
    return {element.size, max * element.size};
}

/// The operation of a collective in a form: `Formed` is Blocking, Nonblocking or Persistent. `call`: MPI functions.
/// `unavailable`: the reason why this MPI library does not have it; "" if it is available.
template <typename Formed>
OperationInfo make_operation(const CollectiveInfo &info, const std::string &name, const std::string &call,
                             const std::string &unavailable) {
    OperationInfo operation;
    operation.computes = std::is_base_of_v<Started, Formed>;
    static_cast<ComponentInfo &>(operation) = {name, fmt::format("{} ({})", info.description, call), "",
                                               parameters_of(info, operation.computes)};
    operation.call = call;
    operation.size_meaning = info.size_meaning;
    operation.unavailable = unavailable;
    operation.limits = [&info, computes = operation.computes](const Component &component, int ranks) {
        if (computes) {
            check_computation(component);
        }
        return limits_of(info, Formed::form, component, ranks);
    };
    operation.datatype = [&info](const Component &component, std::uint64_t size) {
        return info.size_meaning.empty() ? std::string("none")
                                         : make_elements(component, info.traits.reduces, size, 1)->name();
    };
    operation.make = [&info](const OperationArguments &arguments) -> std::unique_ptr<Operation> {
        return std::make_unique<Formed>(info, arguments);
    };
    operation.collective = info.name;
    operation.form = Formed::form_name;
    return operation;
}

} // namespace

std::vector<OperationInfo> collective_operations() {
    std::vector<OperationInfo> operations;
    const char *const prefix = persistent_prefix();
    for (const CollectiveInfo &info : all_collectives()) {
        operations.push_back(make_operation<Blocking>(info, info.name, "MPI_" + info.mpi_name, ""));
        if (!info.traits.blocking_only) {
            operations.push_back(
                make_operation<Nonblocking>(info, "i" + info.name, fmt::format("MPI_I{}, MPI_Wait", info.name), ""));
            operations.push_back(make_operation<Persistent>(
                info, info.name + "_init",
                fmt::format("{}_{}_init; MPI_Start, MPI_Wait", prefix != nullptr ? prefix : "MPI", info.mpi_name),
                prefix != nullptr ? "" : "the MPI library has no persistent collectives"));
        }
    }
    return operations;
}

} // namespace bench
