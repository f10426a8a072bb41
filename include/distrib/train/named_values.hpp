// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/tensor/runtime_values.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The values of a job's variables at one moment, found by name. Costs nothing until the first variable is read.
///
/// Threads: one at a time. Lifetime: the arguments of the constructor must outlive it; hooks get one that is valid
/// during the call.
class NamedValues {
 public:
  /// Values in the blocks of all shards, in the format of the wire, one block per shard. `variables`: those of the job.
  NamedValues(const RuntimeVariables& variables, std::span<const ShardLayout> layouts,
              std::span<const SharedBuffer> blocks) noexcept
      : variables_{&variables}, layouts_{layouts}, blocks_{blocks} {}
  /// Values that are whole variables already.
  explicit NamedValues(const RuntimeValues& values) noexcept : variables_{&values.variables()}, whole_{&values} {}
  NamedValues(const NamedValues&) = delete;
  auto operator=(const NamedValues&) -> NamedValues& = delete;

  /// Returns the names of the variables, in the job's order. Tables are not among them.
  [[nodiscard]] DISTRIB_DECL auto names() const -> std::vector<std::string>;

  /// Returns all elements of the variable `name`, row-major, as numbers of one type; of counters too. Throws
  /// `variables_errc::unknown_name`, with the names that are most alike, or `variables_errc::no_variable` for a table.
  [[nodiscard]] DISTRIB_DECL auto read(std::string_view name) const -> std::vector<double>;

 private:
  const RuntimeVariables* variables_;
  std::span<const ShardLayout> layouts_;
  std::span<const SharedBuffer> blocks_;
  const RuntimeValues* whole_ = nullptr;
  mutable std::optional<RuntimeValues> assembled_;  // what `whole_` is, made of the blocks by the first `read`
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/named_values.ipp>
#endif
