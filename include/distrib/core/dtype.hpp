// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// Element type of a tensor. Its values equal TensorFlow's `DataType` (types.proto), because files contain them.
enum class DType : std::uint8_t {
  float32 = 1,
  float64 = 2,
  int32 = 3,
  uint8 = 4,
  int16 = 5,
  int8 = 6,
  string = 7,
  int64 = 9,
  boolean = 10,
  bfloat16 = 14,
  uint16 = 17,
  float16 = 19,
  uint32 = 22,
  uint64 = 23,
};

/// Returns the size of one element in bytes; 0 for `string` and for values that are no DType.
[[nodiscard]] constexpr auto size_bytes(DType dtype) noexcept -> std::size_t {
  switch (dtype) {
    case DType::uint8:
    case DType::int8:
    case DType::boolean: return 1;
    case DType::int16:
    case DType::uint16:
    case DType::bfloat16:
    case DType::float16: return 2;
    case DType::float32:
    case DType::int32:
    case DType::uint32: return 4;
    case DType::float64:
    case DType::int64:
    case DType::uint64: return 8;
    case DType::string: break;
  }
  return 0;
}

/// Returns TensorFlow's name of the type ("float32"); "unknown" for values that are no DType.
[[nodiscard]] constexpr auto name(DType dtype) noexcept -> std::string_view {
  switch (dtype) {
    case DType::float32: return "float32";
    case DType::float64: return "float64";
    case DType::int32: return "int32";
    case DType::uint8: return "uint8";
    case DType::int16: return "int16";
    case DType::int8: return "int8";
    case DType::string: return "string";
    case DType::int64: return "int64";
    case DType::boolean: return "bool";
    case DType::bfloat16: return "bfloat16";
    case DType::uint16: return "uint16";
    case DType::float16: return "float16";
    case DType::uint32: return "uint32";
    case DType::uint64: return "uint64";
  }
  return "unknown";
}

namespace detail {
template <class T> struct DTypeOf;
template <> struct DTypeOf<float> {
  static constexpr DType value = DType::float32;
};
template <> struct DTypeOf<double> {
  static constexpr DType value = DType::float64;
};
template <> struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::int8;
};
template <> struct DTypeOf<std::int16_t> {
  static constexpr DType value = DType::int16;
};
template <> struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::int32;
};
template <> struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::int64;
};
template <> struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::uint8;
};
template <> struct DTypeOf<std::uint16_t> {
  static constexpr DType value = DType::uint16;
};
template <> struct DTypeOf<std::uint32_t> {
  static constexpr DType value = DType::uint32;
};
template <> struct DTypeOf<std::uint64_t> {
  static constexpr DType value = DType::uint64;
};
template <> struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};

/// The DType of the C++ element type `T`: `dtype_of<float> == DType::float32`.
template <class T> inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace detail

}  // namespace v0
}  // namespace distrib
