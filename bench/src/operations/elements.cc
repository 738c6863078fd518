// The element types and their registry: writes, checks and poisons buffers (elements.h).
#include "operations/elements.h"

#include "mpi/communicator.h"
#include "operations/element_reductions.h"
#include "text/words.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <utility>

namespace bench {
namespace {

// Type "auto" is `usual`, or `fallback` if the message size is not a multiple of the size of `usual`.
constexpr const char *automatic = "auto";
constexpr const char *fallback = "float";
constexpr const char *usual = "double";
constexpr unsigned char poisoned = 0xa5; // byte of poison

// Contributions to reductions repeat after this number of elements, so that expected results over thousands of ranks
// are computed only once. It is a prime, so that validation finds data that is shifted by a block.
constexpr std::uint64_t period = 1009;

/// The MPI datatype of Gapped: 16 bytes of data in 32 bytes of memory.
MPI_Datatype make_vector_type() {
    MPI_Datatype vector = MPI_DATATYPE_NULL;
    MPI_Datatype resized = MPI_DATATYPE_NULL;
    check(MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &vector), "MPI_Type_vector");
    check(MPI_Type_create_resized(vector, 0, sizeof(Gapped), &resized), "MPI_Type_create_resized");
    check(MPI_Type_free(&vector), "MPI_Type_free");
    check(MPI_Type_commit(&resized), "MPI_Type_commit");
    return resized;
}

/// An MPI datatype by its name.
struct MpiType {
    const char *name;
    MPI_Datatype type;      // MPI_DATATYPE_NULL: created by `make`
    std::uint64_t size;     // bytes in a message
    MPI_Datatype (*make)(); // null: predefined datatype
};

/// Elements of C++ type T.
template <typename T> class TypedElements : public Elements {
public:
    /// `reduction`: operator and contributions. If it is null, nothing is reduced, and `copied` gives the
    /// contributions.
    TypedElements(const MpiType &type, std::function<T(const Draw &)> copied, const Reduction<T> *reduction, int ranks)
        : mpi_(type), type_(type.make == nullptr ? type.type : type.make()), contribution_(std::move(copied)),
          ranks_(std::max(ranks, 2)) {
        if (reduction != nullptr) {
            reduction_ = *reduction;
            contribution_ = reduction->contribution;
            op_ = reduction->op;
            if (reduction->function != nullptr) {
                check(MPI_Op_create(reduction->function, reduction->commutes ? 1 : 0, &op_), "MPI_Op_create");
            }
        }
    }
    ~TypedElements() override {
        if (reduction_ && reduction_->function != nullptr) {
            MPI_Op_free(&op_);
        }
        if (mpi_.make != nullptr) {
            MPI_Type_free(&type_);
        }
    }
    TypedElements(const TypedElements &) = delete;
    TypedElements &operator=(const TypedElements &) = delete;

    MPI_Datatype type() const override { return type_; }
    MPI_Op op() const override { return op_; }
    std::string name() const override {
        return reduction_ ? fmt::format("{} {}", mpi_.name, reduction_->mpi_name) : mpi_.name;
    }
    std::uint64_t size() const override { return mpi_.size; }
    std::uint64_t extent() const override { return sizeof(T); }

    void write(void *buffer, const Piece &piece) const override {
        T *const elements = static_cast<T *>(buffer) + piece.at;
        for (std::uint64_t i = 0; i < piece.count; ++i) {
            assign(elements[i], expected(piece, i));
        }
    }

    std::optional<std::string> compare(const void *buffer, const Piece &piece) const override {
        const T *const elements = static_cast<const T *>(buffer) + piece.at;
        for (std::uint64_t i = 0; i < piece.count; ++i) {
            const T element = expected(piece, i);
            if (!same(elements[i], element)) {
                return fmt::format("element {} is {} instead of {}", piece.at + i, text(elements[i]), text(element));
            }
            if (!gaps_poisoned(elements[i])) {
                return fmt::format("element {} is written to between its parts", piece.at + i);
            }
        }
        return std::nullopt;
    }

    void poison(void *buffer, std::uint64_t count) const override { std::memset(buffer, poisoned, count * sizeof(T)); }
    void settle(void *buffer, std::uint64_t count) const override { std::memset(buffer, 0, count * sizeof(T)); }

private:
    /// The contents of element `i` of a piece.
    T expected(const Piece &piece, std::uint64_t i) const {
        if (!reduction_) {
            return contribution_({piece.first_rank, ranks_, piece.from + i});
        }
        const std::uint64_t index = (piece.from + i) % period;
        return piece.first_rank == piece.last_rank ? contribution_({piece.first_rank, ranks_, index})
                                                   : combined(piece.first_rank, piece.last_rank)[index];
    }

    /// The combined contributions of ranks `first` to `last` for the first `period` elements.
    const std::vector<T> &combined(int first, int last) const {
        if (combined_.empty() || first != combined_first_ || last != combined_last_) {
            combined_.clear();
            for (std::uint64_t i = 0; i < period; ++i) {
                T element = contribution_({first, ranks_, i});
                for (int rank = first + 1; rank <= last; ++rank) {
                    element = reduction_->combine(element, contribution_({rank, ranks_, i}));
                }
                combined_.push_back(element);
            }
            combined_first_ = first;
            combined_last_ = last;
        }
        return combined_;
    }

    /// True if the gaps within an element still contain poison; true for types without gaps.
    static bool gaps_poisoned(const T &element) {
        if constexpr (std::is_same_v<T, Gapped>) {
            Gapped clean;
            std::memset(&clean, poisoned, sizeof(clean));
            const auto same = [](double a, double b) {
                return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
            };
            return same(element.first_gap, clean.first_gap) && same(element.second_gap, clean.second_gap);
        }
        return true;
    }

    MpiType mpi_;
    MPI_Datatype type_;
    MPI_Op op_ = MPI_OP_NULL;
    std::optional<Reduction<T>> reduction_;
    std::function<T(const Draw &)> contribution_;
    int ranks_;                       // Draw::ranks, at least 2
    mutable std::vector<T> combined_; // last result of combined(), of ranks combined_first_ to combined_last_
    mutable int combined_first_ = 0;
    mutable int combined_last_ = 0;
};

/// A value of parameter `type`.
struct ElementType {
    std::string name;
    std::uint64_t size;           // bytes in a message
    std::uint64_t extent;         // bytes in memory
    std::vector<std::string> ops; // valid operators
    /// Makes the elements. `op`: name of the operator; null if nothing is reduced.
    std::function<std::unique_ptr<Elements>(const std::string *op, int ranks)> make;
};

/// The entry of C++ type T. `copied`: contributions to collectives that do not reduce.
template <typename T>
ElementType element_type(const char *name, const MpiType &type, std::function<T(const Draw &)> copied,
                         std::vector<Reduction<T>> reductions) {
    const auto op_name = [](const Reduction<T> &reduction) -> std::string { return reduction.name; };
    const std::vector<std::string> ops = mapped(reductions, op_name);
    return {name, type.size, sizeof(T), ops, [=](const std::string *op, int ranks) -> std::unique_ptr<Elements> {
                const Reduction<T> *const reduction = op == nullptr ? nullptr : &find_by_name(reductions, *op);
                return std::make_unique<TypedElements<T>>(type, copied, reduction, ranks);
            }};
}

/// The entry of a number or a complex number.
template <typename T>
ElementType number_type(const char *name, const char *mpi_name, MPI_Datatype type,
                        std::vector<Reduction<T>> reductions) {
    using N = typename Parts<T>::Number;
    return element_type<T>(name, {mpi_name, type, sizeof(T), nullptr},
                           reductions::draw_parts<T, reductions::any_number<N>>, std::move(reductions));
}

/// The entry of a pair of value and location.
template <typename V> ElementType located_type(const char *name, const char *mpi_name, MPI_Datatype type) {
    const auto copied = [](const Draw &draw) {
        return Located<V>{reductions::any_number<V>(draw), static_cast<int>(draw.index % 1'000'000)};
    };
    return element_type<Located<V>>(name, {mpi_name, type, sizeof(V) + sizeof(int), nullptr}, copied,
                                    reductions::of_located<Located<V>>());
}

const std::vector<ElementType> &all_types() {
    using namespace reductions;
    using FloatComplex = std::complex<float>;
    using DoubleComplex = std::complex<double>;
    static const std::vector<ElementType> all = {
        number_type("int8", "MPI_INT8_T", MPI_INT8_T, of_integers<std::int8_t>()),
        number_type("uint8", "MPI_UINT8_T", MPI_UINT8_T, of_integers<std::uint8_t>()),
        number_type("int16", "MPI_INT16_T", MPI_INT16_T, of_integers<std::int16_t>()),
        number_type("uint16", "MPI_UINT16_T", MPI_UINT16_T, of_integers<std::uint16_t>()),
        number_type("int32", "MPI_INT32_T", MPI_INT32_T, of_integers<std::int32_t>()),
        number_type("uint32", "MPI_UINT32_T", MPI_UINT32_T, of_integers<std::uint32_t>()),
        number_type("int64", "MPI_INT64_T", MPI_INT64_T, of_integers<std::int64_t>()),
        number_type("uint64", "MPI_UINT64_T", MPI_UINT64_T, of_integers<std::uint64_t>()),
        number_type<unsigned char>("byte", "MPI_BYTE", MPI_BYTE, of_bytes<unsigned char>()),
        number_type("float", "MPI_FLOAT", MPI_FLOAT, of_reals<float>()),
        number_type("double", "MPI_DOUBLE", MPI_DOUBLE, of_reals<double>()),
        number_type("long_double", "MPI_LONG_DOUBLE", MPI_LONG_DOUBLE, of_reals<long double>()),
        number_type("complex_float", "MPI_C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, of_complex<FloatComplex>()),
        number_type("complex_double", "MPI_C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, of_complex<DoubleComplex>()),
        located_type<float>("float_int", "MPI_FLOAT_INT", MPI_FLOAT_INT),
        located_type<double>("double_int", "MPI_DOUBLE_INT", MPI_DOUBLE_INT),
        located_type<long>("long_int", "MPI_LONG_INT", MPI_LONG_INT),
        located_type<int>("2int", "MPI_2INT", MPI_2INT),
        located_type<short>("short_int", "MPI_SHORT_INT", MPI_SHORT_INT),
        element_type<Gapped>("vector", {"MPI_Type_vector", MPI_DATATYPE_NULL, 2 * sizeof(double), make_vector_type},
                             draw_parts<Gapped, any_number<double>>, user_defined<Gapped>()),
    };
    return all;
}

/// The operators that are valid for at least one type.
std::vector<std::string> all_ops() {
    std::vector<std::string> ops;
    for (const ElementType &type : all_types()) {
        for (const std::string &op : type.ops) {
            if (!contains(ops, op)) {
                ops.push_back(op);
            }
        }
    }
    return ops;
}

/// The type of an operation's elements for a message size.
const ElementType &chosen_type(const Component &operation, std::uint64_t size) {
    const std::string &type = operation.word("type");
    if (type != automatic) {
        return find_by_name(all_types(), type);
    }
    const ElementType &wide = find_by_name(all_types(), usual);
    return size % wide.size == 0 ? wide : find_by_name(all_types(), fallback);
}

} // namespace

std::vector<ComponentParameter> elements_parameters(bool reduces) {
    std::vector<ComponentParameter> parameters = {
        {"type", reduces ? automatic : "byte",
         reduces ? fmt::format("type of the elements; auto: {}, or {} if the size requires it", usual, fallback)
                 : "type of the elements",
         ComponentValues::choice(names_of(all_types()))}};
    if (reduces) {
        parameters.push_back(
            {"op", "sum",
             "reduction operator; user and user_ordered: made by MPI_Op_create, the latter not commutative",
             ComponentValues::choice(all_ops())});
    }
    return parameters;
}

ElementSize element_size(const Component &operation, bool reduces) {
    const ElementType &type = operation.word("type") == automatic ? find_by_name(all_types(), fallback)
                                                                  : find_by_name(all_types(), operation.word("type"));
    if (reduces && !contains(type.ops, operation.word("op"))) {
        throw Error::usage(fmt::format("{}: op {} cannot combine type {}; choose one of {}", operation.text(),
                                       operation.word("op"), operation.word("type"), bench::join(type.ops)));
    }
    return {type.size, type.extent};
}

std::unique_ptr<Elements> make_elements(const Component &operation, bool reduces, std::uint64_t size, int ranks) {
    return chosen_type(operation, size).make(reduces ? &operation.word("op") : nullptr, ranks);
}

} // namespace bench
