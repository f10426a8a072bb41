// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/stored_tensor.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {

// Names and numbers of the types that are no DType: tensorflow/core/framework/types.proto.
DISTRIB_DECL auto StoredTensor::type_name() const -> std::string {
  if (is_readable()) return std::string{distrib::name(dtype)};
  if (!other_type.empty()) return other_type;
  switch (const auto number = static_cast<unsigned>(dtype)) {
    case 8: return "complex64";
    case 11: return "qint8";
    case 12: return "quint8";
    case 13: return "qint32";
    case 15: return "qint16";
    case 16: return "quint16";
    case 18: return "complex128";
    case 20: return "resource";
    case 21: return "variant";
    case 24: return "float8_e5m2";
    case 25: return "float8_e4m3fn";
    case 29: return "int4";
    case 30: return "uint4";
    default: return "type " + std::to_string(number);
  }
}

namespace detail {

DISTRIB_DECL auto sort_by_name(std::vector<StoredTensor>& tensors) -> const StoredTensor* {
  std::sort(tensors.begin(), tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(tensors.begin(), tensors.end(),
                                        [](const StoredTensor& a, const StoredTensor& b) { return a.name == b.name; });
  return twice == tensors.end() ? nullptr : &*twice;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
