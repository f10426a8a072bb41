// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/table_digest.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/sha256.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void TableDigest::add(std::uint64_t key, std::span<const float> weights) noexcept {
  Sha256 hash;
  hash.update(detail::bytes_of(key));
  hash.update(std::as_bytes(weights));
  const Sha256Digest digest = hash.finish();
  TableDigest row;
  for (std::size_t i = 0; i < words.size(); ++i) row.words[i] = load_le<std::uint64_t>(digest.data() + 8 * i);
  add(row);
}

}  // namespace v0
}  // namespace distrib
