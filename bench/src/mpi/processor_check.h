// The check of a rank's processor for `downbeat-bench pairs`: its speed, and how much time other work takes from it. A
// simulation has its own implementation, bench/smpi/mpi/processor_check.cc.
#pragma once

namespace bench {

/// The state of a rank's processor, measured without messages.
struct ProcessorCheck {
    double loop_seconds;        // time of a loop of fixed work, median
    double wake_delay;          // seconds by which a sleep of a millisecond is too long, median
    double interruptions_per_s; // number of interruptions of a busy loop, each longer than a microsecond
    double taken_share;         // share of the busy loop's time that the interruptions took, median over windows
};

/// Measures the processor. Local; takes about 0.3 s. Ranks of a host should call it at the same time, so that they load
/// all of their processors, as programs do.
ProcessorCheck check_processor();

} // namespace bench
