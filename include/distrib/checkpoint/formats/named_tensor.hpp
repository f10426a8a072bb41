// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/shape.hpp>

#include <string>

namespace distrib {
inline namespace v0 {

/// A whole tensor to be written into a file of another framework.
struct NamedTensor {
  std::string name;  ///< UTF-8, without zero bytes; each name once in a file.
  DType dtype = DType::float32;  ///< Any but `string`.
  Shape shape;  ///< Shape of the tensor.
  /// Row-major; their number is the number of elements times the size of one. Not copied. Functions that only lay out a
  /// file do not look at the bytes.
  ByteView bytes;
};

}  // namespace v0
}  // namespace distrib
