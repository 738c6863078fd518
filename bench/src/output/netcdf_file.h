#pragma once

#include "output/output.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// A netCDF classic file in the format CDF-5, written through the serial library. Every return code is checked;
/// failures throw Error::here with the path.
class NetcdfFile {
public:
    explicit NetcdfFile(const std::string &path);
    ~NetcdfFile();
    NetcdfFile(const NetcdfFile &) = delete;
    NetcdfFile &operator=(const NetcdfFile &) = delete;

    /// `length` may be NC_UNLIMITED.
    int dimension(const std::string &name, std::size_t length);

    /// `type` is NC_DOUBLE and so on.
    int variable(const std::string &name, int type, const std::vector<int> &dimensions);

    // `variable` may be NC_GLOBAL.
    void attribute(int variable, const std::string &name, const std::string &value);
    void attribute(int variable, const std::string &name, double value);
    void attribute(int variable, const std::string &name, std::int64_t value);
    /// As text: it may exceed NC_INT64.
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

    void sync();

    /// Appends the checksum of the file, which shows that it is complete.
    void close();

private:
    void check(int code, std::string_view what) const;

    std::string path_;
    Output output_;
    int id_ = 0;
    bool open_ = false;
};

} // namespace bench
