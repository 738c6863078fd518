// Encodes and writes netCDF files in format CDF-5 (netcdf_file.h).
#include "output/netcdf_file.h"

#include "output/output.h"
#include "text/error.h"
#include "text/words.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace bench {
namespace {

// Bytes kept free in the header, more than the warnings of a run need.
constexpr std::uint64_t header_room = 65536;
constexpr std::uint64_t records_offset = 4; // position of the number of records in the file

/// The size rounded up to a multiple of 4, to which the format aligns its parts.
constexpr std::uint64_t padded(std::uint64_t size) { return (size + 3) / 4 * 4; }

/// A number in the byte order of the file.
template <typename Number> std::string big_endian(Number number) {
    std::string bytes(sizeof number, '\0');
    std::memcpy(bytes.data(), &number, sizeof number);
    if constexpr (std::endian::native == std::endian::little) {
        std::ranges::reverse(bytes);
    }
    return bytes;
}

/// The bytes of a value of this type in the file.
template <typename Number> std::string encoded(NetcdfType type, Number value) {
    switch (type) {
    case NetcdfType::byte:
    case NetcdfType::text:
        return big_endian(static_cast<signed char>(value));
    case NetcdfType::int64:
        return big_endian(static_cast<std::int64_t>(value));
    case NetcdfType::real64:
        return big_endian(static_cast<double>(value));
    }
    return {};
}

/// The bytes of an element that was not written.
std::string fill_value(NetcdfType type) {
    switch (type) {
    case NetcdfType::byte:
        return encoded(type, -127);
    case NetcdfType::text:
        return encoded(type, 0);
    case NetcdfType::int64:
        return encoded(type, std::int64_t{-9223372036854775806});
    case NetcdfType::real64:
        return encoded(type, 0x1.ep+122); // 9.97e36
    }
    return {};
}

/// Repeats a value up to `size` bytes.
std::string repeated(const std::string &value, std::uint64_t size) {
    std::string bytes;
    while (bytes.size() < size) {
        bytes += value;
    }
    bytes.resize(size);
    return bytes;
}

/// The bytes of a length, a position in the file or the number of a dimension: CDF-5 stores them in 8 bytes.
std::string encoded_size(std::uint64_t value) { return big_endian(value); }

/// The bytes, with zeros up to a multiple of 4.
std::string with_padding(const std::string &bytes) {
    return bytes + std::string(padded(bytes.size()) - bytes.size(), '\0');
}

/// The bytes of a name: its length, and the name with padding.
std::string encoded_name(const std::string &name) { return encoded_size(name.size()) + with_padding(name); }

/// Lists in the header; the values are their tags in the format.
enum class List : std::uint32_t { dimensions = 10, variables = 11, attributes = 12 };

/// A list of the header: tag (0 if the list is empty), number of elements, and elements.
template <typename Elements, typename Encode>
std::string list_of(List list, const Elements &elements, const Encode &encode) {
    return big_endian(elements.empty() ? std::uint32_t{0} : static_cast<std::uint32_t>(list)) +
           encoded_size(elements.size()) + concatenated(elements, encode);
}

} // namespace

int NetcdfFile::dimension(const std::string &name, std::size_t length) {
    dimensions_.push_back({name, length});
    return static_cast<int>(dimensions_.size()) - 1;
}

int NetcdfFile::variable(const std::string &name, NetcdfType type, const std::vector<int> &dimensions) {
    variables_.push_back({name, type, dimensions, {}, 0, 0});
    return static_cast<int>(variables_.size()) - 1;
}

void NetcdfFile::add(int variable, Attribute attribute) {
    auto &all = variable == global ? attributes_ : variables_.at(static_cast<std::size_t>(variable)).attributes;
    all.push_back(std::move(attribute));
}

void NetcdfFile::attribute(int variable, const std::string &name, const std::string &value) {
    add(variable, {name, NetcdfType::text, value.size(), value});
}

void NetcdfFile::attribute(int variable, const std::string &name, double value) {
    add(variable, {name, NetcdfType::real64, 1, big_endian(value)});
}

void NetcdfFile::attribute(int variable, const std::string &name, std::int64_t value) {
    add(variable, {name, NetcdfType::int64, 1, big_endian(value)});
}

void NetcdfFile::attribute(int variable, const std::string &name, std::uint64_t value) {
    attribute(variable, name, fmt::format("{}", value));
}

void NetcdfFile::attribute(int variable, const std::string &name, const std::vector<signed char> &values) {
    add(variable, {name, NetcdfType::byte, values.size(), std::string(values.begin(), values.end())});
}

bool NetcdfFile::is_record(const Variable &variable) const {
    return !variable.dimensions.empty() &&
           dimensions_.at(static_cast<std::size_t>(variable.dimensions[0])).length == unlimited;
}

