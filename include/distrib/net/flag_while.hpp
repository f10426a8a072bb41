// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace distrib {
inline namespace v0 {
namespace detail {

/// Sets a flag to true until the end of its scope, also if an exception is thrown.
class FlagWhile {
 public:
  explicit FlagWhile(bool& flag) noexcept : flag_{flag} { flag_ = true; }
  FlagWhile(const FlagWhile&) = delete;
  auto operator=(const FlagWhile&) -> FlagWhile& = delete;
  ~FlagWhile() { flag_ = false; }

 private:
  bool& flag_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
