#include "output/netcdf_file.h"

#include "output/output.h"
#include "text/error.h"

#include <fmt/format.h>
#include <netcdf.h>

namespace bench {
namespace {

// Bytes kept free in the header; more than the warnings of a run need.
constexpr std::size_t header_room = 65536;
constexpr std::size_t data_alignment = 4;

} // namespace

NetcdfFile::NetcdfFile(const std::string &path) : path_(path), output_(path) {
    // By its descriptor, which cannot be replaced by another file.
    const std::string file = fmt::format("/proc/self/fd/{}", output_.descriptor());
    check(nc_create(file.c_str(), NC_CLOBBER | NC_64BIT_DATA, &id_), "the file");
    open_ = true;
}

NetcdfFile::~NetcdfFile() {
    if (open_) {
        nc_close(id_); // after an error that is being reported already
    }
}

void NetcdfFile::check(int code, std::string_view what) const {
    if (code != NC_NOERR) {
        throw Error::here(fmt::format("cannot write '{}': {}: {}", path_, what, nc_strerror(code)));
    }
}

int NetcdfFile::dimension(const std::string &name, std::size_t length) {
    int dimension = 0;
    check(nc_def_dim(id_, name.c_str(), length, &dimension), name);
    return dimension;
}

int NetcdfFile::variable(const std::string &name, int type, const std::vector<int> &dimensions) {
    int variable = 0;
    check(nc_def_var(id_, name.c_str(), type, static_cast<int>(dimensions.size()), dimensions.data(), &variable), name);
    return variable;
}

void NetcdfFile::attribute(int variable, const std::string &name, const std::string &value) {
    check(nc_put_att_text(id_, variable, name.c_str(), value.size(), value.data()), name);
}

void NetcdfFile::attribute(int variable, const std::string &name, double value) {
    check(nc_put_att_double(id_, variable, name.c_str(), NC_DOUBLE, 1, &value), name);
}

void NetcdfFile::attribute(int variable, const std::string &name, std::int64_t value) {
    const long long number = value;
    check(nc_put_att_longlong(id_, variable, name.c_str(), NC_INT64, 1, &number), name);
}

void NetcdfFile::attribute(int variable, const std::string &name, std::uint64_t value) {
    attribute(variable, name, fmt::format("{}", value));
}

void NetcdfFile::attribute(int variable, const std::string &name, const std::vector<signed char> &values) {
    check(nc_put_att_schar(id_, variable, name.c_str(), NC_BYTE, values.size(), values.data()), name);
}

void NetcdfFile::end_definitions() {
    check(nc__enddef(id_, header_room, data_alignment, 0, data_alignment), "the header");
}

void NetcdfFile::define_late(const std::function<void()> &define) {
    check(nc_redef(id_), "the header");
    define();
    check(nc_enddef(id_), "the header");
}

void NetcdfFile::write(int variable, const std::vector<std::size_t> &start, const std::vector<std::size_t> &count,
                       std::span<const double> values) {
    check(nc_put_vara_double(id_, variable, start.data(), count.data(), values.data()), "data");
}

void NetcdfFile::write(int variable, const std::vector<std::size_t> &start, const std::vector<std::size_t> &count,
                       std::span<const std::int64_t> values) {
    const std::vector<long long> numbers(values.begin(), values.end()); // long on some systems, long long for netCDF
    check(nc_put_vara_longlong(id_, variable, start.data(), count.data(), numbers.data()), "data");
}

void NetcdfFile::write(int variable, const std::vector<std::size_t> &start, const std::vector<std::size_t> &count,
                       std::span<const signed char> values) {
    check(nc_put_vara_schar(id_, variable, start.data(), count.data(), values.data()), "data");
}

void NetcdfFile::write_text(int variable, std::size_t row, std::string_view text) {
    const std::size_t start[] = {row, 0};
    const std::size_t count[] = {1, text.size()};
    check(nc_put_vara_text(id_, variable, start, count, text.data()), "names");
}

void NetcdfFile::sync() { check(nc_sync(id_), "data"); }

void NetcdfFile::close() {
    open_ = false;
    check(nc_close(id_), "data");
    seal_file(output_);
    output_.finish(); // netCDF ignores what close(2) returns
}

} // namespace bench
