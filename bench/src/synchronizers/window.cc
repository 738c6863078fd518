#include "mpi/communicator.h"
#include "rules/window_size.h"
#include "synchronizers/synchronizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

// Broadcasts that the first window waits for: its start must not have passed when the last rank learns it.
constexpr double lead_broadcasts = 10.0;

// Windows in a row before the ranks agree again: the most that one disturbance can spoil.
constexpr long most_windows = 100;

constexpr const char *repeat = "repeat";

/// Windows follow each other without a message. A rank that is late for one runs the operation at once, and so comes
/// nearer to the time of the windows with every operation that takes less than one: a slow operation costs the windows
/// that it ran into and those until the lost time is made good, or until the ranks agree again.
class Window : public Synchronizer {
public:
    explicit Window(const SynchronizerArguments &arguments)
        : comm_(arguments.comm), clock_(arguments.clock), messages_(arguments.messages),
          adapts_(arguments.component.real("growth") > 1.0), repeats_(arguments.component.word("overrun") == repeat),
          size_(arguments.component.is_auto("size") ? std::nullopt : std::optional(arguments.component.seconds("size")),
                arguments.component.real("growth"), arguments.component.real("share")) {}

    void prepare(const Series &series) override {
        if (!lag_) {
            lag_ = measure_broadcast_lag(comm_, clock_, messages_);
        }
        // The ranks gather here; so rank 0 decides when all have arrived.
        std::vector<std::uint8_t> fits(fits_.size());
        if (!fits.empty()) { // an MPI library may divide by the count
            check(MPI_Reduce(fits_.data(), fits.data(), static_cast<int>(fits.size()), MPI_UNSIGNED_CHAR, MPI_MAX, 0,
                             messages_),
                  "MPI_Reduce");
        }
        check(MPI_Barrier(messages_), "MPI_Barrier");
        std::array<double, 2> decision{};
        if (comm_.is_root()) {
            size_.learn(fits, series.duration);
            decision = {clock_.now() + lead_broadcasts * *lag_, size_.value()};
        }
        check(MPI_Bcast(decision.data(), decision.size(), MPI_DOUBLE, 0, messages_), "MPI_Bcast");
        next_ = begin_ = decision[0];
        size_.set(decision[1]);
        fits_.clear();
        fits_.reserve(static_cast<std::size_t>(series.starts)); // no memory is sought while windows run
    }

    long longest_series(double duration, double unwatched) const override {
        return std::min(Synchronizer::longest_series(std::max(size_.value(), size_.smallest(duration)), unwatched),
                        most_windows);
    }

    bool start(double delay) override {
        const double arrival = clock_.now();
        // Since the last start, or since this rank missed it: time lost earlier is not related to the size.
        const double needed = arrival - delay - begin_;
        const WindowFit fit = needed > size_.value()     ? WindowFit::missed
                              : needed > size_.smaller() ? WindowFit::tight
                                                         : WindowFit::ample;
        fits_.push_back(static_cast<std::uint8_t>(fit));
        start_ = next_;
        next_ += size_.value();
        begin_ = std::max(start_, arrival - delay);
        return clock_.wait_until(start_ + delay);
    }

    Start last_start() const override {
        Start start{.deadline = start_};
        if (repeats_) {
            start.end = start_ + size_.value();
        }
        return start;
    }

    std::string advice() const override {
        return fmt::format("a window larger than {:.3g} us, e.g. window(size={:.0f}us){}; at most one rank per "
                           "processor, an idle machine",
                           size_.value() * 1e6, std::ceil(size_.value() * 1e7),
                           adapts_ ? "" : ", or one that grows, e.g. growth=2");
    }

private:
    const Communicator &comm_;
    const GlobalClock &clock_;
    MPI_Comm messages_;
    bool adapts_;
    bool repeats_;
    WindowSize size_;
    std::optional<double> lag_;      // seconds, of a broadcast
    double start_ = 0.0;             // of the window in force, seconds on the global clock
    double begin_ = 0.0;             // of the call in force, without its delay: start_, or later where it was missed
    double next_ = 0.0;              // start of the next
    std::vector<std::uint8_t> fits_; // of the series, WindowFit
};

} // namespace

SynchronizerInfo synchronizers::window() {
    return {
        {"window",
         "all ranks wait for the next of a series of start times agreed on in advance",
         "Hunold 2015, Fig. 2 (4); Hoefler 2008, section 1.3; SKaMPI, NBCBench",
         {{"size", "auto", "time from one start to the next; auto: twice the call and its largest delay, plus 10 us",
           ComponentValues::duration(1e-9, 1e3)},
          {"growth", "2", "factor by which the size grows when too many windows were missed; 1: fixed",
           ComponentValues::real(1, 1000)},
          {"share", "0.25", "share of a series' windows that may be missed before the size grows",
           ComponentValues::real(0, 1)},
          {"overrun", "keep", "keep or repeat a sample that ends after its window (SKaMPI repeats)",
           ComponentValues::choice({"keep", repeat})}}},
        Make<Window>{}};
}

} // namespace bench
