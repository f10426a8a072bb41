// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/pull_rows.hpp>

#include <distrib/ps/job/error.hpp>

#include <string>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto read_pull_rows(const ShardLayout& layout, const SharedBuffer& body, std::uint64_t max_bytes,
                                 PullRows& rows) -> Error {
  rows = {};
  if (body == nullptr) return {};
  const ByteView bytes = body->bytes();
  rows.keys.resize(layout.tables().size());
  if (bytes.empty() || bytes.back() > std::byte{1} || !read_key_lists(bytes.first(bytes.size() - 1), rows.keys))
    return {ps_errc::unsorted_keys, "the keys of a pull"};
  rows.digests = bytes.back() == std::byte{1};
  const std::size_t size = answer_bytes(layout, rows);
  if (size <= max_bytes) return {};
  return {ps_errc::pull_too_large, std::to_string(size) + " bytes, allowed are " + std::to_string(max_bytes)};
}

}  // namespace v0
}  // namespace distrib
