#include "rules/arrival_pattern.h"
#include "text/parse.h"
#include "text/words.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <sstream>
#include <utility>

namespace bench {
namespace {

/// Replays recorded delays: a line per call; a single line applies to all calls.
class Trace : public ArrivalPattern {
public:
    explicit Trace(std::vector<std::vector<double>> delays) : delays_(std::move(delays)) {
        for (const std::vector<double> &call : delays_) {
            largest_ = std::max(largest_, *std::ranges::max_element(call));
        }
    }
    double share(int place, long call) const override {
        const auto calls = static_cast<long>(delays_.size());
        const long line = (call % calls + calls) % calls;
        return delays_[static_cast<std::size_t>(line)][static_cast<std::size_t>(place)] / largest_;
    }
    std::optional<double> own_delay() const override { return largest_; }

private:
    std::vector<std::vector<double>> delays_; // seconds, [call][place]
    double largest_ = 0.0;
};

double parse_delay(const std::string &word, const std::string &where) {
    const std::optional<double> seconds = read_number<double>(word);
    if (!seconds || !(*seconds >= 0.0 && *seconds <= 3600.0)) { // more than an hour is a mistake
        throw Error::usage(fmt::format("{}: '{}' is not a delay; use seconds from 0 to 3600, e.g. 1e-05", where, word));
    }
    return *seconds;
}

std::vector<std::vector<double>> parse_trace(const std::string &path, const std::string &text, int ranks) {
    std::vector<std::vector<double>> delays;
    int number = 0;
    for (std::string &line : split(text, '\n')) {
        const std::string where = fmt::format("'{}', line {}", path, ++number);
        line = line.substr(0, line.find('#'));
        std::ranges::replace(line, ',', ' ');
        std::istringstream words(line);
        std::vector<double> call;
        for (std::string word; words >> word;) {
            call.push_back(parse_delay(word, where));
        }
        if (!call.empty() && call.size() != static_cast<std::size_t>(ranks)) {
            throw Error::usage(
                fmt::format("{}: {} delays for {} ranks; give one delay per rank", where, call.size(), ranks));
        }
        if (!call.empty()) {
            delays.push_back(std::move(call));
        }
    }
    const auto delays_any = [](const std::vector<double> &call) {
        return std::ranges::any_of(call, [](double delay) { return delay > 0.0; });
    };
    if (std::ranges::none_of(delays, delays_any)) {
        throw Error::usage(fmt::format(
            "'{}' has no delay above 0; write one line per call with a delay in seconds for each rank", path));
    }
    return delays;
}

} // namespace

PatternInfo patterns::trace() {
    return {{"trace",
             "delays from a file, replayed in a loop: seconds, one per rank, one line per call",
             "",
             {{"file", "", "path of the file; # starts a comment", ComponentValues::text()}}},
            [](const PatternArguments &arguments) -> std::unique_ptr<ArrivalPattern> {
                const std::string &path = arguments.component.word("file");
                return std::make_unique<Trace>(parse_trace(path, arguments.read(path), arguments.ranks));
            },
            true};
}

} // namespace bench
