#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace bench {

/// Message sizes in bytes from text such as "8:64K" (the powers of two from 8 to 65536), "8,100,1M" or both mixed, in
/// the order given. K, M and G are factors of 1024. Throws Error::usage on anything else, on 0 and on a size given
/// twice.
std::vector<std::uint64_t> parse_sizes(std::string_view text);

} // namespace bench
