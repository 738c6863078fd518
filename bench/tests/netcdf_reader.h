#pragma once

#include <cstddef>
#include <gtest/gtest.h>
#include <netcdf.h>
#include <string>
#include <vector>

namespace bench {

/// A netCDF file to be read.
class Reader {
public:
    explicit Reader(const std::string &path) { EXPECT_EQ(nc_open(path.c_str(), NC_NOWRITE, &id_), NC_NOERR); }
    ~Reader() { nc_close(id_); }
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;

    int format() const {
        int format = 0;
        EXPECT_EQ(nc_inq_format(id_, &format), NC_NOERR);
        return format;
    }

    std::vector<double> numbers(const std::string &name) const {
        std::vector<double> values(size_of(name));
        EXPECT_EQ(nc_get_var_double(id_, id_of(name), values.data()), NC_NOERR) << name;
        return values;
    }

    std::vector<std::string> texts(const std::string &name) const {
        std::string all(size_of(name), '\0');
        EXPECT_EQ(nc_get_var_text(id_, id_of(name), all.data()), NC_NOERR) << name;
        const std::size_t width = lengths(name).back();
        std::vector<std::string> values;
        for (std::size_t i = 0; i < all.size(); i += width) {
            values.emplace_back(all.substr(i, width).c_str()); // up to the padding
        }
        return values;
    }

    std::string attribute(const std::string &name, const std::string &variable = "") const {
        const int where = variable.empty() ? NC_GLOBAL : id_of(variable);
        std::size_t length = 0;
        EXPECT_EQ(nc_inq_attlen(id_, where, name.c_str(), &length), NC_NOERR) << name;
        std::string text(length, '\0');
        EXPECT_EQ(nc_get_att_text(id_, where, name.c_str(), text.data()), NC_NOERR) << name;
        return text;
    }

private:
    int id_of(const std::string &name) const {
        int variable = -1;
        EXPECT_EQ(nc_inq_varid(id_, name.c_str(), &variable), NC_NOERR) << name;
        return variable;
    }

    std::vector<std::size_t> lengths(const std::string &name) const {
        int count = 0;
        EXPECT_EQ(nc_inq_varndims(id_, id_of(name), &count), NC_NOERR);
        std::vector<int> dimensions(static_cast<std::size_t>(count));
        EXPECT_EQ(nc_inq_vardimid(id_, id_of(name), dimensions.data()), NC_NOERR);
        std::vector<std::size_t> lengths;
        for (const int dimension : dimensions) {
            std::size_t length = 0;
            EXPECT_EQ(nc_inq_dimlen(id_, dimension, &length), NC_NOERR);
            lengths.push_back(length);
        }
        return lengths;
    }

    std::size_t size_of(const std::string &name) const {
        std::size_t size = 1;
        for (const std::size_t length : lengths(name)) {
            size *= length;
        }
        return size;
    }

    int id_ = 0;
};

} // namespace bench
