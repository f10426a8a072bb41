// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/error.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/json.hpp>
#include <distrib/core/shortest_text.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// What TF_CONFIG says; a key that is absent or null leaves its field empty. A value: overwrite what is known better.
struct TfConfig {
  ClusterSpec cluster;
  std::optional<std::string> task_type;     ///< The job of this process.
  std::optional<std::uint32_t> task_index;  ///< Which task of it this process is.
  std::optional<std::string> rpc_layer;     ///< "grpc", ...
  /// Its key `environment`, which TensorFlow's coordinator alone reads ("google" has a server already).
  std::optional<std::string> coordinator_environment;
  std::optional<std::string> environment;  ///< Of the resolver: no key of TF_CONFIG says it, only you do.
  std::optional<std::string> session_master;
  std::optional<std::string> eval_session_master;
  std::optional<std::string> service;  ///< The JSON of an object, as it stands there.

  /// Who this process is; empty unless both type and index are given.
  template <class = void> [[nodiscard]] auto task() const -> std::optional<TaskId> {
    if (!task_type || !task_index) return std::nullopt;
    return TaskId{*task_type, *task_index};
  }

  /// TensorFlow's address of one's own server: `session_master` if given; "" for a cluster of at most one task;
  /// otherwise the task's address, behind "LAYER://" when `rpc_layer` is given. Fails with `cluster_errc::missing_job`,
  /// `missing_index`, `no_such_job`, `no_such_task`.
  template <class = void> [[nodiscard]] auto master(std::error_code& ec) const -> std::string {
    ec.clear();
    if (session_master) return *session_master;
    const auto jobs = cluster.jobs();
    if (jobs.empty() || (jobs.size() == 1 && cluster.find(jobs.front())->size() == 1)) return {};
    if (!task_type) ec = cluster_errc::missing_job;
    else if (!task_index) ec = cluster_errc::missing_index;
    if (ec) return {};
    const std::string address = cluster.task_address(*task_type, *task_index, ec);
    return ec || !rpc_layer ? address : *rpc_layer + "://" + address;
  }
  template <class = void> [[nodiscard]] auto master() const -> std::string {
    std::error_code ec;
    std::string address = master(ec);
    if (ec) throw_error(ec, "TF_CONFIG");
    return address;
  }
};

namespace detail {

/// Reads the JSON of TF_CONFIG. The first failure ends it: functions return false.
class TfConfigReader {
 public:
  explicit TfConfigReader(std::string_view text) noexcept : text_{text}, json_{text} {}

  template <class = void> auto read(TfConfig& config) -> bool {
    if (json_.next() != JsonToken::begin_object) return refuse(cluster_errc::bad_tf_config);
    while (json_.next() == JsonToken::name) {
      if (!read_member(config)) return false;
    }
    return json_.next() == JsonToken::end;
  }

  /// Of a text that is what stands behind "cluster" there.
  template <class = void> auto read(ClusterSpec& cluster) -> bool {
    json_.next();
    return read_cluster(cluster) && json_.next() == JsonToken::end;
  }

  template <class = void> [[nodiscard]] auto error() const -> Error {
    if (!code_) return json_.error();
    return {code_, "offset " + std::to_string(json_.offset())};
  }

 private:
  template <class = void> auto read_member(TfConfig& config) -> bool {
    const std::string_view key = json_.text();
    if (key == "cluster" || key == "sparseCluster") return next_is_null() || read_cluster(config.cluster);
    if (key == "task") return next_is_null() || read_task(config);
    if (key == "rpc_layer") return next_is_null() || read_text(config.rpc_layer);
    if (key == "environment") return next_is_null() || read_text(config.coordinator_environment);
    if (key == "session_master") return next_is_null() || read_text(config.session_master);
    if (key == "eval_session_master") return next_is_null() || read_text(config.eval_session_master);
    if (key == "service") return next_is_null() || read_service(config.service);
    json_.skip();
    return json_.token() != JsonToken::error;
  }

