// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/initializer.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/libtorch/detail/buffer_rules.hpp>
#include <distrib/libtorch/detail/device_copy.hpp>
#include <distrib/libtorch/error.hpp>
#include <distrib/libtorch/module_tensors.hpp>
#include <distrib/libtorch/torch.hpp>
#include <distrib/libtorch/torch_options.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/tensor/runtime_values.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The tensors of one module as variables of a job. `bind` makes the parameters refer to the memory of values, and
/// their gradients to the memory of gradients, so that `backward()` of anything that was computed from them adds to
/// what is
/// sent: nothing is copied. On another device than the CPU values and gradients are copied, in one piece each.
///
/// Variables are first the parameters that are trained, each once, then the buffers that are followed, each in the
/// order of registration. A tensor that is registered twice has its first name. Parameters with `requires_grad` false,
/// and all other buffers, are constants.
///
/// Threads: one at a time. Lifetime: the module must outlive it.
class BoundModule {
 public:
  /// Copies through flat tensors: `always` also on the CPU, so that tests can run that code.
  enum class Copy : std::uint8_t { if_needed, always };

  /// Throws a `libtorch_errc` that names the tensor, if it cannot be trained.
  BoundModule(ModuleTensors tensors, const TorchOptions& options, Copy copy = Copy::if_needed)
      : tensors_{std::move(tensors)}, allow_unused_{options.allow_unused} {
    for (const ModuleTensor& parameter : tensors_.parameters)
      if (is_first(tensors_.parameters, parameter)) add_parameter(parameter);
    if (parameters_.empty()) throw_error(libtorch_errc::no_parameters, "make()");
    const BufferRules rules{options.buffers, tensors_.buffers};
    for (const ModuleTensor& buffer : tensors_.buffers)
      if (is_first(tensors_.buffers, buffer)) add_buffer(buffer, rules.of(buffer));
    if (copy == Copy::always || !options.device.is_cpu()) device_.emplace(parameters_, buffers_, options.device);
  }

  /// Returns the variables, all with a `CustomInitializer` except counters.
  [[nodiscard]] auto variables() const noexcept -> const std::vector<VariableInfo>& { return variables_; }
  /// Returns the number of parameters; the variables behind them are buffers.
  [[nodiscard]] auto parameters() const noexcept -> std::size_t { return parameters_.size(); }
  /// True if variable `index` is a buffer that is averaged over the ranks.
  [[nodiscard]] auto is_averaged(std::size_t index) const noexcept -> bool {
    return index >= parameters() && variables_[index].dtype == DType::float32;
  }

  /// Returns the SHA-256 of the names, types, shapes and bytes of all constants. They must not be on another device.
  [[nodiscard]] auto constants_sha256() const -> Sha256Digest {
    Sha256 hash;
    for (const Constant& constant : constants_) {
      const torch::Tensor tensor = constant.tensor.detach().cpu().contiguous();
      hash.update(as_bytes(constant.name));
      hash.update(as_bytes(std::string_view{c10::toString(tensor.scalar_type())}));
      for (const std::int64_t extent : tensor.sizes()) hash.update(as_bytes(' ' + std::to_string(extent)));
      hash.update({static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()});
    }
    return hash.finish();
  }
  /// Returns the number of constants.
  [[nodiscard]] auto constants() const noexcept -> std::size_t { return constants_.size(); }

  /// Copies the values that parameters and averaged buffers have now. Must be called before the first `bind`.
  void copy_values(VariableBlock& to) const {
    for (std::size_t v = 0; v < variables_.size(); ++v)
      if (variables_[v].dtype == DType::float32) copy_to(tensor(v).detach().cpu(), to.data(v), to.size_bytes(v));
  }

  /// Gives the module these values, for an evaluation. They must outlive its use.
  void bind(const RuntimeValues& values) {
    if (device_) {
      device_->upload(values);
    } else {
      for (std::size_t p = 0; p < parameters_.size(); ++p)
        parameters_[p].set_data(lent(values.data(p), parameters_[p], torch::kFloat32));
      for (std::size_t b = 0; b < buffers_.size(); ++b)
        copy_from(values.data(parameters() + b), values.size_bytes(parameters() + b), buffers_[b]);
    }
    for (std::size_t p = 0; p < parameters_.size(); ++p) versions_[p] = parameters_[p]._version();
  }

