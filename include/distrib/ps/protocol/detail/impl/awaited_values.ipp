// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/detail/awaited_values.hpp>

#include <distrib/ps/job/error.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto AwaitedValues::take(const Contribution& given, ShardStore& store) -> std::error_code {
  if (!missing_ && checksum_.value_or(given.checksum) != given.checksum) return ps_errc::not_repeatable;
  if (!missing_) return {};
  if (given.block == nullptr || given.block->size() != store.layout().block_bytes()) return ps_errc::wrong_size;
  if (sha256(given.block->bytes()) != *sha256_) return ps_errc::bad_initial_values;
  store.begin(given.block);
  checksum_ = given.checksum;
  missing_ = false;
  return {};
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
