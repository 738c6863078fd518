#include "rules/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

namespace bench {
namespace {

constexpr double same_state = 1.5; // factor between neighboring readings: python/downbeat/data/states.py
constexpr int batches = 32;
constexpr int per_batch = 4;
constexpr double longest = 500e-6;
constexpr double patience = 20e-6; // an asker that has waited so long gives the batch up

/// Two ranks that lose their processors at random: after `gap` s on average, for `shortest` to `most` s.
class Pair {
public:
    Pair(std::uint64_t seed, double line, double gap, double shortest, double most)
        : random_(seed), line_(line), gap_(gap), shortest_(shortest), most_(most) {
        for (Interruption &one : next_) {
            draw(one);
        }
    }

    double read() {
        const double end = now_ + longest;
        return time_round_trips({.batches = batches,
                                 .per_batch = per_batch,
                                 .longest = longest,
                                 .batch = [this, end] { return batch(end); },
                                 .clock = [this] { return now_; }});
    }

    void set_line(double line) { line_ = line; }

    /// As a preemption of the asker, `after` s from now.
    void preempt_asker(double after, double length) { next_[0] = {now_ + after, now_ + after + length}; }

private:
    struct Interruption {
        double begin;
        double end;
    };

    void draw(Interruption &one) {
        one.begin = now_ + std::exponential_distribution(1 / gap_)(random_);
        one.end = one.begin + std::exp(std::uniform_real_distribution(std::log(shortest_), std::log(most_))(random_));
    }

    bool batch(double end) {
        for (int trip = 0; trip < per_batch; ++trip) {
            const double asked = now_;
            now_ += line_ * std::normal_distribution(1.0, 0.03)(random_);
            auto &[asker, partner] = next_;
            if (partner.begin < now_) {
                const double answered = std::max(now_, partner.end);
                now_ = answered - asked > patience ? std::min(answered, end) : answered;
                if (partner.end <= now_) {
                    draw(partner);
                }
                if (now_ - asked > patience) {
                    return false;
                }
            }
            if (asker.begin < now_) {
                now_ = std::max(now_, asker.end);
                draw(asker);
            }
        }
        return true;
    }

    std::mt19937_64 random_;
    double line_, gap_, shortest_, most_;
    double now_ = 0.0;
    std::array<Interruption, 2> next_{};
};

double log_uniform(std::mt19937_64 &random, double low, double high) {
    return std::exp(std::uniform_real_distribution(std::log(low), std::log(high))(random));
}

TEST(RoundTrips, OfPairsThatAreInterruptedAreTrueOrNone) {
    std::mt19937_64 random(38);
    constexpr int pairs = 30000;
    int none = 0;
    double worst = 1.0;
    for (int i = 0; i < pairs; ++i) {
        const double line = log_uniform(random, 30e-9, 700e-9);
        const double shortest = log_uniform(random, 500e-9, 5e-3);
        Pair pair(random(), line, log_uniform(random, 20e-6, 10e-3), shortest, 4 * shortest);
        const double reading = pair.read();
        none += std::isnan(reading) ? 1 : 0;
        worst = std::isnan(reading) ? worst : std::max({worst, reading / line, line / reading});
    }
    EXPECT_LT(worst, same_state);
    EXPECT_LT(none, pairs / 10);
    RecordProperty("worst", std::to_string(worst));
    RecordProperty("none", none);
}

/// Most of a long interruption is past what a reading may take.
TEST(RoundTrips, OfAnAskerThatIsPreemptedOnceAreNoStateOfTheMachine) {
    std::mt19937_64 random(8);
    for (int i = 0; i < 2000; ++i) {
        const double line = log_uniform(random, 30e-9, 700e-9);
        Pair pair(random(), line, std::numeric_limits<double>::max(), 1.0, 2.0);
        pair.preempt_asker(std::uniform_real_distribution(0.0, batches * per_batch * line)(random),
                           log_uniform(random, 100e-9, 30e-3));
        const double reading = pair.read();
        EXPECT_TRUE(std::isnan(reading) || std::abs(reading / line - 1) < 0.1) << line << ' ' << reading;
    }
}

TEST(RoundTrips, ShowEachChangeOfState) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 500; ++i) {
        Pair pair(random(), 0.0, std::numeric_limits<double>::max(), 1.0, 2.0);
        for (int state = 0; state < 4; ++state) {
            const double line = log_uniform(random, 30e-9, 700e-9);
            pair.set_line(line);
            EXPECT_NEAR(pair.read(), line, 0.1 * line);
        }
    }
}

TEST(RoundTrips, AreNoneWithoutAPartner) {
    double now = 0.0;
    EXPECT_TRUE(std::isnan(time_round_trips({.batches = batches,
                                             .per_batch = 2,
                                             .longest = longest,
                                             .batch =
                                                 [&now] {
                                                     now += 30e-6;
                                                     return false;
                                                 },
                                             .clock = [&now] { return now; }})));
}

} // namespace
} // namespace bench
