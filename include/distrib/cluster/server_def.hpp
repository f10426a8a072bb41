// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/device_filters.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/cluster/tf_config.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One server of a cluster, as TensorFlow's ServerDef (tensorflow_server.proto). A value. Ours is made from the first
/// three: `Server{io, def.cluster, def.job_name, def.task_index}`.
struct ServerDef {
  ClusterSpec cluster = {};
  std::string job_name = {};
  std::uint32_t task_index = 0;
  std::string protocol = "grpc";
  std::vector<std::byte> session_config = {};  ///< A serialized ConfigProto, for TensorFlow; passed on as it is.
  ClusterDeviceFilters device_filters = {};    ///< For TensorFlow.
  std::uint16_t port = 0;                      ///< Unless 0, used instead of the one in the address of the task.

  [[nodiscard]] auto task() const -> TaskId { return {job_name, task_index}; }
  [[nodiscard]] auto operator==(const ServerDef&) const -> bool = default;
};

/// What is known beside the cluster; empty where something is not.
struct ServerDefOptions {
  std::optional<std::string> job_name = {};
  std::optional<std::uint32_t> task_index = {};
  std::optional<std::string> protocol = {};
  std::optional<std::vector<std::byte>> session_config = {};  ///< A serialized ConfigProto.
};

/// The definition of a server of `cluster`. A job that is not given is the only one that there is; an index that is not
/// given is that of the job's only task, be it 0 or not; the protocol is "grpc" unless given. Looks at nothing else:
/// see `check_server_def`. Fails with `cluster_errc::missing_job`, `missing_index`, and with `no_such_job` when an
/// index would have to be found in a job that there is not.
[[nodiscard]] DISTRIB_DECL auto make_server_def(const ClusterSpec& cluster, const ServerDefOptions& options,
                                                std::error_code& ec) -> ServerDef;
[[nodiscard]] DISTRIB_DECL auto make_server_def(const ClusterSpec& cluster, const ServerDefOptions& options = {})
    -> ServerDef;

/// `def` with what is given put in place of its own; nothing is inferred. Session configurations are merged, by the rule
/// of Protocol Buffers: of a field in both the given one wins, lists are joined.
[[nodiscard]] DISTRIB_DECL auto make_server_def(ServerDef def, const ServerDefOptions& options) -> ServerDef;

/// TensorFlow's create_local_server: a cluster of its own, {"localhost": ["localhost:0"]}, whose port the system chooses.
[[nodiscard]] inline auto local_server_def() -> ServerDef {
  return {.cluster = {{"localhost", {"localhost:0"}}}, .job_name = "localhost"};
}

namespace detail {

/// The server that TensorFlow's tf_std_server starts for TF_CONFIG: the task that it says, with its rpc_layer as the
/// protocol. Fails with `cluster_errc::empty_job` without a chief and without workers, and as `make_server_def` does.
[[nodiscard]] DISTRIB_DECL auto standard_server_def(const TfConfig& config, std::error_code& ec) -> ServerDef;
[[nodiscard]] DISTRIB_DECL auto standard_server_def(const TfConfig& config) -> ServerDef;

}  // namespace detail

/// What TensorFlow finds out when the server is made, in its order: `cluster_errc::unknown_protocol`, `no_such_job`,
/// `no_such_task`, `bad_address` (of the task itself, then of any).
DISTRIB_DECL void check_server_def(const ServerDef& def, ErrorRef to);
inline void check_server_def(const ServerDef& def) {
  Error error;
  check_server_def(def, error);
  throw_if(error);
}

/// Where TensorFlow's sessions find the server, "grpc://host:port", once it listens on `port`. An address without a host
/// means localhost; one that is not there, too.
[[nodiscard]] DISTRIB_DECL auto server_target(const ServerDef& def, std::uint16_t port) -> std::string;

namespace detail {

/// As a serialized ServerDef.
[[nodiscard]] DISTRIB_DECL auto write_server_def(const ServerDef& def) -> std::vector<std::byte>;

/// Reads a serialized ServerDef. Fails with `cluster_errc::bad_cluster_def`, `duplicate_job`, `bad_device`.
[[nodiscard]] DISTRIB_DECL auto parse_server_def(ByteView bytes, std::error_code& ec) -> ServerDef;
[[nodiscard]] DISTRIB_DECL auto parse_server_def(ByteView bytes) -> ServerDef;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/server_def.ipp>
#endif
