// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/server_def.hpp>

#include <distrib/cluster/cluster_def.hpp>
#include <distrib/cluster/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/core/shortest_text.hpp>

#include <string_view>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto make_server_def(const ClusterSpec& cluster, const ServerDefOptions& options, std::error_code& ec)
    -> ServerDef {
  ec.clear();
  ServerDef def{.cluster = cluster};
  const std::vector<std::string> jobs = cluster.jobs();
  if (!options.job_name && jobs.size() != 1) ec = cluster_errc::missing_job;
  if (ec) return {};
  def.job_name = options.job_name ? *options.job_name : jobs.front();
  if (options.task_index) {
    def.task_index = *options.task_index;
  } else {
    const std::vector<std::uint32_t> indices = cluster.task_indices(def.job_name, ec);
    if (!ec && indices.size() != 1) ec = cluster_errc::missing_index;
    if (ec) return {};
    def.task_index = indices.front();
  }
  if (options.protocol) def.protocol = *options.protocol;
  if (options.session_config) def.session_config = *options.session_config;
  return def;
}

DISTRIB_DECL auto make_server_def(const ClusterSpec& cluster, const ServerDefOptions& options) -> ServerDef {
  std::error_code ec;
  ServerDef def = make_server_def(cluster, options, ec);
  if (ec) throw_error(ec, "ServerDef");
  return def;
}

DISTRIB_DECL auto make_server_def(ServerDef def, const ServerDefOptions& options) -> ServerDef {
  if (options.job_name) def.job_name = *options.job_name;
  if (options.task_index) def.task_index = *options.task_index;
  if (options.protocol) def.protocol = *options.protocol;
  if (options.session_config)  // two serialized messages, one after the other, are their merge
    def.session_config.insert(def.session_config.end(), options.session_config->begin(), options.session_config->end());
  return def;
}

namespace detail {

DISTRIB_DECL auto standard_server_def(const TfConfig& config, std::error_code& ec) -> ServerDef {
  ec.clear();
  if (!config.cluster.contains("chief") && !config.cluster.contains("worker")) ec = cluster_errc::empty_job;
  if (ec) return {};
  return make_server_def(
      config.cluster,
      {.job_name = config.task_type, .task_index = config.task_index, .protocol = config.rpc_layer.value_or("grpc")},
      ec);
}

DISTRIB_DECL auto standard_server_def(const TfConfig& config) -> ServerDef {
  std::error_code ec;
  ServerDef def = standard_server_def(config, ec);
  if (ec) throw_error(ec, "TF_CONFIG");
  return def;
}

// True if `address` has a port after its last colon and no slash before it.
DISTRIB_DECL auto is_server_address(std::string_view address) noexcept -> bool {
  const std::size_t colon = address.rfind(':');
  return colon != std::string_view::npos && parse_whole<std::uint16_t>(address.substr(colon + 1)).has_value() &&
         address.substr(0, colon).find('/') == std::string_view::npos;
}

}  // namespace detail

DISTRIB_DECL void check_server_def(const ServerDef& def, ErrorRef to) {
  detail::ErrorOut error{to};
  if (def.protocol != "grpc") {
    error = {cluster_errc::unknown_protocol, def.protocol};
    return;
  }
  const std::string own = def.cluster.task_address(def.job_name, def.task_index, error.code);
  if (error) error.where = to_string(def.task());
  else if (def.port == 0 && !detail::is_server_address(own)) error = {cluster_errc::bad_address, '\'' + own + '\''};
  if (error) return;
  for (const std::string& job : def.cluster.jobs())
    for (const auto& [index, address] : *def.cluster.find(job))
      if (!error && !detail::is_server_address(address)) error = {cluster_errc::bad_address, '\'' + address + '\''};
}

DISTRIB_DECL auto server_target(const ServerDef& def, std::uint16_t port) -> std::string {
  std::error_code ec;
  const std::string address = def.cluster.task_address(def.job_name, def.task_index, ec);
  const std::size_t colon = address.rfind(':');
  const std::string host = colon == std::string::npos ? "" : address.substr(0, colon);
  return "grpc://" + (host.empty() ? "localhost" : host) + ':' + std::to_string(port);
}

namespace detail {

DISTRIB_DECL auto write_server_def(const ServerDef& def) -> std::vector<std::byte> {
  WireWriter out;
  out.message(1, [&](WireWriter& cluster) { detail::write_cluster_fields(cluster, def.cluster); });
  if (!def.job_name.empty()) out.text(2, def.job_name);
  if (def.task_index != 0) out.varint(3, def.task_index);
  if (!def.session_config.empty()) out.bytes(4, def.session_config);
  if (!def.protocol.empty()) out.text(5, def.protocol);
  if (!def.device_filters.tasks().empty()) out.bytes(7, detail::write_device_filters(def.device_filters));
  if (def.port != 0) out.varint(8, def.port);
  return out.take();
}

DISTRIB_DECL auto parse_server_def(ByteView bytes, std::error_code& ec) -> ServerDef {
  ec.clear();
  ServerDef def{.protocol = ""};
  std::int64_t task = 0;
  std::int64_t port = 0;
  std::vector<std::byte> cluster;  // a message may come in several parts
  std::vector<std::byte> filters;
  const auto append = [](std::vector<std::byte>& to, ByteView part) { to.insert(to.end(), part.begin(), part.end()); };
  WireReader reader{bytes};
  while (reader.next()) {
    switch (reader.tag()) {
      case wire_tag(1, WireType::bytes): append(cluster, reader.bytes()); break;
      case wire_tag(2, WireType::bytes): def.job_name = reader.text(); break;
      case wire_tag(3, WireType::varint): task = reader.int32(); break;
      case wire_tag(4, WireType::bytes): append(def.session_config, reader.bytes()); break;
      case wire_tag(5, WireType::bytes): def.protocol = reader.text(); break;
      case wire_tag(7, WireType::bytes): append(filters, reader.bytes()); break;
      case wire_tag(8, WireType::varint): port = reader.int32(); break;
      default: break;
    }
  }
  if (!reader.ok() || task < 0 || port < 0 || port > UINT16_MAX) ec = cluster_errc::bad_cluster_def;
  if (!ec) def.cluster = parse_cluster_def(cluster, ec);
  if (!ec) def.device_filters = detail::parse_device_filters(filters, ec);
  if (ec) return {};
  def.task_index = static_cast<std::uint32_t>(task);
  def.port = static_cast<std::uint16_t>(port);
  return def;
}

DISTRIB_DECL auto parse_server_def(ByteView bytes) -> ServerDef {
  std::error_code ec;
  ServerDef def = parse_server_def(bytes, ec);
  if (ec) throw_error(ec, "ServerDef");
  return def;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
