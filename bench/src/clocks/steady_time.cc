#include "clocks/steady_time.h"

#include <chrono>
#include <thread>

namespace bench {

double steady_time() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

void give_way() { std::this_thread::yield(); }

} // namespace bench
