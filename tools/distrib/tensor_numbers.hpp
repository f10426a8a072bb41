// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/half.hpp>

#include <cstddef>
#include <cstdint>

namespace tools {

/// Calls `f(number)` for each element of a tensor's bytes, in order: a float (also for the 16-bit types), a double or
/// an integer (a boolean is 0 or 1). Calls nothing for strings and for types that are not read.
template <class F> void for_each_number(distrib::DType dtype, distrib::ByteView bytes, F f) {
  using distrib::DType;
  const auto all = [&]<class T>(T, auto value_of) {
    for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T))
      f(value_of(distrib::load_le<T>(bytes.data() + at)));
  };
  const auto same = [](auto value) { return value; };
  switch (dtype) {
    case DType::float32: return all(float{}, same);
    case DType::float64: return all(double{}, same);
    case DType::float16: return all(std::uint16_t{}, [](auto half) { return distrib::detail::from_float16(half); });
    case DType::bfloat16: return all(std::uint16_t{}, [](auto half) { return distrib::detail::from_bfloat16(half); });
    case DType::int8: return all(std::int8_t{}, [](std::int8_t value) { return int{value}; });
    case DType::uint8: return all(std::uint8_t{}, [](std::uint8_t value) { return int{value}; });
    case DType::boolean: return all(std::uint8_t{}, [](std::uint8_t value) { return int{value}; });
    case DType::int16: return all(std::int16_t{}, same);
    case DType::uint16: return all(std::uint16_t{}, same);
    case DType::int32: return all(std::int32_t{}, same);
    case DType::uint32: return all(std::uint32_t{}, same);
    case DType::int64: return all(std::int64_t{}, same);
    case DType::uint64: return all(std::uint64_t{}, same);
    case DType::string: break;
  }
}

}  // namespace tools
