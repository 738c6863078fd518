// The templates that fmt 9's headers declare and do not define, and its functions, which format-inl.h has. As a library
// of headers alone, fmt would be compiled in every file that uses it, which takes longer than the rest of most files.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template auto locale_ref::get<std::locale>() const -> std::locale;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
} // namespace detail
FMT_END_NAMESPACE
