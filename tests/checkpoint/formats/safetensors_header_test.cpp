// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/formats/safetensors_header.hpp>

#include "checkpoint/formats/formats_support.hpp"

#include <string>
#include <string_view>

using distrib::checkpoint_errc;
using distrib::DType;
using distrib::Error;
using distrib::parse_safetensors;
using distrib::SafetensorsHeader;
using support::safetensors_file;

namespace {

auto described(const SafetensorsHeader& header) -> std::string {
  std::string text;
  for (const distrib::StoredTensor& tensor : header.tensors) {
    const std::string_view type = distrib::detail::safetensors_type(tensor.dtype);
    text += (text.empty() ? "" : " ") + tensor.name + ":" + (type.empty() ? tensor.type_name() : std::string{type}) +
            to_string(tensor.shape);
  }
  return text;
}

/// Returns why a file is refused.
auto refusal(std::string_view header, std::string_view data = {}) -> Error {
  const auto file = safetensors_file(header, data);
  SafetensorsHeader parsed;
  Error error;
  CHECK_FALSE(parse_safetensors(file, file.size(), parsed, error));
  return error;
}

}  // namespace

TEST_CASE("safetensors: the 60 attacks have the verdicts that they should have", "[checkpoint][safetensors]") {
  const auto cases = support::safetensors_cases();
  REQUIRE(cases.size() == 60);
  for (const auto& c : cases) {
    CAPTURE(c.name);
    SafetensorsHeader header;
    Error error;
    const bool taken = parse_safetensors(c.file, c.file.size(), header, error);
    CHECK(taken == !error);
    if (c.name == "BOOL 2") continue;  // the header is good: open_tensor_file refuses the value
    CHECK(taken == c.taken);
    if (taken) CHECK(described(header) == c.tensors);
    else CHECK(error.code == checkpoint_errc::bad_tensor_file);
  }
}

TEST_CASE("safetensors: the case of the reference, with entries out of order", "[checkpoint][safetensors]") {
  const auto file = support::from_hex(
      "6e000000000000007b2262223a7b226474797065223a22463332222c227368617065223a5b315d2c22646174615f6f666673657473223a5b"
      "342c385d7d2c2261223a7b226474797065223a2242463136222c227368617065223a5b325d2c22646174615f6f666673657473223a5b302c"
      "345d7d7d20200000803f00000040");
  SafetensorsHeader header;
  Error error;
  REQUIRE(parse_safetensors(file, file.size(), header, error));
  REQUIRE(header.tensors.size() == 2);
  const auto& a = header.tensors[0];
  CHECK(a.name == "a");
  CHECK(a.dtype == DType::bfloat16);
  CHECK(a.shape == distrib::Shape{2});
  CHECK(a.pieces.front().offset == 118);
  CHECK(a.pieces.front().size_bytes == 4);
  CHECK(a.pieces.front().checksum == distrib::StoredTensor::Checksum::none);
  const auto& b = header.tensors[1];
  CHECK(b.dtype == DType::float32);
  CHECK(b.pieces.front().offset == 122);

  // the header is enough, if the size of the file is told
  CHECK(parse_safetensors(distrib::ByteView{file}.first(118), 126, header, error));
  CHECK_FALSE(parse_safetensors(distrib::ByteView{file}.first(117), 126, header, error));
  CHECK_FALSE(parse_safetensors(distrib::ByteView{file}.first(118), 127, header, error));
}

