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

/// Chooses a task by the variable's name alone, so the order in which variables are created does not matter: the MD5 of
/// "NAME_SEED", read as one big-endian number, modulo the number of tasks, or modulo the sum of the weights if there
/// are weights (TensorFlow's contrib device_setter.py). A value.
struct RandomStrategy {
  std::int64_t seed = 0;  ///< Another seed gives another placement.
  /// How often each task is chosen, one weight per task. Empty: all equally often.
  std::vector<std::uint32_t> weights{};

  /// Returns the MD5 that decides the task for `name`.
  [[nodiscard]] auto digest(std::string_view name) const -> Md5Digest {
    return md5(as_bytes(std::string{name} + '_' + std::to_string(seed)));
  }

  /// Returns the task for a variable. With weights the modulus is their sum, and each task has as many of the
  /// remainders as its weight. Throws `std::system_error` with `placement_errc::wrong_number_of_weights` if there are
  /// weights, but not one for each of `num_tasks` tasks, or with `zero_weight` if a weight is 0.
  [[nodiscard]] DISTRIB_DECL auto place(const PlacementRequest& request, std::uint32_t num_tasks) const
      -> std::uint32_t;

  [[nodiscard]] auto operator==(const RandomStrategy&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/placement/impl/random.ipp>
#endif
