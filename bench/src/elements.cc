#include "elements.h"

#include <array>
#include <cstring>
#include <fmt/format.h>

namespace bench {
namespace {

constexpr const char *automatic = "auto";
constexpr unsigned char poisoned = 0xa5;

/// How contributions are made and combined, of one operation on one type.
template <typename T> struct Sum { static constexpr const char *name = "sum"; };

/// Elements that are one number each.
template <typename T> class Numbers : public Elements {
public:
    Numbers(const char *name, MPI_Datatype type, bool reduces, int ranks)
        : name_(name), type_(type), reduces_(reduces), ranks_(ranks) {}

    MPI_Datatype type() const override { return type_; }
    MPI_Op op() const override { return reduces_ ? MPI_SUM : MPI_OP_NULL; }
    std::string name() const override { return reduces_ ? fmt::format("{} MPI_SUM", name_) : std::string(name_); }
    std::uint64_t size() const override { return sizeof(T); }
    std::uint64_t extent() const override { return sizeof(T); }

    void write(void *buffer, const Piece &piece) const override {
        T *const values = static_cast<T *>(buffer) + piece.at;
        for (std::uint64_t i = 0; i < piece.count; ++i) {
            values[i] = expected(piece, i);
        }
    }

    std::optional<std::string> compare(const void *buffer, const Piece &piece) const override {
        const T *const values = static_cast<const T *>(buffer) + piece.at;
        for (std::uint64_t i = 0; i < piece.count; ++i) {
            const T value = expected(piece, i);
            if (values[i] != value) {
                return fmt::format("element {} is {} instead of {}", piece.at + i, values[i], value);
            }
        }
        return std::nullopt;
    }

    void poison(void *buffer, std::uint64_t count) const override { std::memset(buffer, poisoned, count * sizeof(T)); }
    void settle(void *buffer, std::uint64_t count) const override { std::memset(buffer, 0, count * sizeof(T)); }

private:
    T expected(const Piece &piece, std::uint64_t i) const {
        T value = contribution(piece.first_rank, piece.from + i);
        for (int rank = piece.first_rank + 1; rank <= piece.last_rank; ++rank) {
            value = static_cast<T>(value + contribution(rank, piece.from + i));
        }
        return value;
    }

    T contribution(int rank, std::uint64_t index) const {
        return static_cast<T>((static_cast<std::uint64_t>(rank) * 7 + index) % 11);
    }

    const char *name_;
    MPI_Datatype type_;
    bool reduces_;
    int ranks_;
};

} // namespace

std::vector<PartParameter> elements_parameters(bool reduces) {
    return {{"type", reduces ? automatic : "byte", "of the elements", PartValues::choice({"byte", "float", "double"})}};
}

std::uint64_t elements_divisor(const Part &operation) { return operation.word("type") == automatic ? 4 : 1; }

std::unique_ptr<Elements> make_elements(const Part &operation, std::uint64_t size, int ranks) {
    const std::string &type = operation.word("type");
    if (type == "byte") {
        return std::make_unique<Numbers<unsigned char>>("MPI_BYTE", MPI_BYTE, false, ranks);
    }
    if (type == "double" || size % 8 == 0) {
        return std::make_unique<Numbers<double>>("MPI_DOUBLE", MPI_DOUBLE, true, ranks);
    }
    return std::make_unique<Numbers<float>>("MPI_FLOAT", MPI_FLOAT, true, ranks);
}

} // namespace bench
