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

/// A byte range of a file: what a map is given to read. `org.apache.hadoop.mapred.FileSplit` as it is serialised.
struct FileSplit {
  std::string path;          ///< With its scheme: "hdfs://namenode:8020/in/a", "file:/in/a". Not escaped.
  std::uint64_t start = 0;   ///< The first byte.
  std::uint64_t length = 0;  ///< How many.

  auto operator==(const FileSplit&) const -> bool = default;

  /// What Hadoop would send.
  [[nodiscard]] DISTRIB_DECL auto encode() const -> Bytes;

  /// Takes a split apart. Fails with `hadoop_errc::bad_split` when the bytes are not exactly that, or the range is
  /// none.
  [[nodiscard]] DISTRIB_DECL static auto parse(ByteView bytes, ErrorRef to) -> FileSplit;

  /// The same; throws `std::system_error`.
  [[nodiscard]] static auto parse(ByteView bytes) -> FileSplit {
    Error error;
    return distrib::detail::or_throw(parse(bytes, error), error);
  }
};

namespace detail {

/// The name that a file of this machine has for the system: of "file:/a/b", "file:///a/b" and "/a/b" it is "/a/b".
/// Fails with `hadoop_errc::unsupported_path` for every other scheme.
[[nodiscard]] DISTRIB_DECL auto local_path(std::string_view uri, ErrorRef to) -> std::string;

/// The same; throws `std::system_error`.
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
