// Writes netCDF files without the netCDF library, in the classic format CDF-5
// (https://parallel-netcdf.github.io/doc/c-reference/pnetcdf-c/CDF_002d5-file-format-specification.html). A file has a
// header, then fixed variables, then records: the rows of all variables whose first dimension is unlimited.
#pragma once

#include "output/output.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// Types of variables and attributes; the values are their numbers in the format.
enum class NetcdfType { byte = 1, text = 2, real64 = 6, int64 = 10 };

/// A netCDF file. First define dimensions, variables and attributes, then call end_definitions(), then write data.
/// Elements that are not written have netCDF's fill value. Failures throw Error::here with the path.
class NetcdfFile {
public:
    static constexpr std::size_t unlimited = 0; // length of the unlimited dimension
    static constexpr int global = -1;           // id for global attributes, instead of a variable's id

    explicit NetcdfFile(const std::string &path) : output_(path) {}

    /// Defines a dimension. Returns its id.
    int dimension(const std::string &name, std::size_t length);

    /// Defines a variable along dimensions, which are given by their ids. Returns its id.
    int variable(const std::string &name, NetcdfType type, const std::vector<int> &dimensions);

    // Attributes of a variable, or of the file if `variable` is `global`.
    void attribute(int variable, const std::string &name, const std::string &value);
    void attribute(int variable, const std::string &name, double value);
    void attribute(int variable, const std::string &name, std::int64_t value);
    /// Written as text, because it may exceed the largest signed integer.
    void attribute(int variable, const std::string &name, std::uint64_t value);
    void attribute(int variable, const std::string &name, const std::vector<signed char> &values);

    /// Ends the definitions and begins the data. Leaves free space in the header for later attributes.
    void end_definitions();

    /// Adds attributes after end_definitions(). `define` makes the calls of attribute().
    void define_late(const std::function<void()> &define);

    /// Writes the block of a variable that begins at the indices `start` and has `count` elements along each dimension.
    /// The block must be contiguous in the file. A record must be written before the sync() that comes after it, and
    /// not again after that sync().
    void write(int variable, const std::vector<std::size_t> &start, const std::vector<std::size_t> &count,
               std::span<const double> values);
    void write(int variable, const std::vector<std::size_t> &start, const std::vector<std::size_t> &count,
               std::span<const std::int64_t> values);
    void write(int variable, const std::vector<std::size_t> &start, const std::vector<std::size_t> &count,
               std::span<const signed char> values);

    /// Writes a row of a two-dimensional character variable.
    void write_text(int variable, std::size_t row, std::string_view text);

    /// Writes pending records to the file and updates their number in the header.
    void sync();

    /// Appends the checksum (seal_file), which shows that the file is complete, and closes the file.
    void close();

private:
    struct Attribute {
        std::string name;
        NetcdfType type;
        std::uint64_t count; // of values
        std::string values;  // bytes in the file, without padding
    };
    struct Variable {
        std::string name;
        NetcdfType type;
        std::vector<int> dimensions;
        std::vector<Attribute> attributes;
        std::uint64_t size;  // bytes with padding; for a record variable, in a record
        std::uint64_t begin; // position in the file; for a record variable, of its first record
    };
    struct Dimension {
        std::string name;
        std::uint64_t length;
    };

    /// True if the first dimension of the variable is unlimited.
    bool is_record(const Variable &variable) const;
    /// The bytes of the header.
    std::string header() const;
    /// Adds an attribute to a variable, or to the file if `variable` is `global`.
    void add(int variable, Attribute attribute);
    /// Sets the positions of the variables for a header that ends at `begin`.
    void set_positions(std::uint64_t begin);
    /// Moves the data towards the end of the file if the header has become too long.
    void make_room();
    /// Writes bytes at a position in the file.
    void write_at(std::uint64_t offset, std::string_view bytes);
    /// Writes the block of a variable (see write()). Rows of records are pending until sync().
    template <typename Number>
    void write_numbers(int variable, const std::vector<std::size_t> &start, const std::vector<std::size_t> &count,
                       std::span<const Number> values);

    Output output_;
    std::vector<Dimension> dimensions_;
    std::vector<Variable> variables_;
    std::vector<Attribute> attributes_;
    std::uint64_t room_ = 0;          // space of the header, bytes
    std::uint64_t records_begin_ = 0; // position of the first record in the file
    std::uint64_t records_ = 0;       // number of records in the file
    std::string empty_record_;        // bytes of a record with fill values
    std::string pending_;             // bytes of records that are not in the file yet
};

} // namespace bench
