#pragma once

namespace bench {

/// The processor of a rank by itself, without messages.
struct ProcessorCheck {
    double loop_seconds;        // of a loop of fixed work, median
    double wake_delay;          // seconds by which a sleep of a millisecond is too long, median
    double interruptions_per_s; // of a busy loop, each longer than a microsecond
    double taken_share;         // of the busy loop's time that they took, median over its windows
};

/// Local, about 0.3 s. Ranks of a host that call it at the same time load all of their processors, as programs do.
ProcessorCheck check_processor();

} // namespace bench
