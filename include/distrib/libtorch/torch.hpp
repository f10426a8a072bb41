// SPDX-License-Identifier: Apache-2.0
// The only header that includes LibTorch, 1.13 and up. It hides what differs between the versions. The room libtorch/
// is
// an optional component: link distrib::libtorch. Nothing here or in the room includes <torch/torch.h>, which takes
// twice as long to compile.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <torch/cuda.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <dlfcn.h>

#include <string>

namespace distrib {
inline namespace v0 {
namespace detail {

#define DISTRIB_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

/// Makes every operator of the process use algorithms that give the same bits each time, and throw if it has none; or
/// ends that.
inline void set_deterministic(bool on) {
  at::globalContext().setDeterministicAlgorithms(on, false);
#if DISTRIB_TORCH_AT_LEAST(2, 2)
  // By default this mode fills all uninitialized memory, which costs more than a small operator.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
#endif
  at::globalContext().setBenchmarkCuDNN(!on);
  at::globalContext().setDeterministicCuDNN(on);
}

/// Sets the number of threads that one operator uses: of LibTorch, and of an OpenBLAS with threads of its own, which
/// LibTorch does not reach.
inline void set_intra_op_threads(int threads) {
  at::set_num_threads(threads);
  if (void* const symbol = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
    reinterpret_cast<void (*)(int)>(symbol)(threads);
}

/// While it exists, operators of this thread that are safe in bfloat16 compute in it, on devices of `type`; if `on` is
/// false, it does nothing.
class AutocastScope {
 public:
  AutocastScope(c10::DeviceType type, bool on) : type_{type}, on_{on} {
    if (!on_) return;
    was_on_ = enabled();
    old_ = dtype();
    enable(true);
    set_dtype(at::kBFloat16);
    at::autocast::increment_nesting();
  }
  AutocastScope(const AutocastScope&) = delete;
  auto operator=(const AutocastScope&) -> AutocastScope& = delete;
  ~AutocastScope() {
    if (!on_) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    set_dtype(old_);
    enable(was_on_);
  }

 private:
#if DISTRIB_TORCH_AT_LEAST(2, 4)
  [[nodiscard]] auto enabled() const -> bool { return at::autocast::is_autocast_enabled(type_); }
  [[nodiscard]] auto dtype() const -> at::ScalarType { return at::autocast::get_autocast_dtype(type_); }
  void enable(bool on) const { at::autocast::set_autocast_enabled(type_, on); }
  void set_dtype(at::ScalarType dtype) const { at::autocast::set_autocast_dtype(type_, dtype); }
#else
  [[nodiscard]] auto is_cpu() const -> bool { return type_ == c10::DeviceType::CPU; }
  [[nodiscard]] auto enabled() const -> bool {
    return is_cpu() ? at::autocast::is_cpu_enabled() : at::autocast::is_enabled();
  }
  [[nodiscard]] auto dtype() const -> at::ScalarType {
    return is_cpu() ? at::autocast::get_autocast_cpu_dtype() : at::autocast::get_autocast_gpu_dtype();
  }
  void enable(bool on) const { is_cpu() ? at::autocast::set_cpu_enabled(on) : at::autocast::set_enabled(on); }
  void set_dtype(at::ScalarType dtype) const {
    is_cpu() ? at::autocast::set_autocast_cpu_dtype(dtype) : at::autocast::set_autocast_gpu_dtype(dtype);
  }
#endif

  c10::DeviceType type_;
  bool on_;
  bool was_on_ = false;
  at::ScalarType old_ = at::kBFloat16;
};

/// Returns the version of LibTorch that this program was compiled with: "1.13.0".
[[nodiscard]] inline auto torch_version() -> std::string { return TORCH_VERSION; }

#undef DISTRIB_TORCH_AT_LEAST

}  // namespace detail
}  // namespace v0
}  // namespace distrib
