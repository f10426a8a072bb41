// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace distrib::inline v0::detail {

/// A flag that is up while this lives, also when something is thrown.
class FlagWhile {
 public:
  explicit FlagWhile(bool& flag) noexcept : flag_{flag} { flag_ = true; }
  FlagWhile(const FlagWhile&) = delete;
  auto operator=(const FlagWhile&) -> FlagWhile& = delete;
  ~FlagWhile() { flag_ = false; }

 private:
  bool& flag_;
};

}  // namespace distrib::inline v0::detail
