#pragma once

#include <complex>
#include <cstdint>
#include <fmt/format.h>
#include <string>

namespace bench {

/// An MPI_Type_vector: two numbers, each with a gap after it that no operation may touch.
struct Gapped {
    double first;
    double first_gap;
    double second;
    double second_gap;
};

/// The operand of MPI_MINLOC and MPI_MAXLOC.
template <typename V> struct Located {
    V value;
    int location;
};

/// The numbers that an element is made of.
template <typename T> struct Parts {
    using Number = T;
    static constexpr int count = 1;
    static T &of(T &element, int) { return element; }
};

template <typename F> struct Parts<std::complex<F>> {
    using Number = F;
    static constexpr int count = 2;
    static F &of(std::complex<F> &element, int part) { return reinterpret_cast<F(&)[2]>(element)[part]; }
};

template <> struct Parts<Gapped> {
    using Number = double;
    static constexpr int count = 2;
    static double &of(Gapped &element, int part) { return part == 0 ? element.first : element.second; }
};

// Gaps and padding do not belong to an element.

template <typename T> void assign(T &to, const T &from) { to = from; }
inline void assign(Gapped &to, const Gapped &from) {
    to.first = from.first;
    to.second = from.second;
}
template <typename V> void assign(Located<V> &to, const Located<V> &from) {
    to.value = from.value;
    to.location = from.location;
}

template <typename T> bool same(const T &a, const T &b) { return a == b; }
inline bool same(const Gapped &a, const Gapped &b) { return a.first == b.first && a.second == b.second; }
template <typename V> bool same(const Located<V> &a, const Located<V> &b) {
    return a.value == b.value && a.location == b.location;
}

template <typename T> std::string text(const T &element) { return fmt::format("{}", element); }
template <typename F> std::string text(const std::complex<F> &element) {
    return fmt::format("({}, {})", element.real(), element.imag());
}
inline std::string text(const Gapped &element) { return fmt::format("({}, {})", element.first, element.second); }
template <typename V> std::string text(const Located<V> &element) {
    return fmt::format("({}, {})", element.value, element.location);
}

/// The numbers that make up a rank's contribution to an element: they look random, and are the same on every rank.
struct Draw {
    int rank;
    int ranks; // that may be combined
    std::uint64_t index;

    /// Steele, Lea, Flood 2014: SplitMix64, of rank and index. Another `stream`, other bits.
    std::uint64_t bits(std::uint64_t stream = 0) const {
        std::uint64_t z = index * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(rank) * 0xd1b54a32d192ed03 +
                          (stream + 1) * 0x8cb92ba72f3d8dd7;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    /// Bits. Each is set on about one rank, so that a logical or bitwise operation on many ranks still distinguishes
    /// them.
    std::uint64_t sparse_bits() const {
        std::uint64_t sparse = bits(1);
        std::uint64_t stream = 2;
        for (int left = ranks; left > 2; left /= 2) {
            sparse &= bits(stream++);
        }
        return sparse;
    }

    /// Every how many ranks one is chosen for an element, so that no more than `most` are.
    int stride(int most) const { return (ranks + most - 1) / most; }
    /// Whether this rank is; which ones, changes from element to element, so that every rank has its turn.
    bool chosen(int most) const {
        return (static_cast<std::uint64_t>(rank) + index) % static_cast<std::uint64_t>(stride(most)) == 0;
    }
    /// How many ranks are, at most.
    int number_chosen(int most) const { return (ranks + stride(most) - 1) / stride(most); }
};

} // namespace bench
