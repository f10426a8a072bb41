// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/formats/safetensors_index.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/json.hpp>
#include <distrib/core/json_text.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// True if `name` can only be a file in the directory that it is looked for in.
DISTRIB_DECL auto is_plain_file_name(std::string_view name) noexcept -> bool {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

DISTRIB_DECL auto read_weight_map(JsonReader& json, WeightMap& files, std::string& wrong) -> bool {
  if (json.next() != JsonToken::begin_object) return false;
  while (json.next() == JsonToken::name) {
    std::string name{json.text()};
    if (json.next() != JsonToken::string) return false;
    if (!is_plain_file_name(json.text())) {
      wrong = "tensor " + name + " is in " + std::string{json.text()} + ", which is no file of this directory";
      return false;
    }
    const auto [at, first] = files.try_emplace(std::move(name), json.text());
    if (first) continue;
    wrong = "tensor " + at->first + " occurs twice";
    return false;
  }
  return json.token() == JsonToken::end_object;
}

}  // namespace detail

DISTRIB_DECL auto safetensors_index_text(const WeightMap& files, std::uint64_t total_bytes) -> std::string {
  std::string text =
      "{\n  \"metadata\": {\n    \"total_size\": " + std::to_string(total_bytes) + "\n  },\n  \"weight_map\": {";
  const char* before = "\n    ";
  for (const auto& [name, file] : files) {
    text += before + json_text(name) + ": " + json_text(file);
    before = ",\n    ";
  }
  return text + "\n  }\n}\n";
}

DISTRIB_DECL auto parse_safetensors_index(std::string_view text, WeightMap& files, ErrorRef to) -> bool {
  detail::ErrorOut error{to};
  files.clear();
  JsonReader json{text};
  std::string wrong;
  bool has_map = false;
  bool good = json.next() == JsonToken::begin_object;
  while (good && json.next() == JsonToken::name) {
    if (json.text() != "weight_map") {
      json.skip();
    } else if (std::exchange(has_map, true)) {
      wrong = "weight_map occurs twice";
      good = false;
    } else {
      good = detail::read_weight_map(json, files, wrong);
    }
  }
  good = good && json.token() == JsonToken::end_object && json.next() == JsonToken::end;
  if (good && has_map) return true;
  if (wrong.empty() && json.token() == JsonToken::error) {
    const Error of_text = json.error();
    wrong = of_text.where + ": " + of_text.code.message();
  }
  if (wrong.empty())
    wrong = "offset " + std::to_string(json.offset()) + ": not an object with a weight_map of texts by name";
  error = {checkpoint_errc::bad_tensor_file, wrong};
  return false;
}

}  // namespace v0
}  // namespace distrib
