// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/libtorch/error.hpp>
#include <distrib/libtorch/torch.hpp>
#include <distrib/libtorch/torch_options.hpp>

#include <cstdint>
#include <mutex>
#include <string>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The settings of LibTorch that hold for a whole process: threads of one operator, and deterministic algorithms. While
/// an object exists, others can be made with the same settings only.
///
/// Threads: any.
class ProcessSettings {
 public:
  /// Throws `libtorch_errc::other_settings` if an object with other settings exists.
  explicit ProcessSettings(const TorchOptions& options) {
    Shared& shared = all();
    const std::lock_guard lock{shared.mutex};
    const bool fits = shared.threads == options.intra_op_threads && shared.deterministic == options.deterministic;
    if (shared.users != 0 && !fits)
      throw_error(libtorch_errc::other_settings, "intra_op_threads " + std::to_string(shared.threads) + " and " +
                                                     std::to_string(options.intra_op_threads) + ", deterministic " +
                                                     text(shared.deterministic) + " and " +
                                                     text(options.deterministic));
    if (shared.users++ != 0) return;
    shared.threads = options.intra_op_threads;
    shared.deterministic = options.deterministic;
    ++shared.generation;
    set_intra_op_threads(options.intra_op_threads);
    set_deterministic(options.deterministic);
  }
  ProcessSettings(const ProcessSettings&) = delete;
  auto operator=(const ProcessSettings&) -> ProcessSettings& = delete;
  ~ProcessSettings() {
    Shared& shared = all();
    const std::lock_guard lock{shared.mutex};
    --shared.users;
  }

  /// Makes the calling thread follow the settings. LibTorch's number of threads does not reach the OpenMP of a thread
  /// that was started later, or that has run before it was set.
  void use_on_this_thread() const {
    thread_local std::uint64_t used = 0;
    std::uint64_t generation = 0;
    {
      const std::lock_guard lock{all().mutex};
      generation = all().generation;
    }
    if (used != generation) at::init_num_threads();
    used = generation;
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::size_t users = 0;
    std::uint64_t generation = 0;  // counts how often settings were made
    int threads = 0;
    bool deterministic = false;
  };

  static auto all() noexcept -> Shared& {
    static Shared shared;
    return shared;
  }
  static auto text(bool value) -> std::string { return value ? "true" : "false"; }
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
