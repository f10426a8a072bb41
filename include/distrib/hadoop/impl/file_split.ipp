// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/hadoop/file_split.hpp>

#include <distrib/core/paths.hpp>
#include <distrib/hadoop/error.hpp>

namespace distrib {
inline namespace v0 {
namespace hadoop {

DISTRIB_DECL auto FileSplit::encode() const -> Bytes {
  Bytes bytes;
  detail::append_bytes(bytes, as_bytes(path));
  detail::append_big_endian(bytes, start);
  detail::append_big_endian(bytes, length);
  return bytes;
}

DISTRIB_DECL auto FileSplit::parse(ByteView bytes, ErrorRef to) -> FileSplit {
  distrib::detail::ErrorOut error{to};
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

namespace detail {

DISTRIB_DECL auto local_path(std::string_view uri, ErrorRef to) -> std::string {
  distrib::detail::ErrorOut error{to};
  constexpr std::string_view scheme = "file:";
  if (uri.starts_with('/')) return std::string{uri};
  if (uri.starts_with(scheme)) {
    std::string_view path = uri.substr(scheme.size());
    if (path.starts_with("//")) path.remove_prefix(2);
    if (path.starts_with('/')) return std::string{path};
  }
  error = {hadoop_errc::unsupported_path, distrib::detail::shown_name(uri).substr(0, 200)};
  return {};
}

}  // namespace detail

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
