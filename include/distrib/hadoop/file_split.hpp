// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/hadoop/writable.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// A byte range of a file: the input of one map. Corresponds to `org.apache.hadoop.mapred.FileSplit`.
struct FileSplit {
  std::string path;  ///< With its scheme: "hdfs://namenode:8020/in/a", "file:/in/a". Not percent-encoded.
  std::uint64_t start = 0;  ///< Offset of the first byte.
  std::uint64_t length = 0;  ///< Number of bytes.

  auto operator==(const FileSplit&) const -> bool = default;

  /// Returns the split as Hadoop serialises it.
  [[nodiscard]] DISTRIB_DECL auto encode() const -> Bytes;

  /// Parses a serialised split.
  ///
  /// Errors: `hadoop_errc::bad_split` if the bytes are not exactly one split, its path is empty, or its start or length
  /// is 2^63 or more; the result is then empty.
  [[nodiscard]] DISTRIB_DECL static auto parse(ByteView bytes, ErrorRef to) -> FileSplit;

  /// This overload throws the error as `std::system_error`.
  [[nodiscard]] static auto parse(ByteView bytes) -> FileSplit {
    Error error;
    return distrib::detail::or_throw(parse(bytes, error), error);
  }
};

namespace detail {

/// Returns the path of a local file: for "file:/a/b", "file:///a/b" and "/a/b" this is "/a/b".
///
/// Errors: `hadoop_errc::unsupported_path` for everything else; the result is then empty.
[[nodiscard]] DISTRIB_DECL auto local_path(std::string_view uri, ErrorRef to) -> std::string;

/// This overload throws the error as `std::system_error`.
[[nodiscard]] inline auto local_path(std::string_view uri) -> std::string {
  Error error;
  return distrib::detail::or_throw(local_path(uri, error), error);
}

}  // namespace detail

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/hadoop/impl/file_split.ipp>
#endif
