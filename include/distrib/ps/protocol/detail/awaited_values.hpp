// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/store/shard_store.hpp>

#include <cstdint>
#include <optional>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// How a shard waits for contribution 0, the custom initial values of its job: whenever it begins at step 0, because no
/// file has them. Of jobs without custom values it never does. A value.
class AwaitedValues {
 public:
  AwaitedValues(const Job& job, std::uint32_t shard) {
    if (!job.initial_blocks.empty()) sha256_ = job.initial_blocks[shard];
    begin_at(0);
  }

  /// Whether the shard has no values until that comes: it counts nothing and answers no pull.
  [[nodiscard]] auto missing() const noexcept -> bool { return missing_; }

  /// The shard goes on from step k, with what a cut says or, of step 0, the initializers.
  void begin_at(Step k) noexcept { missing_ = k == 0 && sha256_.has_value(); }
  /// It is on its way to a cut: whatever comes now is too early.
  void forget() noexcept { missing_ = false; }

  /// A contribution 0 has come: what is wrong with it, `ps_errc::wrong_size` or `bad_initial_values`. The first one
  /// gives the store its values; later ones are repeats, of which only `not_repeatable` is told.
  DISTRIB_DECL auto take(const Contribution& given, ShardStore& store) -> std::error_code;

 private:
  std::optional<Sha256Digest> sha256_;  // that it must have; empty: there are no custom values
  std::optional<std::uint32_t> checksum_;  // of the one that counted
  bool missing_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/detail/impl/awaited_values.ipp>
#endif
