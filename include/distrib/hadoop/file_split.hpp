// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/hadoop/error.hpp>
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
  [[nodiscard]] auto encode() const -> Bytes {
    Bytes bytes;
    append_bytes(bytes, as_bytes(path));
    append_big_endian(bytes, start);
    append_big_endian(bytes, length);
    return bytes;
  }

  /// Takes a split apart. Fails with `hadoop_errc::bad_split` when the bytes are not exactly that, or the range is
  /// none.
  [[nodiscard]] static auto parse(ByteView bytes, Error& error) -> FileSplit {
    WritableReader reader{bytes};
    FileSplit split;
    split.path = reader.text(bytes.size());
    split.start = reader.big_endian<std::uint64_t>();
    split.length = reader.big_endian<std::uint64_t>();
    constexpr std::uint64_t longest = (std::uint64_t{1} << 63) - 1;
    const bool is_range = split.start <= longest && split.length <= longest;
    if (!reader.error() && reader.used() == bytes.size() && !split.path.empty() && is_range) return split;
    error = {hadoop_errc::bad_split, "a split of " + std::to_string(bytes.size()) + " bytes"};
    return {};
  }

  /// The same; throws `std::system_error`.
  [[nodiscard]] static auto parse(ByteView bytes) -> FileSplit {
    Error error;
    return distrib::detail::or_throw(parse(bytes, error), error);
  }
};

/// The name that a file of this machine has for the system: of "file:/a/b", "file:///a/b" and "/a/b" it is "/a/b".
/// Fails with `hadoop_errc::unsupported_path` for every other scheme.
[[nodiscard]] inline auto local_path(std::string_view uri, Error& error) -> std::string {
  constexpr std::string_view scheme = "file:";
  if (uri.starts_with('/')) return std::string{uri};
  if (uri.starts_with(scheme)) {
    std::string_view path = uri.substr(scheme.size());
    if (path.starts_with("//")) path.remove_prefix(2);
    if (path.starts_with('/')) return std::string{path};
  }
  error = {hadoop_errc::unsupported_path, std::string{uri.substr(0, 200)}};
  return {};
}

/// The same; throws `std::system_error`.
[[nodiscard]] inline auto local_path(std::string_view uri) -> std::string {
  Error error;
  return distrib::detail::or_throw(local_path(uri, error), error);
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
