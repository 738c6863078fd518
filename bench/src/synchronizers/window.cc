// Synchronizer `window`: the ranks agree once on a series of start times at equal distances (windows) and then start
// without messages.
#include "mpi/communicator.h"
#include "rules/window_size.h"
#include "synchronizers/synchronizer.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace bench {
namespace {

// Time from the decision to the first window, in times of a broadcast, so that the last rank learns it before it
// begins.
constexpr double lead_broadcasts = 10.0;

// Largest number of windows before the ranks agree again. It limits the number of windows that a disturbance can spoil.
constexpr long max_windows = 100;

constexpr const char *repeat = "repeat"; // value of parameter "overrun"

/// A rank that is late for a window runs the operation at once, and catches up with the windows as long as operations
/// are shorter than a window. So a slow operation spoils the windows until the rank has caught up, or until the ranks
/// agree on new windows.
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
        // After this reduction and barrier all ranks are here, so rank 0 can decide on a time in the near future.
        std::vector<std::uint8_t> fits(fits_.size());
        if (!fits.empty()) { // a count of 0 made an MPI library divide by zero
            check(MPI_Reduce(fits_.data(), fits.data(), static_cast<int>(fits.size()), MPI_UNSIGNED_CHAR, MPI_MAX, 0,
                             messages_),
                  "MPI_Reduce");
        }
        check(MPI_Barrier(messages_), "MPI_Barrier");
        struct {
            double first_start; // of the series, s on the global clock
            double size;        // of its windows, s
        } decision{};
        if (comm_.is_root()) {
            size_.learn(fits, series.duration);
            decision = {clock_.now() + lead_broadcasts * *lag_, size_.value()};
        }
        check(MPI_Bcast(&decision, 2, MPI_DOUBLE, 0, messages_), "MPI_Bcast");
        next_ = begin_ = decision.first_start;
        size_.set(decision.size);
        fits_.clear();
        fits_.reserve(static_cast<std::size_t>(series.starts)); // avoids allocations during the windows
    }

    long longest_series(double duration, double refresh_interval) const override {
        const double window = std::max(size_.value(), size_.smallest(duration));
        return std::min(Synchronizer::longest_series(window, refresh_interval), max_windows);
    }

    bool start(double delay) override {
        const double arrival = clock_.now();
        // Time of the last call, from its window's start, or from the arrival of this rank if it missed the start: time
        // lost earlier says nothing about the size.
        const double needed = arrival - delay - begin_;
        WindowFit fit = WindowFit::ample;
        if (needed > size_.value()) {
            fit = WindowFit::missed;
        } else if (needed > size_.smaller()) {
            fit = WindowFit::tight;
        }
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
        // The example is ten times the current size, in us.
        return fmt::format("a window larger than {:.3g} us, e.g. window(size={:.0f}us){}; at most one rank per "
                           "processor, an idle machine",
                           size_.value() * 1e6, std::ceil(size_.value() * 1e7),
                           adapts_ ? "" : ", or one that grows, e.g. growth=2");
    }

private:
    const Communicator &comm_;
    const GlobalClock &clock_;
    MPI_Comm messages_;
    bool adapts_;                    // the size may grow
    bool repeats_;                   // a sample that ends after its window is invalid
    WindowSize size_;                // size of the windows
    std::optional<double> lag_;      // time of a broadcast, s; empty until it is measured
    double start_ = 0.0;             // start of the current window, s on the global clock
    double begin_ = 0.0;             // begin of the current call without its delay: start_, or later if it was missed
    double next_ = 0.0;              // start of the next window
    std::vector<std::uint8_t> fits_; // WindowFit of each window of the series
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