  /// Binds the module to the values and to the gradients of a contribution: `backward()` adds what it computes to
  /// `gradients`, which must be zero.
  void bind(const RuntimeValues& values, RuntimeGradients& gradients) {
    bind(values);
    if (device_) device_->zero_gradients();
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      gradients_[p] = device_ ? device_->gradient(p) : lent(gradients.data(p), parameters_[p], torch::kFloat32);
      parameters_[p].mutable_grad() = gradients_[p];
    }
  }

  /// Throws `libtorch_errc::lost_gradient` if something was done to a gradient since `bind`, before the one
  /// `backward()` that counts.
  void check_before_backward() const {
    for (std::size_t p = 0; p < parameters_.size(); ++p)
      if (!is_same_tensor(parameters_[p].grad(), gradients_[p]) || gradients_[p]._version() != 0)
        throw_error(libtorch_errc::lost_gradient, "parameter '" + variables_[p].name + "'");
  }

  /// Throws `libtorch_errc::changed_parameter`, `changed_constant` or `late_tensor` if the use of the module has
  /// changed what must not change. `now`: the tensors that the module has now.
  void check_unchanged(const ModuleTensors& now) {
    for (std::size_t p = 0; p < parameters_.size(); ++p)
      if (parameters_[p]._version() != versions_[p])
        throw_error(libtorch_errc::changed_parameter, "parameter '" + variables_[p].name + "'");
    for (const Constant& constant : constants_)
      if (constant.tensor._version() != constant.version)
        throw_error(libtorch_errc::changed_constant,
                    (constant.is_parameter ? "frozen parameter '" : "buffer '") + constant.name + "'");
    check_same(tensors_.parameters, now.parameters, "parameter '");
    check_same(tensors_.buffers, now.buffers, "buffer '");
  }

  /// Ends a contribution, after `backward()`: checks that each parameter got its gradient, writes the gradients of the
  /// buffers, and takes the module off the memory of `gradients`. `values` and `gradients` must be those of `bind`.
  ///
  /// Errors: throws `libtorch_errc::no_gradient`, which names the parameter.
  void finish(const RuntimeValues& values, RuntimeGradients& gradients, Rank rank) {
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      // Every gradient that arrives is added in place, which counts the version up.
      if (!allow_unused_ && gradients_[p]._version() == 0)
        throw_error(libtorch_errc::no_gradient, "parameter '" + variables_[p].name + "'");
      parameters_[p].mutable_grad().reset();
      gradients_[p].reset();
    }
    if (device_) device_->download(gradients);
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      const std::size_t v = parameters() + b;
      const void* const now = device_ ? device_->buffer(b) : buffers_[b].data_ptr();
      if (variables_[v].dtype == DType::float32) {
        const auto* const before = reinterpret_cast<const float*>(values.data(v));
        auto* const to = reinterpret_cast<float*>(gradients.data(v));
        for (std::size_t i = 0; i < values.size_bytes(v) / sizeof(float); ++i)
          to[i] = before[i] - static_cast<const float*>(now)[i];
      } else if (rank == 0) {
        const auto* const before = reinterpret_cast<const std::int64_t*>(values.data(v));
        auto* const to = reinterpret_cast<std::int64_t*>(gradients.data(v));
        for (std::size_t i = 0; i < values.size_bytes(v) / sizeof(std::int64_t); ++i)
          to[i] = static_cast<const std::int64_t*>(now)[i] - before[i];
      }
    }
  }

 private:
  struct Constant {
    std::string name;
    torch::Tensor tensor;
    std::int64_t version;
    bool is_parameter;
  };

  static auto is_first(const std::vector<ModuleTensor>& tensors, const ModuleTensor& tensor) -> bool {
    for (const ModuleTensor& other : tensors)
      if (is_same_tensor(other.tensor, tensor.tensor)) return &other == &tensor;
    return false;
  }

  void add_parameter(const ModuleTensor& parameter) {
    const torch::Tensor& tensor = parameter.tensor;
    if (!tensor.requires_grad()) return add_constant(parameter, true);
    const auto check = [&](bool holds, libtorch_errc code, const std::string& detail = {}) {
      if (!holds) throw_error(code, "parameter '" + parameter.name + "'" + detail);
    };
    check(tensor.scalar_type() == torch::kFloat32, libtorch_errc::not_float32,
          std::string{" is "} + c10::toString(tensor.scalar_type()));
    check(tensor.is_leaf(), libtorch_errc::not_a_leaf);
    check(tensor.layout() == torch::kStrided && tensor.is_contiguous(), libtorch_errc::not_contiguous);
    check(fits_shape(tensor), libtorch_errc::too_many_axes);
    for (std::size_t other = 0; other < parameters_.size(); ++other)
      check(parameters_[other].storage().unsafeGetStorageImpl() != tensor.storage().unsafeGetStorageImpl(),
            libtorch_errc::shared_storage, " and parameter '" + variables_[other].name + "'");
    variables_.push_back({parameter.name, DType::float32, shape_of(tensor), CustomInitializer{}});
    parameters_.push_back(tensor);
    versions_.push_back(tensor._version());
    gradients_.emplace_back();
  }

  void add_buffer(const ModuleTensor& buffer, TorchBuffer rule) {
    if (rule == TorchBuffer::constant) return add_constant(buffer, false);
    if (!fits_shape(buffer.tensor)) throw_error(libtorch_errc::too_many_axes, "buffer '" + buffer.name + "'");
    if (rule == TorchBuffer::average)
      variables_.push_back({buffer.name, DType::float32, shape_of(buffer.tensor), CustomInitializer{}});
    else variables_.push_back({buffer.name, DType::int64, shape_of(buffer.tensor)});
    buffers_.push_back(buffer.tensor);
  }

  void add_constant(const ModuleTensor& constant, bool is_parameter) {
    constants_.push_back(
        {constant.name, constant.tensor, static_cast<std::int64_t>(constant.tensor._version()), is_parameter});
  }

  static void check_same(const std::vector<ModuleTensor>& before, const std::vector<ModuleTensor>& now,
                         const char* kind) {
    for (std::size_t i = 0; i < now.size(); ++i)
      if (i >= before.size() || !is_same_tensor(before[i].tensor, now[i].tensor))
        throw_error(libtorch_errc::late_tensor, kind + now[i].name + "'");
    if (now.size() < before.size()) throw_error(libtorch_errc::late_tensor, kind + before[now.size()].name + "'");
  }

  static auto fits_shape(const torch::Tensor& tensor) -> bool {
    return Shape::valid({tensor.sizes().data(), tensor.sizes().size()});
  }
  static auto shape_of(const torch::Tensor& tensor) -> Shape {
    return Shape{std::span<const std::int64_t>{tensor.sizes().data(), tensor.sizes().size()}};
  }
  static auto lent(const std::byte* data, const torch::Tensor& like, torch::ScalarType type) -> torch::Tensor {
    return torch::from_blob(const_cast<std::byte*>(data), like.sizes(), type);
  }
  static void copy_to(const torch::Tensor& from, std::byte* to, std::size_t size_bytes) {
    if (size_bytes != 0) std::memcpy(to, from.contiguous().data_ptr(), size_bytes);
  }
  static void copy_from(const std::byte* from, std::size_t size_bytes, const torch::Tensor& to) {
    if (size_bytes != 0) std::memcpy(to.data_ptr(), from, size_bytes);
  }

  [[nodiscard]] auto tensor(std::size_t variable) const -> const torch::Tensor& {
    return variable < parameters() ? parameters_[variable] : buffers_[variable - parameters()];
  }

  ModuleTensors tensors_;
  bool allow_unused_;
  std::vector<VariableInfo> variables_;
  std::vector<torch::Tensor> parameters_;
  std::vector<std::int64_t> versions_;  // of each parameter, when it was bound
  std::vector<torch::Tensor> gradients_;  // of each parameter, while it is bound for a contribution
  std::vector<torch::Tensor> buffers_;  // that are followed
  std::vector<Constant> constants_;
  std::optional<DeviceCopy> device_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
