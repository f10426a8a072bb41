// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/device_spec.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/placement/replica_device_setter.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A stack of device scopes, as nested `with tf.device(...)` in TensorFlow. A scope is
/// - a device: it fills in the fields that the operation and the inner scopes leave open;
/// - a function: it gets the operation with the device chosen so far and returns the device to use (for example, a
///   `ReplicaDeviceSetter`);
/// - or nothing (`enter_none`): the outer scopes do not count.
///
/// The innermost scope applies first.
///
/// Threads: one at a time.
class DeviceScopes {
 public:
  /// A function scope. The device that it returns replaces the one chosen so far, and the outer scopes apply to it.
  using Function = std::function<std::string(const OpRequest&)>;

  /// Closes its scope when it is destroyed. Guards must be destroyed in the reverse order of their creation, and before
  /// the `DeviceScopes`.
  class [[nodiscard]] Guard {
   public:
    Guard(const Guard&) = delete;
    auto operator=(const Guard&) -> Guard& = delete;
    ~Guard() { scopes_.pop_back(); }

   private:
    friend class DeviceScopes;
    struct Scope {
      DeviceSpec device = {};
      Function function = {};  // if not empty, used instead of the device
      bool keeps_out = false;
    };
    Guard(std::vector<Scope>& scopes, Scope scope) : scopes_{scopes} { scopes_.push_back(std::move(scope)); }
    std::vector<Scope>& scopes_;
  };

  DeviceScopes() = default;
  DeviceScopes(const DeviceScopes&) = delete;
  auto operator=(const DeviceScopes&) -> DeviceScopes& = delete;

  /// Opens a scope inside the open ones. The text "" is a scope without effect. Throws `cluster_errc::bad_device` for a
  /// text that is no device.
  auto enter(std::string_view device) -> Guard { return enter(DeviceSpec::parse(device)); }
  auto enter(const char* device) -> Guard { return enter(std::string_view{device}); }
  auto enter(DeviceSpec device) -> Guard { return {scopes_, {.device = std::move(device)}}; }
  auto enter(Function function) -> Guard { return {scopes_, {.function = std::move(function)}}; }
  /// Opens a scope inside which the outer scopes do not count: TensorFlow's `tf.device(None)`.
  auto enter_none() -> Guard { return {scopes_, {.keeps_out = true}}; }

  /// Returns the number of open scopes.
  [[nodiscard]] auto depth() const noexcept -> std::size_t { return scopes_.size(); }

  /// Returns the device of an operation that is created now. `request.device` is the device that the operation itself
  /// requests. If no scope applies, returns it unchanged and unchecked.
  ///
  /// Errors (without `ec` thrown as `std::system_error`): `cluster_errc::bad_device` if a device scope applies to a
  /// text that is no device, whether the operation or a function supplied it. Throws what a function throws.
  [[nodiscard]] DISTRIB_DECL auto device(OpRequest request, std::error_code& ec) const -> std::string;
  [[nodiscard]] DISTRIB_DECL auto device(const OpRequest& request) const -> std::string;

 private:
  std::vector<Guard::Scope> scopes_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/placement/impl/device_scopes.ipp>
#endif
