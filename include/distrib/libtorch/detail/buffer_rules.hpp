// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/libtorch/error.hpp>
#include <distrib/libtorch/module_tensors.hpp>
#include <distrib/libtorch/torch.hpp>
#include <distrib/libtorch/torch_options.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Finds the rule of each buffer of a module: see `TorchOptions::buffers`.
class BufferRules {
 public:
  using Rules = std::vector<std::pair<std::string, TorchBuffer>>;

  /// Throws `libtorch_errc::bad_buffer` if a name in `rules` fits none of the buffers. `rules` must outlive the object.
  BufferRules(const Rules& rules, const std::vector<ModuleTensor>& buffers) : rules_{rules} {
    for (const auto& [name, rule] : rules) {
      bool is_used = false;
      std::string names;
      for (const ModuleTensor& buffer : buffers) {
        is_used = is_used || buffer.name.starts_with(name);
        names += (names.empty() ? "" : ", ") + buffer.name;
      }
      if (!is_used || name.empty())
        throw_error(libtorch_errc::bad_buffer, "'" + name + "'; the module has the buffers " + names);
    }
  }

  /// Returns the rule. Throws `libtorch_errc::bad_buffer` if the type of the buffer does not fit the rule, or if a
  /// buffer that is followed is not row-major.
  [[nodiscard]] auto of(const ModuleTensor& buffer) const -> TorchBuffer {
    TorchBuffer rule = usual(buffer);
    std::size_t longest = 0;
    for (const auto& [name, other] : rules_) {
      if (!buffer.name.starts_with(name) || name.size() < longest) continue;
      longest = name.size();
      rule = other;
    }
    if (rule == TorchBuffer::constant) return rule;
    const torch::ScalarType needed = rule == TorchBuffer::average ? torch::kFloat32 : torch::kInt64;
    if (buffer.tensor.scalar_type() != needed || !buffer.tensor.is_contiguous())
      throw_error(libtorch_errc::bad_buffer, "buffer '" + buffer.name + "' is " +
                                                 c10::toString(buffer.tensor.scalar_type()) +
                                                 (buffer.tensor.is_contiguous() ? "" : ", not row-major"));
    return rule;
  }

 private:
  // Returns the rule where the user has given none.
  static auto usual(const ModuleTensor& buffer) -> TorchBuffer {
    const std::string_view name = buffer.name;
    const std::string_view last = name.substr(name.rfind('.') + 1);  // npos + 1 is 0
    const torch::ScalarType type = buffer.tensor.scalar_type();
    if (type == torch::kFloat32 && (last == "running_mean" || last == "running_var")) return TorchBuffer::average;
    if (type == torch::kInt64 && last == "num_batches_tracked") return TorchBuffer::count;
    return TorchBuffer::constant;
  }

  const Rules& rules_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
