// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/check_numerics.hpp>

#include <distrib/core/dtype.hpp>
#include <distrib/ps/job/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto all_finite(std::span<const float> elements) noexcept -> bool {
  using Words = std::uint32_t __attribute__((vector_size(16)));
  constexpr std::size_t width = sizeof(Words) / sizeof(float);
  Words found{};  // its highest bit is set as soon as some element's exponent is all ones
  const auto look = [&](std::size_t at, std::size_t count) {
    Words words{};
    std::memcpy(&words, elements.data() + at, count * sizeof(float));
    found |= (words & 0x7fffffffU) + 0x00800000U;
  };
  std::size_t at = 0;
  for (; elements.size() - at >= width; at += width) look(at, width);
  if (at < elements.size()) look(at, elements.size() - at);
  return ((found[0] | found[1] | found[2] | found[3]) >> 31) == 0;
}

DISTRIB_DECL auto all_finite(std::span<const double> elements) noexcept -> bool {
  constexpr std::uint64_t exponent = 0x7ff0000000000000U;
  const ByteView bytes = std::as_bytes(elements);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(double))
    if ((load_le<std::uint64_t>(bytes.data() + at) & exponent) == exponent) return false;
  return true;
}

DISTRIB_DECL auto check_numerics(const ShardLayout& layout, const AlignedBuffer& block, const TableGradients& tables)
    -> Error {
  const auto finite = []<class T>(const ShardLayout::Entry& entry, std::span<const T> dense) {
    return all_finite(dense.subspan(entry.offset_bytes / sizeof(T), entry.size_bytes / sizeof(T)));
  };
  for (const ShardLayout::Entry& entry : layout.entries())
    if ((entry.dtype == DType::float32 && !finite(entry, block.as<float>())) ||
        (entry.dtype == DType::float64 && !finite(entry, block.as<double>())))
      return {ps_errc::not_finite, entry.name};
  for (std::size_t table = 0; table < layout.tables().size(); ++table)
    if (!all_finite(tables.rows(table))) return {ps_errc::not_finite, layout.tables()[table].info().name};
  return {};
}

}  // namespace v0
}  // namespace distrib
