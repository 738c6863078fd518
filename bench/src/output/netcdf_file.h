#pragma once

#include "output/output.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// Types of variables and attributes, by their numbers in the format.
enum class NetcdfType { byte = 1, text = 2, int32 = 4, real64 = 6, int64 = 10 };

/// A netCDF classic file in the format CDF-5
/// (https://parallel-netcdf.github.io/doc/c-reference/pnetcdf-c/CDF_002d5-file-format-specification.html), which needs
/// no library. Whatever nobody writes has netCDF's fill value. Failures throw Error::here with the path.
class NetcdfFile {
public:
    static constexpr std::size_t unlimited = 0; // length of a dimension
    static constexpr int global = -1;           // for attributes, in place of a variable

    explicit NetcdfFile(const std::string &path) : output_(path) {}

    int dimension(const std::string &name, std::size_t length);

    int variable(const std::string &name, NetcdfType type, const std::vector<int> &dimensions);

    // `variable` may be `global`.
    void attribute(int variable, const std::string &name, const std::string &value);
    void attribute(int variable, const std::string &name, double value);
    void attribute(int variable, const std::string &name, std::int64_t value);
    /// As text: it may exceed 64 bits with a sign.
    void attribute(int variable, const std::string &name, std::uint64_t value);
    void attribute(int variable, const std::string &name, const std::vector<signed char> &values);

    /// From definitions to data, with room in the header for attributes that come later.
    void end_definitions();

    /// Adds attributes when the data are written.
    void define_late(const std::function<void()> &define);

    void write(int variable, const std::vector<std::size_t> &start, const std::vector<std::size_t> &count,
               std::span<const double> values);
    void write(int variable, const std::vector<std::size_t> &start, const std::vector<std::size_t> &count,
               std::span<const std::int64_t> values);
    void write(int variable, const std::vector<std::size_t> &start, const std::vector<std::size_t> &count,
               std::span<const signed char> values);

    /// One row of a two-dimensional character variable.
    void write_text(int variable, std::size_t row, std::string_view text);

    /// Makes the records that are written a part of the file.
    void sync();

    /// Appends the checksum of the file, which shows that it is complete.
    void close();

private:
    struct Attribute {
        std::string name;
        NetcdfType type;
        std::uint64_t count;
        std::string values; // as in the file, without padding
    };
    struct Variable {
        std::string name;
        NetcdfType type;
        std::vector<int> dimensions;
        std::vector<Attribute> attributes;
        std::uint64_t size;  // bytes, of a record variable those of a record; padded
        std::uint64_t begin; // in the file
    };
    struct Dimension {
        std::string name;
        std::uint64_t length;
    };

    bool is_record(const Variable &variable) const;
    std::string header() const;
    void add(int variable, Attribute attribute);
    void place(std::uint64_t begin);
    void write_header();
    void make_room();
    void write_at(std::uint64_t offset, std::string_view bytes);
    template <typename Number>
    void write_numbers(int variable, const std::vector<std::size_t> &start, const std::vector<std::size_t> &count,
                       std::span<const Number> values);

    Output output_;
    std::vector<Dimension> dimensions_;
    std::vector<Variable> variables_;
    std::vector<Attribute> attributes_;
    std::uint64_t room_ = 0;          // for the header, bytes
    std::uint64_t records_begin_ = 0; // in the file
    std::uint64_t records_ = 0;       // in the file
    std::string empty_record_;        // of fill values
    std::string pending_;             // records that are not in the file yet
};

} // namespace bench
