// SPDX-License-Identifier: Apache-2.0
// Checkpoints and event files.
#include "answers.hpp"

#include "support/temp_directory.hpp"

#include <distrib/checkpoint.hpp>
#include <distrib/checkpoint/data_file_name.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/summary.hpp>
#include <distrib/summary/parse_event.hpp>

#include <cstring>
#include <deque>
#include <fstream>
#include <utility>

namespace conformance {

namespace {

using distrib::DType;
using distrib::Shape;

auto checkpoint_state(const Json& input) -> Json {
  if (input.contains("file_text") || input.contains("files")) {
    const support::TempDirectory directory;
    std::ofstream file{directory / "checkpoint"};
    if (input.contains("file_text")) file << input["file_text"].get<std::string>();
    else file << to_string(distrib::CheckpointState{input.at("model_checkpoint_path").get<std::string>(), {}, {}, {}});
    file.close();
    if (!input.value("files", Json::array()).empty()) throw Unsupported{};
    const auto latest = distrib::latest_checkpoint(directory.path().string());
    return {{"latest_checkpoint", latest ? Json(*latest) : Json()}};
  }
  distrib::Error error;
  const auto all = input.at("all").get<std::vector<std::string>>();
  const auto newest = input.value("model_checkpoint_path", all.empty() ? std::string{} : all.back());
  const auto directory = input.value("save_dir", std::string{});
  const auto state =
      distrib::make_checkpoint_state(directory, newest, all, input.value("timestamps", std::vector<double>{}), error);
  throw_if(error);
  return {{"model_checkpoint_path", state->model_checkpoint_path},
          {"all_model_checkpoint_paths", state->all_model_checkpoint_paths},
          {"file", distrib::state_file_name(directory)}};
}

auto state_kind(const std::error_code&) -> std::string { return "ValueError"; }

/// Returns what a plan writes into the files whose names end with `ending`, joined.
auto planned_bytes(const distrib::FilePlan& plan, std::string_view ending) -> std::string {
  std::vector<std::byte> bytes;
  for (const distrib::FileAction& action : plan)
    if (action.kind == distrib::FileAction::Kind::write && std::string_view{action.path}.ends_with(ending)) {
      for (const distrib::ByteView view : action.views) bytes.insert(bytes.end(), view.begin(), view.end());
      bytes.insert(bytes.end(), action.owned.begin(), action.owned.end());
    }
  return to_hex(bytes);
}

template <class T>
auto bytes_of(const Json& values) -> std::vector<std::byte> {
  const auto numbers = values.get<std::vector<T>>();
  std::vector<std::byte> bytes(numbers.size() * sizeof(T));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

auto save(const Json& tensors) -> Json {
  std::deque<std::vector<std::byte>> storage;
  distrib::BundlePart part;
  for (const Json& tensor : tensors) {
    const auto dtype = tensor.at(1).get<std::string>();
    const Shape shape{tensor.at(2).get<std::vector<std::int64_t>>()};
    if (dtype != "float32" && dtype != "int64") throw Unsupported{};
    storage.push_back(dtype == "float32" ? bytes_of<float>(tensor.at(3)) : bytes_of<std::int64_t>(tensor.at(3)));
    part.tensors.push_back({tensor.at(0).get<std::string>(), dtype == "float32" ? DType::float32 : DType::int64, shape,
                            distrib::Slice::whole(shape), storage.back()});
  }
  const distrib::FilePlan plan = distrib::plan_bundle("c", {&part, 1});
  return {{"index_hex", planned_bytes(plan, ".index")}, {"data_hex", planned_bytes(plan, "-of-00001")}};
}

auto checkpoint_bundle(const Json& input) -> Json {
  if (input.contains("tensors")) return save(input["tensors"]);
  if (input.contains("shards")) {
    const auto prefix = input.at("prefix").get<std::string>();
    const std::size_t shards = input["shards"];
    Json files = Json::array({distrib::index_file_name(prefix)});
    for (std::size_t shard = 0; shard < shards; ++shard)
      files.push_back(distrib::data_file_name(prefix, shard, shards));
    return {{"files", files}};
  }
  if (input.contains("keys")) {
    Json tensors = Json::array();
    for (const Json& key : input["keys"]) tensors.push_back({key, "float32", Json::array(), {0.5}});
    const Json saved = save(tensors);
    distrib::BundleIndex index;
    distrib::Error error;
    static_cast<void>(distrib::parse_bundle_index(from_hex(saved["index_hex"]), index, error));
    throw_if(error);
    if (input.contains("lookup") && index.find(input["lookup"].get<std::string>()) == nullptr)
      throw Refused{"NOT_FOUND"};
    throw Unsupported{};
  }
  const auto file = from_hex(input.at("index_hex"));
  distrib::BundleIndex index;
  distrib::Error error;
  static_cast<void>(distrib::parse_bundle_index(file, index, error));
  throw_if(error);
  Json keys = Json::array({""});
  for (const distrib::StoredTensor& tensor : index.tensors) keys.push_back(tensor.name);
  return {{"keys", keys}, {"block_type_of_first_block", static_cast<int>(index.first_block)}};
}

auto framed(distrib::ByteView payload) -> std::string {
  return to_hex(distrib::encode_record_header(payload.size())) + to_hex(payload) +
         to_hex(distrib::encode_record_footer(payload));
}

/// Returns TensorFlow's name and number of a data class.
auto data_class_name(distrib::ScalarEvent::DataClass data_class) -> const char* {
  switch (data_class) {
    case distrib::ScalarEvent::DataClass::unknown: break;
    case distrib::ScalarEvent::DataClass::scalar: return "DATA_CLASS_SCALAR (1)";
    case distrib::ScalarEvent::DataClass::tensor: return "DATA_CLASS_TENSOR (2)";
    case distrib::ScalarEvent::DataClass::blob_sequence: return "DATA_CLASS_BLOB_SEQUENCE (3)";
  }
  return "DATA_CLASS_UNKNOWN (0)";
}

auto event_file(const Json& input) -> Json {
  if (input.contains("logdir"))
    return {{"path", distrib::detail::event_file_name(input["logdir"].get<std::string>(), input.at("unix_seconds"),
                                                      input.at("hostname").get<std::string>())}};
  if (input.contains("event_hex")) {
    const auto bytes = from_hex(input["event_hex"]);
    distrib::ParsedEvent event;
    if (!distrib::parse_event(bytes, event)) throw Refused{"DATA_LOSS"};
    if (event.scalars.empty()) throw Unsupported{};
    const distrib::ScalarEvent& scalar = event.scalars.front();
    Json answer{{"wall_time", scalar.wall_time}, {"step", scalar.step}, {"tag", scalar.tag}};
    answer["plugin_name"] = scalar.plugin_name;
    answer["data_class"] = data_class_name(scalar.data_class);
    answer["tensor"] = {{"dtype", "DT_FLOAT"}, {"shape", Json::array()}, {"value", scalar.value}};
    return answer;
  }
  distrib::WireWriter event;
  const double wall_time = input.at("wall_time");
  if (input.contains("file_version")) distrib::write_version_event(event, wall_time);
  else if (input.contains("simple_value"))
    distrib::write_scalar_event(event, wall_time, input.at("step"), input.at("tag").get<std::string>(),
                                input["simple_value"].get<float>(), distrib::ScalarForm::simple_value);
  else if (input.at("status") == "CHECKPOINT")
    distrib::write_session_event(event, wall_time, input.at("step"), distrib::SessionStatus::checkpoint,
                                 input.at("checkpoint_path").get<std::string>());
  else throw Unsupported{};
  return {{"event_hex", to_hex(event.view())}, {"record_hex", framed(event.view())}};
}

}  // namespace

auto file_groups() -> std::vector<Group> {
  return {{"checkpoint_state", checkpoint_state, state_kind},
          {"checkpoint_bundle", checkpoint_bundle},
          {"event_file", event_file}};
}

}  // namespace conformance
