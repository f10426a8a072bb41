// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/libtorch/error.hpp>
#include <distrib/libtorch/torch.hpp>

#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The tensors that refer to memory of a batch, or to rows of tables, made on this thread while this object exists. A
/// batch is filled again, and may be read twice for one contribution, so a task must neither keep such a tensor nor
/// change it.
///
/// Threads: one. Scopes may be nested: a tensor belongs to the innermost one.
class LentColumns {
 public:
  LentColumns() : outer_{std::exchange(current(), this)} {}
  LentColumns(const LentColumns&) = delete;
  auto operator=(const LentColumns&) -> LentColumns& = delete;
  ~LentColumns() { current() = outer_; }

  /// Adds a tensor to the innermost scope of this thread, if there is one.
  static void add(const torch::Tensor& tensor) {
    if (current() != nullptr) current()->tensors_.push_back(tensor);
  }

  /// Throws `libtorch_errc::changed_column` if a tensor was changed in place, and `libtorch_errc::kept_column` if there
  /// is still a handle of it, or a view. `who`: the function that used them.
  void check(const char* who) const {
    for (const torch::Tensor& tensor : tensors_) {
      if (tensor._version() != 0) throw_error(libtorch_errc::changed_column, who);
      if (tensor.use_count() != 1 || tensor.storage().use_count() != 1) throw_error(libtorch_errc::kept_column, who);
    }
  }

 private:
  static auto current() noexcept -> LentColumns*& {
    thread_local LentColumns* innermost = nullptr;
    return innermost;
  }

  LentColumns* outer_;
  std::vector<torch::Tensor> tensors_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
