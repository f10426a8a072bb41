// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/error.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// The contents of TF_CONFIG. A key that is absent or null leaves its field empty. A value: you may overwrite fields.
struct TfConfig {
  ClusterSpec cluster;  ///< The jobs and the addresses of their tasks.
  /// True if the cluster was under the key "sparseCluster". Kubeflow's dynamic workers get that: each task learns only
  /// its own address, and a worker also the addresses of the ps.
  bool sparse_cluster = false;
  std::optional<std::string> task_type;  ///< The job of this process.
  std::optional<std::uint32_t> task_index;  ///< Index of this process in its job.
  std::optional<std::string> rpc_layer;  ///< "grpc", ...
  /// The key `environment`. Only TensorFlow's coordinator reads it ("google" means that a server runs already).
  std::optional<std::string> coordinator_environment;
  /// The environment of a resolver. No key of TF_CONFIG sets it; set it yourself if needed.
  std::optional<std::string> environment;
  std::optional<std::string> session_master;
  std::optional<std::string> eval_session_master;
  std::optional<std::string> service;  ///< The JSON text of an object, as it is in TF_CONFIG.

  /// Returns the task of this process; empty unless both type and index are set.
  [[nodiscard]] auto task() const -> std::optional<TaskId> {
    if (!task_type || !task_index) return std::nullopt;
    return TaskId{*task_type, *task_index};
  }

  /// Returns TensorFlow's address of this process's own server: `session_master` if set; "" for a cluster of at most
  /// one task; otherwise the task's address, with "LAYER://" before it if `rpc_layer` is set.
  ///
  /// Errors (without `ec` thrown as `std::system_error`): `cluster_errc::missing_job` if `task_type` is needed and not
  /// set, `missing_index` if `task_index` is needed and not set; `no_such_job` if `cluster` does not have that job,
  /// `no_such_task` if the job does not have that index. The result is then empty.
  [[nodiscard]] DISTRIB_DECL auto master(std::error_code& ec) const -> std::string;
  [[nodiscard]] DISTRIB_DECL auto master() const -> std::string;
};

namespace detail {

/// Reads the JSON of TF_CONFIG. Functions return false on the first error, which ends reading.
class TfConfigReader {
 public:
  explicit TfConfigReader(std::string_view text) noexcept : text_{text}, json_{text} {}

  auto read(TfConfig& config) -> bool {
    if (json_.next() != JsonToken::begin_object) return refuse(cluster_errc::bad_tf_config);
    while (json_.next() == JsonToken::name) {
      if (!read_member(config)) return false;
    }
    return json_.next() == JsonToken::end;
  }

  /// Reads a text that is only the value of "cluster".
  auto read(ClusterSpec& cluster) -> bool {
    json_.next();
    return read_cluster(cluster) && json_.next() == JsonToken::end;
  }

  [[nodiscard]] auto error() const -> Error {
    if (!code_) return json_.error();
    return {code_, "offset " + std::to_string(json_.offset())};
  }

 private:
  DISTRIB_DECL auto read_member(TfConfig& config) -> bool;

  DISTRIB_DECL auto read_cluster(ClusterSpec& cluster) -> bool;

  auto read_dense(ClusterSpec::Tasks& tasks) -> bool {
    while (json_.next() == JsonToken::string)
      tasks.insert({static_cast<std::uint32_t>(tasks.size()), std::string{json_.text()}});
    return json_.token() == JsonToken::end_array;
  }

  DISTRIB_DECL auto read_sparse(ClusterSpec::Tasks& tasks) -> bool;

  DISTRIB_DECL auto read_task(TfConfig& config) -> bool;

  /// Reads a text. A number is read as the text that it is written as.
  auto read_text(std::optional<std::string>& field) -> bool {
    if (json_.token() != JsonToken::string && json_.token() != JsonToken::number)
      return refuse(cluster_errc::bad_tf_config);
    field = json_.text();
    return true;
  }

  DISTRIB_DECL auto read_service(std::optional<std::string>& service) -> bool;

  auto next_is_null() -> bool { return json_.next() == JsonToken::null; }

  auto refuse(std::error_code code) -> bool {
    if (!code_ && json_.token() != JsonToken::error) code_ = code;
    return false;
  }

  std::string_view text_;
  JsonReader json_;
  std::error_code code_;
};

}  // namespace detail

/// Reads the text of TF_CONFIG: a JSON object in which every key may be missing; unknown keys are ignored. A job is a
/// list of addresses, or an object {"index": "address"}. A task's index may be a text. "sparseCluster" is read like
/// "cluster".
///
/// Errors (without `to` thrown as `std::system_error`): a `json_errc`; `cluster_errc::bad_tf_config`, `bad_integer`,
/// `duplicate_job`. The place is a byte offset.
[[nodiscard]] DISTRIB_DECL auto parse_tf_config(std::string_view text, ErrorRef to) -> TfConfig;
[[nodiscard]] DISTRIB_DECL auto parse_tf_config(std::string_view text) -> TfConfig;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/tf_config.ipp>
#endif
