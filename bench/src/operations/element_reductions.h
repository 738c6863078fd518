// Reductions with results that can be checked: for each C++ element type and MPI operator, the contributions of the
// ranks and a function that combines two contributions as the operator does.
#pragma once

#include "split_mix.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <mpi.h>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {

/// The element of an MPI_Type_vector: two numbers with a gap after each, which operations must not write to.
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

/// Access to the numbers of an element: their type, their count, and the number `component` of an element.
template <typename T> struct Parts {
    using Number = T;
    static constexpr int count = 1;
    static T &of(T &element, int) { return element; }
};

template <typename F> struct Parts<std::complex<F>> {
    using Number = F;
    static constexpr int count = 2;
    static F &of(std::complex<F> &element, int component) { return reinterpret_cast<F(&)[2]>(element)[component]; }
};

template <> struct Parts<Gapped> {
    using Number = double;
    static constexpr int count = 2;
    static double &of(Gapped &element, int component) { return component == 0 ? element.first : element.second; }
};

// Assignment, comparison and text of elements; gaps and padding are ignored.

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

/// Pseudorandom numbers for a rank's contribution to an element. Every rank can compute the numbers of all ranks.
struct Draw {
    int rank;            // contributing rank
    int ranks;           // number of ranks whose contributions may be combined
    std::uint64_t index; // of the element

    /// 64 random bits from rank and index (SplitMix64; Steele, Lea, Flood 2014). Different `stream`s are independent.
    std::uint64_t bits(std::uint64_t stream = 0) const {
        return db_mix(index * GOLDEN_GAMMA + static_cast<std::uint64_t>(rank) * 0xd1b54a32d192ed03 +
                      (stream + 1) * 0x8cb92ba72f3d8dd7);
    }

    /// 64 bits. Each bit is set on about one rank, so that the result of a logical or bitwise operation over many
    /// ranks still depends on each of them.
    std::uint64_t sparse_bits() const {
        std::uint64_t sparse = bits(1);
        std::uint64_t stream = 2;
        for (int remaining = ranks; remaining > 2; remaining /= 2) {
            sparse &= bits(stream++);
        }
        return sparse;
    }

    /// At most `max` ranks are "chosen" for an element: every stride-th rank.
    int stride(int max) const { return (ranks + max - 1) / max; }
    /// True if this rank is chosen. The chosen ranks change from element to element.
    bool chosen(int max) const {
        return (static_cast<std::uint64_t>(rank) + index) % static_cast<std::uint64_t>(stride(max)) == 0;
    }
    /// The largest number of ranks that are chosen for an element.
    int number_chosen(int max) const { return (ranks + stride(max) - 1) / stride(max); }
};

/// A reduction operator on elements of type T, with the contributions of the ranks.
///
/// No combination of contributions, in any order and grouping, leaves the range in which the type is exact. Overflow
/// would not be comparable: Debian's Open MPI 4.1.4 saturates sums of 8 and 16 bit integers, other libraries let them
/// overflow, and both are correct (MPI 4.0, section 6.9.2). If the range is too small for all ranks (a sum of int8 has
/// room for 8 ranks), only chosen ranks contribute to an element, and other ranks contribute the neutral element. No
/// result equals the poison that Elements::poison() writes: poison is a large negative number, and results are positive
/// or not as large.
template <typename T> struct Reduction {
    const char *name;                               // value of parameter `op`
    const char *mpi_name;                           // for files
    MPI_Op op;                                      // MPI_OP_NULL: created from `function`
    MPI_User_function *function;                    // null: predefined operator
    bool commutes;                                  // argument of MPI_Op_create
    std::function<T(const Draw &)> contribution;    // of a rank to an element
    std::function<T(const T &, const T &)> combine; // the contribution of lower ranks is the first argument
};

