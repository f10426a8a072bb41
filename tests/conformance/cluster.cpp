// SPDX-License-Identifier: Apache-2.0
// The tasks of a cluster: cluster specs, TF_CONFIG, roles, flags.
#include "answers.hpp"
#include "cluster_question.hpp"

#include <distrib/cluster.hpp>
#include <distrib/cluster/device_change.hpp>
#include <distrib/cluster/flag_values.hpp>
#include <distrib/cluster/run_config.hpp>
#include <distrib/cluster/server_def.hpp>

#include <utility>

namespace conformance {

namespace {

using distrib::ClusterSpec;

/// Returns what ClusterSpec.as_dict returns: a list if the tasks are 0, 1, 2, ..., otherwise a mapping.
auto as_dict(const ClusterSpec& cluster) -> Json {
  Json jobs = Json::object();
  for (const std::string& job : cluster.jobs()) {
    const ClusterSpec::Tasks& tasks = *cluster.find(job);
    const bool dense = !tasks.empty() && tasks.rbegin()->first + 1 == tasks.size();
    Json& to = jobs[job] = dense ? Json::array() : Json::object();
    for (const auto& [index, address] : tasks)
      dense ? to.push_back(address) : void(to[std::to_string(index)] = address);
  }
  return jobs;
}

auto job_tasks(const ClusterSpec& cluster, const std::string& job) -> Json {
  Json list = Json::array();
  for (const auto& address : cluster.job_tasks(job)) list.push_back(address ? Json(*address) : Json());
  return list;
}

auto cluster_call(const ClusterSpec& cluster, const std::string& call, const Json& args) -> Json {
  const auto job = args.at(0).get<std::string>();
  if (call == "num_tasks") return {{"num_tasks", cluster.num_tasks(job)}};
  if (call == "task_indices") return {{"task_indices", cluster.task_indices(job)}};
  if (call == "job_tasks") return {{"job_tasks", job_tasks(cluster, job)}};
  if (call == "task_address") return {{"task_address", cluster.task_address(job, args.at(1).get<std::uint32_t>())}};
  throw Unsupported{};
}

auto cluster_spec(const Json& input) -> Json {
  if (input.contains("clusters")) {
    Json truth = Json::array();
    for (const Json& jobs : input["clusters"]) truth.push_back(static_cast<bool>(cluster_of(jobs)));
    return {{"truthiness", truth}};
  }
  if (input.contains("a")) return {{"equal", cluster_of(input["a"]) == cluster_of(input.at("b"))}};
  const ClusterSpec cluster = cluster_of(input.at("cluster"));
  if (input.contains("call"))
    return cluster_call(cluster, input["call"].get<std::string>(), input.value("args", Json::array()));

  Json answer{{"truthiness", static_cast<bool>(cluster)}, {"jobs", cluster.jobs()}, {"as_dict", as_dict(cluster)}};
  answer["str"] = to_string(cluster);
  Json& def = answer["cluster_def"] = Json::array();
  Json addresses = Json::array();
  for (const std::string& job : cluster.jobs()) {
    answer["num_tasks"][job] = cluster.num_tasks(job);
    answer["task_indices"][job] = cluster.task_indices(job);
    if (cluster.num_tasks(job) != 0) answer["job_tasks"][job] = job_tasks(cluster, job);
    Json tasks = Json::array();
    for (const auto& [index, address] : *cluster.find(job)) {
      tasks.push_back({index, address});
      addresses.push_back({job, index, address});
    }
    def.push_back({{"name", job}, {"tasks", tasks}});
  }
  answer["task_address"] = addresses;
  return answer;
}

auto optional_json(const auto& value) -> Json { return value ? Json(*value) : Json(); }

template <class T> auto optional_field(const Json& input, const char* name) -> std::optional<T> {
  return input.contains(name) && !input[name].is_null() ? std::optional{input[name].get<T>()} : std::nullopt;
}

/// Throws what TensorFlow's run time reports when it makes the server.
void make_server(const distrib::ServerDef& def) {
  std::error_code ec;
  check_server_def(def, ec);
  if (ec == distrib::cluster_errc::no_such_job) throw Refused{"INTERNAL"};
  if (ec == distrib::cluster_errc::unknown_protocol) throw Refused{"NOT_FOUND"};
  if (ec) throw Refused{"INVALID_ARGUMENT"};
}

auto server_def(const Json& input) -> Json {
  if (input.contains("call")) {
    if (input["call"] != "create_local_server") throw Unsupported{};
    const distrib::ServerDef def = distrib::local_server_def();
    const std::string target = server_target(def, 1);
    return {{"cluster", as_dict(def.cluster)},
            {"job_name", def.job_name},
            {"task_index", def.task_index},
            {"protocol", def.protocol},
            {"target_prefix", target.substr(0, target.size() - 1)}};
  }
  const distrib::ServerDefOptions options{.job_name = optional_field<std::string>(input, "job_name"),
                                          .task_index = optional_field<std::uint32_t>(input, "task_index"),
                                          .protocol = optional_field<std::string>(input, "protocol")};
  distrib::ServerDef def;
  if (input.contains("server_def")) {
    const Json& given = input["server_def"];
    def = make_server_def(distrib::ServerDef{.cluster = cluster_of(given.at("cluster")),
                                             .job_name = given.value("job_name", ""),
                                             .task_index = given.value("task_index", 0U),
                                             .protocol = given.value("protocol", "")},
                          options);
  } else {
    def = make_server_def(cluster_of(input.at("cluster")), options);
  }
  make_server(def);
  return {{"job_name", def.job_name}, {"task_index", def.task_index}, {"protocol", def.protocol}};
}

auto tf_config_of(const Json& input) -> distrib::TfConfig {
  if (!input.contains("TF_CONFIG") || input["TF_CONFIG"].is_null()) return {};
  const Json& given = input["TF_CONFIG"];
  return distrib::parse_tf_config(given.is_string() ? given.get<std::string>() : given.dump());
}

auto tf_config_run_config(const Json& input) -> Json {
  const distrib::RunConfig run = distrib::run_config(tf_config_of(input));
  return {{"master", run.master},
          {"evaluation_master", run.evaluation_master},
          {"is_chief", run.is_chief},
          {"num_ps_replicas", run.num_ps_replicas},
          {"num_worker_replicas", run.num_worker_replicas},
          {"task_type", run.task_type},
          {"task_id", run.task_id},
          {"global_id_in_cluster", optional_json(run.global_id_in_cluster)},
          {"device_filters", run.device_filters},
          {"service", run.service ? Json::parse(*run.service) : Json()},
          {"cluster", as_dict(run.cluster)}};
}

auto tf_config(const Json& input) -> Json {
  distrib::TfConfig config = tf_config_of(input);
  if (input.contains("constructor_overrides")) {
    const Json& overrides = input["constructor_overrides"];
    if (overrides.contains("task_type")) config.task_type = overrides["task_type"].get<std::string>();
    if (overrides.contains("task_id")) config.task_index = overrides["task_id"].get<std::uint32_t>();
    if (overrides.contains("rpc_layer")) config.rpc_layer = overrides["rpc_layer"].get<std::string>();
    if (overrides.contains("environment")) config.environment = overrides["environment"].get<std::string>();
  }
  std::error_code ec;
  const std::string master = config.master(ec);
  if (ec) return {{"call", "master"}, {"error", exception_of(ec)}};
  Json answer{{"task_type", optional_json(config.task_type)},
              {"task_id", optional_json(config.task_index)},
              {"rpc_layer", optional_json(config.rpc_layer)},
              {"master", master},
              {"resolver_environment", optional_json(config.environment)},
              {"cluster", as_dict(config.cluster)}};
  for (const std::string& job : config.cluster.jobs()) answer["task_indices"][job] = config.cluster.task_indices(job);
  return answer;
}

auto tf_config_kind(const std::error_code& code) -> std::string {
  const bool no_json = code.category() != distrib::detail::cluster_category();
  return no_json ? "JSON parse error (ValueError family)" : exception_of(code);
}

auto cluster_roles(const Json& input) -> Json {
  const ClusterSpec cluster = cluster_of(input.at("cluster"));
  const auto job = input.at("task_type").get<std::string>();
  const distrib::TaskId task{job, input.value("task_id", 0U)};
  const auto call = input.at("call").get<std::string>();
  if (call == "is_chief") return {{"is_chief", is_chief(cluster, task)}};
  if (call == "id_in_cluster") return {{"id", id_in_cluster(cluster, task)}};
  if (call == "worker_count") return {{"count", worker_count(cluster, job)}};
  throw Unsupported{};
}

auto flag_list(const Json& argv) -> distrib::ClusterFlags {
  std::vector<std::string> texts;
  for (const Json& text : argv) texts.push_back(text.get<std::string>());
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  std::vector<std::string> rest;
  distrib::Error error;
  auto flags =
      distrib::ClusterFlags::from(pointers, {}, rest, error, distrib::ClusterFlags::UnlistedTask::leave_like_upstream);
  if (error) throw std::system_error{error.code, error.where};
  return flags;
}

auto flags(const Json& input) -> Json {
  if (input.contains("ps_hosts")) {
    Json split = Json::array();
    for (const Json& text : input["ps_hosts"]) split.push_back(distrib::split_hosts(text.get<std::string>()));
    return {{"split", split}};
  }
  if (input.contains("text")) {
    const auto text = input["text"].get<std::string>();
    const Json value = input.at("type") == "integer"   ? optional_json(distrib::integer_flag(text))
                       : input.at("type") == "boolean" ? optional_json(distrib::boolean_flag(text))
                                                       : throw Unsupported{};
    if (value.is_null()) throw Refused{"illegal flag value"};
    return {{"value", value}};
  }
  if (input.empty()) {
    Json list = Json::array();
    for (const distrib::ClusterFlags::FlagInfo& flag : distrib::ClusterFlags::known)
      list.push_back({flag.name, flag.type, nullptr});  // no flag has a default
    return {{"flags", list}};
  }
  const distrib::ClusterFlags parsed = flag_list(input.at("argv"));
  if (parsed.job_name == "evaluator")  // mnist.py makes a cluster of ps and workers alone
    throw std::system_error{distrib::cluster_errc::no_such_job, parsed.job_name};
  if (parsed.local()) return {{"mode", "single machine, no device, empty master"}};
  Json answer{{"mode", "distributed"}};
  if (parsed.job_name == "ps") {
    answer["role"] = "parameter server: joins and never returns";
    return answer;
  }
  answer["cluster"] = {{"ps", parsed.ps_hosts}, {"worker", parsed.worker_hosts}};
  answer["job_name"] = parsed.job_name;
  answer["task_index"] = parsed.task_index;
  answer["is_chief"] = parsed.is_chief();
  answer["worker_device"] = parsed.worker_device();
  return answer;
}

auto device_spec_parse(const Json& input) -> Json {
  const auto spec = distrib::DeviceSpec::parse(input.at("spec").get<std::string>());
  return {{"job", optional_json(spec.job)},
          {"replica", optional_json(spec.replica)},
          {"task", optional_json(spec.task)},
          {"device_type", optional_json(spec.type)},
          {"device_index", optional_json(spec.index)},
          {"to_string", to_string(spec)}};
}

template <class T>
auto change_of(const Json& fields, const char* name) -> distrib::DeviceChange::FieldChange<T> {
  if (!fields.contains(name)) return {};
  if (fields[name].is_null()) return std::nullopt;
  return fields[name].get<T>();
}

auto device_spec_merge(const Json& input) -> Json {
  auto spec = distrib::DeviceSpec::parse(input.at("base").get<std::string>());
  Json texts = Json::array();
  for (const Json& text : input.value("merge_in_order", Json::array())) {
    spec = spec.merged_with(distrib::DeviceSpec::parse(text.get<std::string>()));
    texts.push_back(to_string(spec));
  }
  for (const Json& fields : input.value("replace_in_order", Json::array())) {
    spec = replaced(spec, {.job = change_of<std::string>(fields, "job"),
                           .replica = change_of<std::int64_t>(fields, "replica"),
                           .task = change_of<std::int64_t>(fields, "task"),
                           .type = change_of<std::string>(fields, "device_type"),
                           .index = change_of<std::int64_t>(fields, "device_index")});
    texts.push_back(to_string(spec));
  }
  return {{"to_string_after_each", texts}};
}

}  // namespace

auto cluster_groups() -> std::vector<Group> {
  return {{"cluster_spec", cluster_spec, exception_of},
          {"cluster_roles", cluster_roles, exception_of},
          {"tf_config", tf_config, tf_config_kind},
          {"tf_config_run_config", tf_config_run_config, tf_config_kind},
          {"server_def", server_def, exception_of},
          {"flags", flags, exception_of},
          {"device_spec_parse", device_spec_parse, exception_of},
          {"device_spec_merge", device_spec_merge, exception_of}};
}

}  // namespace conformance
