// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/md5.hpp>
#include <distrib/placement/strategy.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A task by the variable's name alone, whatever the order in which variables are made: the MD5 of "NAME_SEED", read as
/// one big-endian number, modulo the number of tasks (TensorFlow's contrib device_setter.py). A value.
struct RandomStrategy {
  std::int64_t seed = 0;  ///< Another seed is another placement.
  std::vector<std::uint32_t> weights{};  ///< One for each task: how often it is chosen; none: all as often.

  /// The MD5 that decides about `name`.
  [[nodiscard]] auto digest(std::string_view name) const -> Md5Digest {
    return md5(as_bytes(std::string{name} + '_' + std::to_string(seed)));
  }

  /// With weights the modulus is their sum, and each task answers for as many remainders as its weight says. Throws
  /// `placement_errc::wrong_number_of_weights`, `placement_errc::zero_weight`.
  [[nodiscard]] DISTRIB_DECL auto place(const PlacementRequest& request, std::uint32_t num_tasks) const
      -> std::uint32_t;

  [[nodiscard]] auto operator==(const RandomStrategy&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/placement/impl/random.ipp>
#endif