  template <class = void> auto read_cluster(ClusterSpec& cluster) -> bool {
    if (json_.token() != JsonToken::begin_object) return refuse(cluster_errc::bad_tf_config);
    while (json_.next() == JsonToken::name) {
      const std::string job{json_.text()};
      ClusterSpec::Tasks tasks;
      const JsonToken list = json_.next();
      if (list == JsonToken::begin_array ? !read_dense(tasks) : list != JsonToken::begin_object || !read_sparse(tasks))
        return refuse(cluster_errc::bad_tf_config);
      std::error_code ec;
      cluster.add(job, std::move(tasks), ec);
      if (ec) return refuse(ec);
    }
    return json_.token() == JsonToken::end_object;
  }

  template <class = void> auto read_dense(ClusterSpec::Tasks& tasks) -> bool {
    while (json_.next() == JsonToken::string)
      tasks.insert({static_cast<std::uint32_t>(tasks.size()), std::string{json_.text()}});
    return json_.token() == JsonToken::end_array;
  }

  template <class = void> auto read_sparse(ClusterSpec::Tasks& tasks) -> bool {
    while (json_.next() == JsonToken::name) {
      const std::optional<std::uint32_t> index = detail::parse_whole<std::uint32_t>(json_.text());
      if (!index) return refuse(cluster_errc::bad_integer);
      if (json_.next() != JsonToken::string) return false;
      if (!tasks.insert({*index, std::string{json_.text()}}).second) return false;
    }
    return json_.token() == JsonToken::end_object;
  }

  template <class = void> auto read_task(TfConfig& config) -> bool {
    if (json_.token() != JsonToken::begin_object) return refuse(cluster_errc::bad_tf_config);
    while (json_.next() == JsonToken::name) {
      const std::string_view key = json_.text();
      if (key == "type") {
        if (!next_is_null() && !read_text(config.task_type)) return false;
      } else if (key == "index") {
        if (next_is_null()) continue;
        if (json_.token() != JsonToken::number && json_.token() != JsonToken::string)
          return refuse(cluster_errc::bad_integer);
        config.task_index = detail::parse_whole<std::uint32_t>(json_.text());
        if (!config.task_index) return refuse(cluster_errc::bad_integer);
      } else {
        json_.skip();
      }
    }
    return json_.token() == JsonToken::end_object;
  }

  /// A text; a number counts as the text it is written as.
  template <class = void> auto read_text(std::optional<std::string>& field) -> bool {
    if (json_.token() != JsonToken::string && json_.token() != JsonToken::number)
      return refuse(cluster_errc::bad_tf_config);
    field = json_.text();
    return true;
  }

  template <class = void> auto read_service(std::optional<std::string>& service) -> bool {
    if (json_.token() != JsonToken::begin_object) return refuse(cluster_errc::bad_tf_config);
    const std::size_t begin = json_.offset();
    json_.skip();
    service = text_.substr(begin, json_.offset() + 1 - begin);
    return json_.token() != JsonToken::error;
  }

  auto next_is_null() -> bool { return json_.next() == JsonToken::null; }

  template <class = void> auto refuse(std::error_code code) -> bool {
    if (!code_ && json_.token() != JsonToken::error) code_ = code;
    return false;
  }

  std::string_view text_;
  JsonReader json_;
  std::error_code code_;
};

}  // namespace detail

/// Reads the text of TF_CONFIG: a JSON object whose keys all may be missing, other keys ignored. A job is a list of
/// addresses or an object {"index": "address"}; a task's index may be text; "sparseCluster" is an old name of
/// "cluster". Fails with a `json_errc`, or with
/// `cluster_errc::bad_tf_config`, `bad_integer`, `duplicate_job`; the place is a byte offset.
template <class = void> [[nodiscard]] auto parse_tf_config(std::string_view text, Error& error) -> TfConfig {
  error = {};
  TfConfig config;
  detail::TfConfigReader reader{text};
  if (reader.read(config)) return config;
  error = reader.error();
  return {};
}
template <class = void> [[nodiscard]] auto parse_tf_config(std::string_view text, std::error_code& ec) -> TfConfig {
  return parse_tf_config(text, detail::CodeOf{ec});
}
template <class = void> [[nodiscard]] auto parse_tf_config(std::string_view text) -> TfConfig {
  Error error;
  TfConfig config = parse_tf_config(text, error);
  if (error) throw_error(error.code, "TF_CONFIG at " + error.where);
  return config;
}

}  // namespace v0
}  // namespace distrib
