#pragma once

#include <complex>
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

} // namespace bench