namespace reductions {

/// Number of bits of the integers that contributions use: exact in type N, and not negative.
template <typename N>
constexpr int usable_bits = std::is_integral_v<N>
                                ? 8 * static_cast<int>(sizeof(N)) - 1
                                : std::min(std::numeric_limits<N>::digits, std::numeric_limits<double>::digits);

/// The largest integer with these bits.
template <typename N> constexpr std::uint64_t largest = (std::uint64_t{1} << usable_bits<N>)-1;

/// A random number; for signed types from -largest / 2 to largest / 2 + 1.
template <typename N> N any_number(const Draw &draw) {
    const auto number = static_cast<std::int64_t>(draw.bits() & largest<N>);
    return static_cast<N>(std::is_signed_v<N> ? number - static_cast<std::int64_t>(largest<N> / 2) : number);
}

/// A contribution to a sum: positive on at most `max` ranks, 0 on the others.
template <typename N> N summand(const Draw &draw) {
    // A contribution then has at least 15 different values. The other limit keeps the number an int.
    constexpr auto max = static_cast<int>(std::min<std::uint64_t>(largest<N> / 15, 1 << 20));
    if (!draw.chosen(max)) {
        return 0;
    }
    return static_cast<N>(1 + draw.bits() % (largest<N> / static_cast<std::uint64_t>(draw.number_chosen(max))));
}
template <typename N> N add(N a, N b) { return static_cast<N>(a + b); }

/// The largest exponent of a power of 3 in the range of N.
template <typename N> constexpr int max_factors() {
    int exponent = 0;
    for (std::uint64_t remaining = largest<N>; remaining >= 3; remaining /= 3) {
        ++exponent;
    }
    return exponent;
}
/// A contribution to a product: 2 or 3 on chosen ranks, 1 on the others.
template <typename N> N factor(const Draw &draw) {
    return static_cast<N>(draw.chosen(max_factors<N>()) ? 2 + draw.bits() % 2 : 1);
}
template <typename N> N multiply(N a, N b) { return static_cast<N>(a * b); }

template <typename N> N lower(N a, N b) { return std::min(a, b); }
template <typename N> N upper(N a, N b) { return std::max(a, b); }

// Logical operators: a contribution of "true" is any number from 1 to 7, of "false" it is 0; results are 0 or 1.
// Contributions to a logical "and" are rarely false, and those to a logical "or" rarely true, so that the result
// depends on each rank.
template <typename N> N truth(const Draw &draw, bool value) { return static_cast<N>(value ? 1 + draw.bits(0) % 7 : 0); }
template <typename N> N rarely_false(const Draw &draw) { return truth<N>(draw, draw.sparse_bits() % 2 == 0); }
template <typename N> N rarely_true(const Draw &draw) { return truth<N>(draw, draw.sparse_bits() % 2 == 1); }
template <typename N> N often_true(const Draw &draw) { return truth<N>(draw, draw.bits(1) % 2 == 1); }
template <typename N> N logical_and(N a, N b) { return a != 0 && b != 0; }
template <typename N> N logical_or(N a, N b) { return a != 0 || b != 0; }
template <typename N> N logical_xor(N a, N b) { return (a != 0) != (b != 0); }

// Bitwise operators: contributions to "or" have few bits, contributions to "and" have all bits but few, contributions
// to "exclusive or" have any bits.
template <typename N> N few_bits(const Draw &draw) { return static_cast<N>(draw.sparse_bits() & largest<N>); }
template <typename N> N all_but_few_bits(const Draw &draw) { return static_cast<N>(~draw.sparse_bits() & largest<N>); }
template <typename N> N any_bits(const Draw &draw) { return static_cast<N>(draw.bits() & largest<N>); }
template <typename N> N bit_and(N a, N b) { return static_cast<N>(a & b); }
template <typename N> N bit_or(N a, N b) { return static_cast<N>(a | b); }
template <typename N> N bit_xor(N a, N b) { return static_cast<N>(a ^ b); }

/// An associative operator that does not commute: composition of the maps x -> scale x + shift modulo a power of two.
/// An element holds scale and shift in its upper and lower bits. Scales are odd, so every map has an inverse, and the
/// result depends on every contribution.
template <typename N> constexpr int map_bits = std::min(usable_bits<N> / 2, 12);
template <typename N> constexpr std::uint64_t map_mask = (std::uint64_t{1} << map_bits<N>)-1;
template <typename N> N join_map(std::uint64_t scale, std::uint64_t shift) {
    return static_cast<N>(((scale & map_mask<N>) << map_bits<N>) | (shift & map_mask<N>));
}
/// A contribution: a map with an odd scale.
template <typename N> N any_map(const Draw &draw) { return join_map<N>(draw.bits() | 1, draw.bits(1)); }
/// Scale and shift of an element, which is never negative, as one integer.
template <typename N> std::uint64_t map_of(N element) {
    if constexpr (std::is_integral_v<N>) {
        return static_cast<std::make_unsigned_t<N>>(element);
    } else {
        return static_cast<std::uint64_t>(element);
    }
}
/// The composition of two maps: first b, then a.
template <typename N> N compose_maps(N a, N b) {
    const std::uint64_t outer = map_of(a);
    const std::uint64_t inner = map_of(b);
    const std::uint64_t scale = outer >> map_bits<N>;
    return join_map<N>(scale * (inner >> map_bits<N>), scale * (inner & map_mask<N>)+(outer & map_mask<N>));
}

/// Combines elements number by number.
template <typename T, auto Combine> T combine_parts(T a, T b) {
    for (int component = 0; component < Parts<T>::count; ++component) {
        Parts<T>::of(b, component) = Combine(Parts<T>::of(a, component), Parts<T>::of(b, component));
    }
    return b;
}
/// Draws an element number by number.
template <typename T, auto Contribute> T draw_parts(const Draw &draw) {
    T element{};
    for (int component = 0; component < Parts<T>::count; ++component) {
        Draw draw_of_number = draw;
        draw_of_number.index = draw.index * Parts<T>::count + static_cast<std::uint64_t>(component);
        Parts<T>::of(element, component) = Contribute(draw_of_number);
    }
    return element;
}

/// The MPI_User_function of an operator that MPI_Op_create makes.
template <typename T, auto Combine> void function(void *in, void *in_out, int *length, MPI_Datatype *) {
    const T *const first = static_cast<const T *>(in);
    T *const second = static_cast<T *>(in_out);
    for (int i = 0; i < *length; ++i) {
        assign(second[i], combine_parts<T, Combine>(first[i], second[i]));
    }
}

/// A predefined operator of MPI.
template <typename T, auto Contribute, auto Combine>
Reduction<T> predefined(const char *name, const char *mpi_name, MPI_Op op) {
    return {name, mpi_name, op, nullptr, true, draw_parts<T, Contribute>, combine_parts<T, Combine>};
}

/// An operator that MPI_Op_create makes.
template <typename T, auto Contribute, auto Combine>
Reduction<T> user_made(const char *name, const char *mpi_name, bool commutes) {
    return {name,
            mpi_name,
            MPI_OP_NULL,
            function<T, Combine>,
            commutes,
            draw_parts<T, Contribute>,
            combine_parts<T, Combine>};
}

template <typename T> using Reductions = std::vector<Reduction<T>>;

// The operators that are valid for each type (MPI 4.0, section 6.9.2).

/// Operators made by MPI_Op_create, for every type.
template <typename T> Reductions<T> user_defined() {
    using N = typename Parts<T>::Number;
    return {user_made<T, summand<N>, add<N>>("user", "commutative MPI_Op_create", true),
            user_made<T, any_map<N>, compose_maps<N>>("user_ordered", "ordered MPI_Op_create", false)};
}

template <typename N> Reductions<N> bitwise() {
    return {predefined<N, all_but_few_bits<N>, bit_and<N>>("band", "MPI_BAND", MPI_BAND),
            predefined<N, few_bits<N>, bit_or<N>>("bor", "MPI_BOR", MPI_BOR),
            predefined<N, any_bits<N>, bit_xor<N>>("bxor", "MPI_BXOR", MPI_BXOR)};
}

template <typename N> Reductions<N> arithmetic() {
    return {predefined<N, summand<N>, add<N>>("sum", "MPI_SUM", MPI_SUM),
            predefined<N, factor<N>, multiply<N>>("prod", "MPI_PROD", MPI_PROD),
            predefined<N, any_number<N>, lower<N>>("min", "MPI_MIN", MPI_MIN),
            predefined<N, any_number<N>, upper<N>>("max", "MPI_MAX", MPI_MAX)};
}

template <typename N> Reductions<N> logical() {
    return {predefined<N, rarely_false<N>, logical_and<N>>("land", "MPI_LAND", MPI_LAND),
            predefined<N, rarely_true<N>, logical_or<N>>("lor", "MPI_LOR", MPI_LOR),
            predefined<N, often_true<N>, logical_xor<N>>("lxor", "MPI_LXOR", MPI_LXOR)};
}

/// The operators of all groups in one list.
template <typename T> Reductions<T> join(std::vector<Reductions<T>> groups) {
    Reductions<T> all;
    for (const Reductions<T> &group : groups) {
        all.insert(all.end(), group.begin(), group.end());
    }
    return all;
}

template <typename N> Reductions<N> of_integers() {
    return join<N>({arithmetic<N>(), logical<N>(), bitwise<N>(), user_defined<N>()});
}
template <typename N> Reductions<N> of_bytes() { return join<N>({bitwise<N>(), user_defined<N>()}); }
template <typename N> Reductions<N> of_reals() { return join<N>({arithmetic<N>(), user_defined<N>()}); }

/// Operators of complex numbers. Factors of a product are 2 + i and 1 + 2i, whose magnitudes are below 3.
template <typename T> Reductions<T> of_complex() {
    using F = typename T::value_type;
    const auto unit = [](const Draw &draw) {
        if (!draw.chosen(max_factors<F>())) {
            return T(1, 0);
        }
        return draw.bits() % 2 == 0 ? T(2, 1) : T(1, 2);
    };
    return join<T>({{predefined<T, summand<F>, add<F>>("sum", "MPI_SUM", MPI_SUM),
                     {"prod", "MPI_PROD", MPI_PROD, nullptr, true, unit, [](const T &a, const T &b) { return a * b; }}},
                    user_defined<T>()});
}

/// Operators MPI_MINLOC and MPI_MAXLOC. Contributions have only seven different values, so that locations matter.
template <typename T> Reductions<T> of_located() {
    const auto any = [](const Draw &draw) {
        return T{static_cast<decltype(T::value)>(static_cast<int>(draw.bits() % 7) - 3), draw.rank};
    };
    const auto smaller = [](const T &a, const T &b) {
        return a.value < b.value || (a.value == b.value && a.location <= b.location) ? a : b;
    };
    const auto larger = [](const T &a, const T &b) {
        return a.value > b.value || (a.value == b.value && a.location <= b.location) ? a : b;
    };
    return {{"minloc", "MPI_MINLOC", MPI_MINLOC, nullptr, true, any, smaller},
            {"maxloc", "MPI_MAXLOC", MPI_MAXLOC, nullptr, true, any, larger}};
}

} // namespace reductions
} // namespace bench
