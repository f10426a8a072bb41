// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/formats/safetensors_index.hpp>

#include <distrib/checkpoint/error.hpp>

#include "support/catch.hpp"

#include <string>

using distrib::Error;
using distrib::parse_safetensors_index;
using distrib::WeightMap;

TEST_CASE("an index of safetensors files is read as it was written", "[checkpoint][safetensors]") {
  const WeightMap files{{"a \"b\"", "model-00001-of-00002.safetensors"}, {"w", "model-00002-of-00002.safetensors"}};
  const std::string text = distrib::safetensors_index_text(files, 1234);
  CHECK(text ==
        "{\n  \"metadata\": {\n    \"total_size\": 1234\n  },\n  \"weight_map\": {\n"
        "    \"a \\\"b\\\"\": \"model-00001-of-00002.safetensors\",\n"
        "    \"w\": \"model-00002-of-00002.safetensors\"\n  }\n}\n");
  WeightMap found;
  Error error;
  CHECK(parse_safetensors_index(text, found, error));
  CHECK(found == files);
  CHECK(parse_safetensors_index(R"({"weight_map":{}})", found, error));
  CHECK(found.empty());
  CHECK(parse_safetensors_index(R"({"metadata":[{}],"weight_map":{"a":"b"},"more":[[1]]})", found, error));
  CHECK(found == WeightMap{{"a", "b"}});
}

TEST_CASE("an index that is damaged, or leads out of its directory, is refused", "[checkpoint][safetensors]") {
  const struct {
    const char* text;
    const char* where;
  } cases[] = {
      {"", "offset 0: the JSON text is empty"},
      {"[]", "offset 0: not an object with a weight_map"},
      {"{}", "not an object with a weight_map"},
      {R"({"weight_map":[]})", "offset 14: not an object with a weight_map"},
      {R"({"weight_map":{"a":1}})", "not an object with a weight_map"},
      {R"({"weight_map":{"a":"b"},"weight_map":{}})", "weight_map occurs twice"},
      {R"({"weight_map":{"a":"b","a":"b"}})", "tensor a occurs twice"},
      {R"({"weight_map":{"a":"../b"}})", "tensor a is in ../b, which is no file of this directory"},
      {R"({"weight_map":{"a":"/b"}})", "no file of this directory"},
      {R"({"weight_map":{"a":".."}})", "no file of this directory"},
      {R"({"weight_map":{"a":""}})", "no file of this directory"},
      {R"({"weight_map":{"a":"b\u0000"}})", "no file of this directory"},
      {R"({"weight_map":{"a":"b"}} x)", "offset 25: there is more text"},
      {R"({"weight_map":{"a":"b")", "ends inside a value"},
  };
  for (const auto& c : cases) {
    WeightMap files;
    Error error;
    CAPTURE(c.text);
    CHECK_FALSE(parse_safetensors_index(c.text, files, error));
    CHECK(error.code == distrib::checkpoint_errc::bad_tensor_file);
    CHECK_THAT(error.where, ContainsSubstring(c.where));
  }
}
