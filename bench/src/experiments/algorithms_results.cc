#include "experiments/algorithms_results.h"

#include "rules/cell.h"

#include <algorithm>

namespace bench {
namespace {

constexpr std::size_t fewest_ranks = 4;

/// Whether the two can be distinguished.
bool comparable(const AlgorithmTrial &a, const AlgorithmTrial &b) {
    return !a.messages.empty() || (!a.calls.empty() && !b.calls.empty());
}

/// Counts that both have must be equal.
bool same_traces(const AlgorithmTrial &a, const AlgorithmTrial &b) {
    const bool calls = a.calls.empty() || b.calls.empty() || a.calls == b.calls;
    return calls && a.messages == b.messages && a.bytes == b.bytes;
}

} // namespace

std::string to_string(AlgorithmVerdict verdict) {
    constexpr const char *names[] = {"in force", "ignored", "cannot tell", "refused"};
    return names[static_cast<std::size_t>(verdict)];
}

void judge_trials(std::vector<AlgorithmTrial> &trials, std::size_t ranks) {
    const auto own =
        std::ranges::find_if(trials, [](const AlgorithmTrial &trial) { return trial.algorithm == default_algorithm; });
    long chosen = 0;
    long different = 0;
    for (AlgorithmTrial &trial : trials) {
        if (!trial.refusal.empty()) {
            trial.verdict = AlgorithmVerdict::refused;
            continue;
        }
        for (const AlgorithmTrial &other : trials) {
            if (&other != &trial && other.refusal.empty() && comparable(trial, other) && same_traces(trial, other)) {
                trial.same_as.push_back(other.algorithm);
            }
        }
        chosen += &trial != &*own ? 1 : 0;
        if (!same_traces(trial, *own)) {
            ++different;
            trial.verdict = AlgorithmVerdict::in_force;
        }
    }
    own->verdict = AlgorithmVerdict::in_force; // nothing was asked of the library
    if (different == 0 && chosen > 1 && ranks >= fewest_ranks && !own->messages.empty()) {
        for (AlgorithmTrial &trial : trials) {
            if (&trial != &*own && trial.refusal.empty()) {
                trial.verdict = AlgorithmVerdict::ignored;
            }
        }
    }
}

} // namespace bench
