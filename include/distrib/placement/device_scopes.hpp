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

/// Devices for all that is made inside a scope, where scopes nest: TensorFlow's `with tf.device(...)`. A scope is a
/// device, which fills in the fields that the operation inside leaves open; or a function, which is given the operation
/// with the device chosen so far and returns another (a `ReplicaDeviceSetter`, for one); or nothing, which hides the
/// scopes around it. The innermost scope is applied first. One thread at a time.
class DeviceScopes {
 public:
  /// A function scope: its answer, whatever it is, is the device that the scopes around it see.
  using Function = std::function<std::string(const OpRequest&)>;

  /// Leaves its scope when it goes; scopes go in the opposite of the order in which they came, and before
  /// `DeviceScopes` does.
  class [[nodiscard]] Guard {
   public:
    Guard(const Guard&) = delete;
    auto operator=(const Guard&) -> Guard& = delete;
    ~Guard() { scopes_.pop_back(); }

   private:
    friend class DeviceScopes;
    struct Scope {
      DeviceSpec device = {};
      Function function = {};  // instead of the device, unless empty
      bool keeps_out = false;
    };
    Guard(std::vector<Scope>& scopes, Scope scope) : scopes_{scopes} { scopes_.push_back(std::move(scope)); }
    std::vector<Scope>& scopes_;
  };

  DeviceScopes() = default;
  DeviceScopes(const DeviceScopes&) = delete;
  auto operator=(const DeviceScopes&) -> DeviceScopes& = delete;

  /// Opens a scope inside of those that are open. A text that has no meaning throws `cluster_errc::bad_device`; "" says
  /// nothing, and keeps nothing out.
  auto enter(std::string_view device) -> Guard { return enter(DeviceSpec::parse(device)); }
  auto enter(const char* device) -> Guard { return enter(std::string_view{device}); }
  auto enter(DeviceSpec device) -> Guard { return {scopes_, {.device = std::move(device)}}; }
  auto enter(Function function) -> Guard { return {scopes_, {.function = std::move(function)}}; }
  /// TensorFlow's `tf.device(None)`: inside of it, the scopes around it do not count.
  auto enter_none() -> Guard { return {scopes_, {.keeps_out = true}}; }

  /// How many are open.
  [[nodiscard]] auto depth() const noexcept -> std::size_t { return scopes_.size(); }

  /// The device of an operation that is made now; `request.device` is what it asks for itself. Fails with
  /// `cluster_errc::bad_device` when that, or what a function answers, is read and has no meaning; throws what a
  /// function throws.
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
