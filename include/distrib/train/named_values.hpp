// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>
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
  /// Values in the blocks of all shards, in the format of the wire, one block per shard.
  NamedValues(const Job& job, std::span<const ShardLayout> layouts, std::span<const SharedBuffer> blocks) noexcept
      : job_{&job}, layouts_{layouts}, blocks_{blocks} {}
  /// Values that are whole variables already.
  NamedValues(const Job& job, const RuntimeValues& values) noexcept : job_{&job}, whole_{&values} {}
  NamedValues(const NamedValues&) = delete;
  auto operator=(const NamedValues&) -> NamedValues& = delete;

  /// Returns the names of the variables, in the job's order. Tables are not among them.
  [[nodiscard]] DISTRIB_DECL auto names() const -> std::vector<std::string>;

  /// Returns all elements of the variable `name`, row-major; of counters too. Throws `train_errc::no_such_variable`, with
  /// the names that there are, if no variable has this name.
  [[nodiscard]] DISTRIB_DECL auto read(std::string_view name) const -> std::vector<double>;

 private:
  const Job* job_;
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