TEST_CASE("safetensors: every type of the format is known", "[checkpoint][safetensors]") {
  const struct {
    const char* type;
    const char* shape;
    int bytes;
    const char* name;
  } cases[] = {{"BOOL", "[2]", 2, "bool"},
               {"F4", "[4]", 2, "F4"},
               {"F6_E2M3", "[4]", 3, "F6_E2M3"},
               {"F6_E3M2", "[8]", 6, "F6_E3M2"},
               {"U8", "[2]", 2, "uint8"},
               {"I8", "[2]", 2, "int8"},
               {"F8_E5M2", "[2]", 2, "float8_e5m2"},
               {"F8_E4M3", "[2]", 2, "float8_e4m3fn"},
               {"F8_E8M0", "[2]", 2, "F8_E8M0"},
               {"F8_E4M3FNUZ", "[2]", 2, "F8_E4M3FNUZ"},
               {"F8_E5M2FNUZ", "[2]", 2, "F8_E5M2FNUZ"},
               {"I16", "[2]", 4, "int16"},
               {"U16", "[2]", 4, "uint16"},
               {"F16", "[2]", 4, "float16"},
               {"BF16", "[2]", 4, "bfloat16"},
               {"I32", "[2]", 8, "int32"},
               {"U32", "[2]", 8, "uint32"},
               {"F32", "[2]", 8, "float32"},
               {"C64", "[2]", 16, "complex64"},
               {"F64", "[2]", 16, "float64"},
               {"I64", "[2]", 16, "int64"},
               {"U64", "[2]", 16, "uint64"}};
  for (const auto& c : cases) {
    const std::string header = std::string{R"({"t":{"dtype":")"} + c.type + R"(","shape":)" + c.shape +
                               R"(,"data_offsets":[0,)" + std::to_string(c.bytes) + "]}}";
    const auto file = safetensors_file(header, std::string(static_cast<std::size_t>(c.bytes), '\0'));
    SafetensorsHeader parsed;
    Error error;
    CAPTURE(c.type, error.where);
    REQUIRE(parse_safetensors(file, file.size(), parsed, error));
    CHECK(parsed.tensors.front().type_name() == c.name);
  }
}

TEST_CASE("safetensors: metadata is texts by name", "[checkpoint][safetensors]") {
  const auto file = safetensors_file(R"({"__metadata__":{"format":"pt","a\n":"\u00e9"}})");
  SafetensorsHeader header;
  Error error;
  REQUIRE(parse_safetensors(file, file.size(), header, error));
  CHECK(header.metadata == std::map<std::string, std::string>{{"a\n", "\xc3\xa9"}, {"format", "pt"}});
  CHECK(header.tensors.empty());
  CHECK_THAT(refusal(R"({"__metadata__":{"a":"b","a":"b"}})").where, ContainsSubstring("occurs twice"));
}

TEST_CASE("safetensors: a refusal says what is wrong, and where", "[checkpoint][safetensors]") {
  const struct {
    const char* header;
    const char* data;
    const char* where;
  } cases[] = {
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234", "header: tensor w: 4 bytes for F32[2]"},
      {R"({"w":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", "1234", "tensor w: there is no dtype F33"},
      {R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "12345", "1 bytes after the last tensor"},
      {R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "12345678", "tensor w comes after a hole"},
      {R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       "1234", "overlaps another one"},
      {R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", "1234", "not two places in the data, of 4 bytes"},
      {R"({"w":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", "1234", "offset 29: 1.5 in shape is not"},
      {R"({"w":{"dtype":"F32","shape":[-0],"data_offsets":[0,0]}})", "", "-0 in shape is not a whole number"},
      {R"({"w":[]})", "", "offset 5: expected an object for tensor w"},
      {R"({"w":{"dtype":"F32")", "", "header: offset 19: the JSON text is empty or ends inside a value"},
  };
  for (const auto& c : cases) {
    const Error error = refusal(c.header, c.data);
    CHECK(error.code == checkpoint_errc::bad_tensor_file);
    CHECK_THAT(error.where, ContainsSubstring(c.where));
  }
  const Error axes = refusal(R"({"w":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", "1");
  CHECK(axes.code == checkpoint_errc::unsupported);
  CHECK_THAT(axes.where, ContainsSubstring("tensor w: 9 axes; at most 8 are read"));
}

TEST_CASE("safetensors: types are ordered as the format orders them", "[checkpoint][safetensors]") {
  using distrib::detail::safetensors_order;
  const DType ascending[] = {DType::boolean, DType::uint8,    DType::int8,  DType::int16,  DType::uint16,
                             DType::float16, DType::bfloat16, DType::int32, DType::uint32, DType::float32,
                             DType::float64, DType::int64,    DType::uint64};
  for (std::size_t i = 1; i < std::size(ascending); ++i)
    CHECK(safetensors_order(ascending[i - 1]) < safetensors_order(ascending[i]));
  CHECK(distrib::detail::safetensors_type(DType::string).empty());
  CHECK(distrib::detail::safetensors_type(DType{}).empty());
}
