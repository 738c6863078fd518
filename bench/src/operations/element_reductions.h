#pragma once

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
    static F &of(std::complex<F> &element, int component) { return reinterpret_cast<F(&)[2]>(element)[component]; }
};

template <> struct Parts<Gapped> {
    using Number = double;
    static constexpr int count = 2;
    static double &of(Gapped &element, int component) { return component == 0 ? element.first : element.second; }
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

/// Contributions of ranks and how they are combined: one operation on one type of elements.
///
/// Contributions are chosen so that no combination of some of them, in whatever order and grouping, leaves the range in
/// which the type is exact: Debian's Open MPI 4.1.4 saturates sums of 8 and 16 bit integers where other libraries let
/// them overflow, and either is right (MPI 4.0, section 6.9.2). Where that leaves room for few ranks (a sum of int8 for
/// 8 of them), those that contribute something to an element change from element to element; the others bring what
/// leaves the result as it is. No result is what Elements::poison() writes: it has the highest bit set, and either
/// numbers are not negative, or not so far.
template <typename T> struct Reduction {
    const char *name;
    const char *mpi_name;
    MPI_Op op;                   // MPI_OP_NULL: is made of `function`
    MPI_User_function *function; // nullptr: MPI's own
    bool commutes;
    std::function<T(const Draw &)> contribution;
    std::function<T(const T &, const T &)> combine; // the lower ranks first
};

namespace reductions {

/// Bits of the whole numbers that are used: exact, and not negative.
template <typename N>
constexpr int usable_bits = std::is_integral_v<N>
                                ? 8 * static_cast<int>(sizeof(N)) - 1
                                : std::min(std::numeric_limits<N>::digits, std::numeric_limits<double>::digits);

template <typename N> constexpr std::uint64_t largest = (std::uint64_t{1} << usable_bits<N>)-1;

/// From the lower half of the range to the upper half of what is not negative.
template <typename N> N any_number(const Draw &draw) {
    const auto number = static_cast<std::int64_t>(draw.bits() & largest<N>);
    return static_cast<N>(std::is_signed_v<N> ? number - static_cast<std::int64_t>(largest<N> / 2) : number);
}

template <typename N> N summand(const Draw &draw) {
    constexpr auto most = static_cast<int>(std::min<std::uint64_t>(largest<N> / 15, 1 << 20));
    if (!draw.chosen(most)) {
        return 0;
    }
    return static_cast<N>(1 + draw.bits() % (largest<N> / static_cast<std::uint64_t>(draw.number_chosen(most))));
}
template <typename N> N add(N a, N b) { return static_cast<N>(a + b); }

/// How many threes can be multiplied.
template <typename N> constexpr int most_factors() {
    int most = 0;
    for (std::uint64_t left = largest<N>; left >= 3; left /= 3) {
        ++most;
    }
    return most;
}
template <typename N> N factor(const Draw &draw) {
    return static_cast<N>(draw.chosen(most_factors<N>()) ? 2 + draw.bits() % 2 : 1);
}
template <typename N> N multiply(N a, N b) { return static_cast<N>(a * b); }

template <typename N> N lower(N a, N b) { return std::min(a, b); }
template <typename N> N upper(N a, N b) { return std::max(a, b); }

// True is any number but 0, and 1 in results.
template <typename N> N truth(const Draw &draw, bool value) { return static_cast<N>(value ? 1 + draw.bits(0) % 7 : 0); }
template <typename N> N rarely_false(const Draw &draw) { return truth<N>(draw, draw.sparse_bits() % 2 == 0); }
template <typename N> N rarely_true(const Draw &draw) { return truth<N>(draw, draw.sparse_bits() % 2 == 1); }
template <typename N> N often_true(const Draw &draw) { return truth<N>(draw, draw.bits(1) % 2 == 1); }
template <typename N> N both(N a, N b) { return a != 0 && b != 0; }
template <typename N> N either(N a, N b) { return a != 0 || b != 0; }
template <typename N> N one_of_them(N a, N b) { return (a != 0) != (b != 0); }

template <typename N> N few_bits(const Draw &draw) { return static_cast<N>(draw.sparse_bits() & largest<N>); }
template <typename N> N most_bits(const Draw &draw) { return static_cast<N>(~draw.sparse_bits() & largest<N>); }
template <typename N> N any_bits(const Draw &draw) { return static_cast<N>(draw.bits() & largest<N>); }
template <typename N> N bit_and(N a, N b) { return static_cast<N>(a & b); }
template <typename N> N bit_or(N a, N b) { return static_cast<N>(a | b); }
template <typename N> N bit_xor(N a, N b) { return static_cast<N>(a ^ b); }

/// Associative and not commutative: maps x -> scale x + shift modulo a power of two, one after the other, scale and
/// shift in one number. With odd scales, every map has its inverse, so that none is lost on the others.
template <typename N> constexpr int map_bits = std::min(usable_bits<N> / 2, 12);
template <typename N> constexpr std::uint64_t map_mask = (std::uint64_t{1} << map_bits<N>)-1;
template <typename N> N join_map(std::uint64_t scale, std::uint64_t shift) {
    return static_cast<N>(((scale & map_mask<N>) << map_bits<N>) | (shift & map_mask<N>));
}
template <typename N> N any_map(const Draw &draw) { return join_map<N>(draw.bits() | 1, draw.bits(1)); }
template <typename N> std::uint64_t map_of(N element) { // never negative
    if constexpr (std::is_integral_v<N>) {
        return static_cast<std::make_unsigned_t<N>>(element);
    } else {
        return static_cast<std::uint64_t>(element);
    }
}
template <typename N> N chain(N a, N b) {
    const std::uint64_t first = map_of(a);
    const std::uint64_t second = map_of(b);
    const std::uint64_t scale = first >> map_bits<N>;
    return join_map<N>(scale * (second >> map_bits<N>), scale * (second & map_mask<N>)+(first & map_mask<N>));
}

/// Part by part.
template <typename T, auto Combine> T combine_parts(T a, T b) {
    for (int component = 0; component < Parts<T>::count; ++component) {
        Parts<T>::of(b, component) = Combine(Parts<T>::of(a, component), Parts<T>::of(b, component));
    }
    return b;
}
template <typename T, auto Contribute> T draw_parts(const Draw &draw) {
    T element{};
    for (int component = 0; component < Parts<T>::count; ++component) {
        Draw own = draw;
        own.index = draw.index * Parts<T>::count + static_cast<std::uint64_t>(component);
        Parts<T>::of(element, component) = Contribute(own);
    }
    return element;
}

/// Called by MPI.
template <typename T, auto Combine> void function(void *in, void *in_out, int *length, MPI_Datatype *) {
    const T *const first = static_cast<const T *>(in);
    T *const second = static_cast<T *>(in_out);
    for (int i = 0; i < *length; ++i) {
        assign(second[i], combine_parts<T, Combine>(first[i], second[i]));
    }
}

template <typename T, auto Contribute, auto Combine>
Reduction<T> predefined(const char *name, const char *mpi_name, MPI_Op op) {
    return {name, mpi_name, op, nullptr, true, draw_parts<T, Contribute>, combine_parts<T, Combine>};
}

template <typename T, auto Contribute, auto Combine>
Reduction<T> made(const char *name, const char *mpi_name, bool commutes) {
    return {name,
            mpi_name,
            MPI_OP_NULL,
            function<T, Combine>,
            commutes,
            draw_parts<T, Contribute>,
            combine_parts<T, Combine>};
}

template <typename T> using Reductions = std::vector<Reduction<T>>;

// MPI 4.0, section 6.9.2: the valid types.

template <typename T> Reductions<T> own() {
    using N = typename Parts<T>::Number;
    return {made<T, summand<N>, add<N>>("user", "commutative MPI_Op_create", true),
            made<T, any_map<N>, chain<N>>("user_ordered", "ordered MPI_Op_create", false)};
}

template <typename N> Reductions<N> bitwise() {
    return {predefined<N, most_bits<N>, bit_and<N>>("band", "MPI_BAND", MPI_BAND),
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
    return {predefined<N, rarely_false<N>, both<N>>("land", "MPI_LAND", MPI_LAND),
            predefined<N, rarely_true<N>, either<N>>("lor", "MPI_LOR", MPI_LOR),
            predefined<N, often_true<N>, one_of_them<N>>("lxor", "MPI_LXOR", MPI_LXOR)};
}

template <typename T> Reductions<T> join(std::vector<Reductions<T>> groups) {
    Reductions<T> all;
    for (const Reductions<T> &group : groups) {
        all.insert(all.end(), group.begin(), group.end());
    }
    return all;
}

template <typename N> Reductions<N> of_integers() {
    return join<N>({arithmetic<N>(), logical<N>(), bitwise<N>(), own<N>()});
}
template <typename N> Reductions<N> of_bytes() { return join<N>({bitwise<N>(), own<N>()}); }
template <typename N> Reductions<N> of_reals() { return join<N>({arithmetic<N>(), own<N>()}); }

/// A product of 2 + i and 1 + 2i; the magnitude of each is below 3.
template <typename T> Reductions<T> of_complex() {
    using F = typename T::value_type;
    const auto unit = [](const Draw &draw) {
        const bool first = draw.bits() % 2 == 0;
        return !draw.chosen(most_factors<F>()) ? T(1, 0) : first ? T(2, 1) : T(1, 2);
    };
    return join<T>({{predefined<T, summand<F>, add<F>>("sum", "MPI_SUM", MPI_SUM),
                     {"prod", "MPI_PROD", MPI_PROD, nullptr, true, unit, [](const T &a, const T &b) { return a * b; }}},
                    own<T>()});
}

/// Few different values, so that locations decide, too.
template <typename T> Reductions<T> of_located() {
    const auto any = [](const Draw &draw) {
        return T{static_cast<decltype(T::value)>(static_cast<int>(draw.bits() % 7) - 3), draw.rank};
    };
    const auto less = [](const T &a, const T &b) {
        return a.value < b.value || (a.value == b.value && a.location <= b.location) ? a : b;
    };
    const auto more = [](const T &a, const T &b) {
        return a.value > b.value || (a.value == b.value && a.location <= b.location) ? a : b;
    };
    return {{"minloc", "MPI_MINLOC", MPI_MINLOC, nullptr, true, any, less},
            {"maxloc", "MPI_MAXLOC", MPI_MAXLOC, nullptr, true, any, more}};
}

} // namespace reductions
} // namespace bench
