// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/libtorch/bound_module.hpp>
#include <distrib/libtorch/detail/module_traits.hpp>
#include <distrib/libtorch/error.hpp>
#include <distrib/libtorch/process_settings.hpp>
#include <distrib/libtorch/random_scope.hpp>
#include <distrib/libtorch/torch.hpp>
#include <distrib/libtorch/torch_options.hpp>
#include <distrib/libtorch/torch_task.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The modules of a task, one for each contribution or evaluation that is computed at a time. Made when they are
/// needed.
///
/// Threads: any.
template <class Task> class TorchModules {
 public:
  using Made = MadeBy<Task>;
  using Traits = ModuleTraits<Made>;

  struct Module {
    Made made;
    BoundModule bound;
    std::uint64_t seed;
  };

  TorchModules(Task task, TorchOptions options) : task_{std::move(task)}, options_{std::move(options)} {}

  [[nodiscard]] auto task() const noexcept -> const Task& { return task_; }
  [[nodiscard]] auto options() const noexcept -> const TorchOptions& { return options_; }

  /// Returns what the first module has; makes it if there is none. The reference is valid as long as this object.
  [[nodiscard]] auto variables() -> const std::vector<VariableInfo>& {
    if (const std::lock_guard lock{mutex_}; known_) return known_->variables;
    give_back(make(0));
    return known_->variables;
  }

  /// Returns the names of the buffers that are averaged over the ranks.
  [[nodiscard]] auto averaged() -> std::vector<std::string> {
    (void)variables();
    const std::lock_guard lock{mutex_};
    return known_->averaged;
  }

  /// Returns a line about the arithmetic: version, threads, mode, constants.
  [[nodiscard]] auto describe() -> std::string {
    (void)variables();
    const std::lock_guard lock{mutex_};
    std::string text = "libtorch " + torch_version() + " threads " + std::to_string(options_.intra_op_threads);
    if (options_.deterministic) text += " deterministic";
    if (options_.autocast_bfloat16) text += " autocast bfloat16";
    if (!options_.device.is_cpu()) text += " on " + c10::DeviceTypeName(options_.device.type(), true);
    if (known_->constants != 0) text += " constants sha256=" + to_hex(known_->sha256);
    return text;
  }

  /// Makes a module, which still has its initial values. The calling thread follows the settings of the process.
  [[nodiscard]] auto make(std::uint64_t seed) -> std::unique_ptr<Module> {
    {
      const std::lock_guard lock{mutex_};
      if (!settings_) settings_.emplace(options_);
    }
    if (options_.device.is_cuda() && options_.device.index() >= static_cast<int>(torch::cuda::device_count()))
      throw_error(libtorch_errc::no_cuda, options_.device.str());
    if (options_.device.is_cuda() && !torch::cuda::is_available())
      throw_error(libtorch_errc::no_cuda, options_.device.str());
    settings_->use_on_this_thread();
    auto module = [&] {
      const RandomScope random{seed, options_.device};
      Made made = task_.make();
      if (Traits::is_empty(made)) throw_error(libtorch_errc::no_module, "make()");
      if (!options_.device.is_cpu()) Traits::move(made, options_.device);
      BoundModule bound{Traits::tensors(made), options_};
      return std::make_unique<Module>(Module{std::move(made), std::move(bound), seed});
    }();
    check_same(*module);
    return module;
  }

  /// Returns a module that is free, made with this seed; makes one if there is none. The calling thread follows the
  /// settings of the process.
  [[nodiscard]] auto take(std::uint64_t seed) -> std::unique_ptr<Module> {
    std::unique_ptr<Module> module;
    {
      const std::lock_guard lock{mutex_};
      while (!module && !free_.empty()) {
        if (free_.back()->seed == seed) module = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (!module) return make(seed);
    settings_->use_on_this_thread();
    return module;
  }

  /// Keeps a module for later. A module whose use has failed must not be given back.
  void give_back(std::unique_ptr<Module> module) {
    const std::lock_guard lock{mutex_};
    seed_ = module->seed;
    free_.push_back(std::move(module));
  }

  /// Returns the seed of the module that was given back last; 0 if there was none.
  [[nodiscard]] auto last_seed() -> std::uint64_t {
    const std::lock_guard lock{mutex_};
    return seed_;
  }

 private:
  // What the first module has.
  struct Known {
    std::vector<VariableInfo> variables;
    std::vector<std::string> averaged;
    std::size_t constants;
    Sha256Digest sha256;  // of the constants
  };

  void check_same(const Module& module) {
    const BoundModule& bound = module.bound;
    const Sha256Digest sha256 = bound.constants() == 0 ? Sha256Digest{} : bound.constants_sha256();
    const std::lock_guard lock{mutex_};
    if (!known_) known_ = Known{bound.variables(), names_of_averaged(bound), bound.constants(), sha256};
    if (!constants_ || constants_->first != module.seed) constants_.emplace(module.seed, sha256);
    const std::vector<VariableInfo>& before = known_->variables;
    for (std::size_t v = 0; v < std::max(before.size(), bound.variables().size()); ++v) {
      const bool both = v < before.size() && v < bound.variables().size();
      if (!both || !(before[v] == bound.variables()[v]))
        throw_error(libtorch_errc::other_module, text(before, v) + ", then " + text(bound.variables(), v));
    }
    if (bound.constants() != known_->constants || sha256 != constants_->second)
      throw_error(libtorch_errc::other_module, "frozen parameters or buffers");
  }

  static auto names_of_averaged(const BoundModule& bound) -> std::vector<std::string> {
    std::vector<std::string> names;
    for (std::size_t v = 0; v < bound.variables().size(); ++v)
      if (bound.is_averaged(v)) names.push_back(bound.variables()[v].name);
    return names;
  }

  static auto text(const std::vector<VariableInfo>& variables, std::size_t index) -> std::string {
    if (index >= variables.size()) return "nothing";
    return "'" + variables[index].name + "' " + to_string(variables[index].shape);
  }

  Task task_;
  TorchOptions options_;
  std::mutex mutex_;
  std::optional<ProcessSettings> settings_;  // made once, before the first module
  std::optional<Known> known_;  // made once
  std::optional<std::pair<std::uint64_t, Sha256Digest>>
      constants_;  // of the newest seed, which may decide some of them
  std::vector<std::unique_ptr<Module>> free_;
  std::uint64_t seed_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
