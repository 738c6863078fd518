// Parsers of words on the command line: the first byte of the input chooses the parser, the rest is its text.
#include "rules/arrival_pattern.h"
#include "rules/stopping_rule.h"
#include "rules/warmup_rule.h"
#include "text/component.h"
#include "text/error.h"
#include "text/parse.h"
#include "text/words.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

using namespace bench;

constexpr int ranks = 3;
constexpr long calls = 5;

void need(bool condition) {
    if (!condition) {
        std::abort();
    }
}

/// Their texts read back as the same.
template <typename Registry> void components(const std::string &text, const Registry &registry) {
    for (const Component &component : parse_components("component", text, registry)) {
        need(parse_component("component", component.text(), registry).text() == component.text());
        need(parse_component("component", component.full_text(), registry).text() == component.text());
    }
}

void sizes(const std::string &text) {
    for (const std::uint64_t size : parse_sizes(text)) {
        need(size > 0);
    }
}

void duration(const std::string &text) {
    const double seconds = parse_duration("--delay", text);
    need(std::isfinite(seconds) && seconds >= 0.0);
}

void arrivals(const std::string &text) {
    const std::vector<int> nodes(ranks, 0);
    const Component component = parse_component("pattern", "trace(file=a)", all_patterns());
    const std::function<std::string(const std::string &)> read = [&](const std::string &) { return text; };
    const auto pattern = find_by_name(all_patterns(), "trace").make({component, ranks, nodes, 1, read});
    for (int place = 0; place < ranks; ++place) {
        for (long call = -1; call < calls; ++call) {
            const double share = pattern->share(place, call);
            need(share >= 0.0 && share <= 1.0);
        }
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string text(data + 1, data + size);
    // As main() does.
    if (data[0] != 'a' && find_unprintable(text)) {
        return 0;
    }
    try {
        switch (data[0]) {
        case 's':
            sizes(text);
            break;
        case 'd':
            duration(text);
            break;
        case 'p':
            components(text, all_patterns());
            break;
        case 'r':
            components(text, all_stopping_rules());
            break;
        case 'w':
            components(text, all_warmup_rules());
            break;
        case 'a':
            arrivals(text);
            break;
        default:
            break;
        }
    } catch (const Error &error) {
        need(error.what()[0] != '\0');
    }
    return 0;
}