std::string NetcdfFile::header() const {
    const auto encode_attributes = [](const std::vector<Attribute> &attributes) {
        return list_of(List::attributes, attributes, [](const Attribute &attribute) {
            return encoded_name(attribute.name) + big_endian(static_cast<std::uint32_t>(attribute.type)) +
                   encoded_size(attribute.count) + with_padding(attribute.values);
        });
    };
    std::string bytes = "CDF\x05" + encoded_size(records_);
    bytes += list_of(List::dimensions, dimensions_, [](const Dimension &dimension) {
        return encoded_name(dimension.name) + encoded_size(dimension.length);
    });
    bytes += encode_attributes(attributes_);
    bytes += list_of(List::variables, variables_, [&](const Variable &variable) {
        const auto encode_id = [](int dimension) { return encoded_size(static_cast<std::uint64_t>(dimension)); };
        return encoded_name(variable.name) + encoded_size(variable.dimensions.size()) +
               concatenated(variable.dimensions, encode_id) + encode_attributes(variable.attributes) +
               big_endian(static_cast<std::uint32_t>(variable.type)) + encoded_size(variable.size) +
               encoded_size(variable.begin);
    });
    return bytes;
}

void NetcdfFile::set_positions(std::uint64_t begin) {
    room_ = begin;
    for (const bool record : {false, true}) { // fixed variables come before records
        records_begin_ = begin;
        for (Variable &variable : variables_) {
            if (is_record(variable) == record) {
                variable.begin = begin;
                begin += variable.size;
            }
        }
    }
}

void NetcdfFile::end_definitions() {
    for (Variable &variable : variables_) {
        const std::string fill = fill_value(variable.type);
        variable.size = fill.size();
        for (std::size_t i = is_record(variable) ? 1 : 0; i < variable.dimensions.size(); ++i) {
            variable.size *= dimensions_.at(static_cast<std::size_t>(variable.dimensions[i])).length;
        }
        variable.size = padded(variable.size);
        if (is_record(variable)) {
            empty_record_ += repeated(fill, variable.size);
        }
    }
    set_positions(padded(header().size() + header_room));
    write_at(0, header());
    for (const Variable &variable : variables_) {
        if (!is_record(variable)) {
            write_at(variable.begin, repeated(fill_value(variable.type), variable.size));
        }
    }
}

void NetcdfFile::define_late(const std::function<void()> &define) {
    define();
    make_room();
    write_at(0, header());
}

// Begins at the end of the file, so that no data is overwritten before it has been moved.
void NetcdfFile::make_room() {
    const std::uint64_t size = padded(header().size());
    if (size <= room_) {
        return;
    }
    std::uint64_t end = records_begin_ + records_ * empty_record_.size();
    std::string chunk;
    while (end > room_) {
        chunk.resize(std::min<std::uint64_t>(end - room_, 1U << 20U));
        end -= chunk.size();
        const ssize_t count = pread(output_.descriptor(), chunk.data(), chunk.size(), static_cast<off_t>(end));
        output_.check(count < 0 ? errno : static_cast<std::size_t>(count) < chunk.size() ? EIO : 0);
        write_at(end + size - room_, chunk);
    }
    set_positions(size);
}

template <typename Number>
void NetcdfFile::write_numbers(int variable, const std::vector<std::size_t> &start,
                               const std::vector<std::size_t> &count, std::span<const Number> values) {
    const Variable &to = variables_.at(static_cast<std::size_t>(variable));
    std::string bytes;
    for (const Number value : values) {
        bytes += encoded(to.type, value);
    }
    if (is_record(to)) {
        // In each record the block begins at the variable's first element; a text may end before the last one.
        const std::size_t row = bytes.size() / std::max<std::size_t>(count[0], 1); // bytes in a record
        for (std::size_t i = 0; i < count[0]; ++i) {
            const std::size_t begin = (start[0] + i - records_) * empty_record_.size();
            while (pending_.size() < begin + empty_record_.size()) {
                pending_ += empty_record_;
            }
            pending_.replace(begin + (to.begin - records_begin_), row, bytes, i * row, row);
        }
        return;
    }
    // The block is contiguous in the file: rows of the first dimension, or a range within a row.
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < start.size(); ++i) {
        offset = offset * dimensions_.at(static_cast<std::size_t>(to.dimensions[i])).length + start[i];
    }
    write_at(to.begin + offset * fill_value(to.type).size(), bytes);
}

void NetcdfFile::write(int variable, const std::vector<std::size_t> &start, const std::vector<std::size_t> &count,
                       std::span<const double> values) {
    write_numbers(variable, start, count, values);
}

void NetcdfFile::write(int variable, const std::vector<std::size_t> &start, const std::vector<std::size_t> &count,
                       std::span<const std::int64_t> values) {
    write_numbers(variable, start, count, values);
}

void NetcdfFile::write(int variable, const std::vector<std::size_t> &start, const std::vector<std::size_t> &count,
                       std::span<const signed char> values) {
    write_numbers(variable, start, count, values);
}

void NetcdfFile::write_text(int variable, std::size_t row, std::string_view text) {
    write_numbers(variable, {row, 0}, {1, text.size()}, std::span<const char>(text));
}

void NetcdfFile::write_at(std::uint64_t offset, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = pwrite(output_.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
        output_.check(count < 0 && errno != EINTR ? errno : 0);
        const auto written = static_cast<std::size_t>(std::max<ssize_t>(count, 0));
        bytes.remove_prefix(written);
        offset += written;
    }
}

void NetcdfFile::sync() {
    if (pending_.empty()) {
        return;
    }
    write_at(records_begin_ + records_ * empty_record_.size(), pending_);
    records_ += pending_.size() / empty_record_.size();
    pending_.clear();
    write_at(records_offset, encoded_size(records_)); // last: after a crash, all counted records are complete
}

void NetcdfFile::close() {
    sync();
    seal_file(output_);
    output_.finish();
}

} // namespace bench
