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

/// Whether a shard waits for contribution 0, the custom initial values of its job. It does whenever it starts at step
/// 0, because no file has them. Never waits in a job without custom values. A value.
class AwaitedValues {
 public:
  AwaitedValues(const Job& job, std::uint32_t shard) {
    if (!job.initial_blocks.empty()) sha256_ = job.initial_blocks[shard];
    begin_at(0);
  }

  /// True if the shard has no values until contribution 0 arrives: it counts nothing and answers no pull.
  [[nodiscard]] auto missing() const noexcept -> bool { return missing_; }

  /// The shard continues from step k. k > 0: it has the values of a cut. k = 0: it has the values of the initializers,
  /// or, in a job with custom values, waits for contribution 0.
  void begin_at(Step k) noexcept { missing_ = k == 0 && sha256_.has_value(); }
  /// The shard is loading a cut: a contribution 0 that arrives now is too early.
  void forget() noexcept { missing_ = false; }

  /// A contribution 0 has arrived. If the shard waits for it, checks it and passes its values to `store`; otherwise it
  /// is a repeat, and is dropped. Returns no error for values that were passed on and for a repeat; `not_repeatable`
  /// for a repeat with another checksum than the contribution 0 that counted; `ps_errc::wrong_size` or
  /// `bad_initial_values` for wrong values, and the shard still waits.
  DISTRIB_DECL auto take(const Contribution& given, ShardStore& store) -> std::error_code;

 private:
  std::optional<Sha256Digest> sha256_;  // SHA-256 of contribution 0; empty: there are no custom values
  std::optional<std::uint32_t> checksum_;  // of the contribution 0 that counted; empty: none has arrived
  bool missing_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/detail/impl/awaited_values.ipp>
#endif
