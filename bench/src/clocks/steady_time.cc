#include "clocks/steady_time.h"

#include <chrono>
#include <limits>
#include <thread>

namespace bench {

double steady_time() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

void give_way() { std::this_thread::yield(); }

double true_time() { return std::numeric_limits<double>::quiet_NaN(); }

} // namespace bench
