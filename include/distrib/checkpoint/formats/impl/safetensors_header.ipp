// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/formats/safetensors_header.hpp>

#include <distrib/core/json.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/slice.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// A type of the format.
struct SafetensorsType {
  std::string_view name;
  unsigned bits;
  DType dtype;  // TensorFlow's number; 0: TensorFlow has no such type
};

/// In the order of the format (safetensors/src/tensor.rs, `Dtype`), which is ascending in the sizes of elements.
inline constexpr std::array<SafetensorsType, 22> safetensors_types{{
    {"BOOL", 8, DType::boolean}, {"F4", 4, DType{}},          {"F6_E2M3", 6, DType{}},
    {"F6_E3M2", 6, DType{}},     {"U8", 8, DType::uint8},     {"I8", 8, DType::int8},
    {"F8_E5M2", 8, DType{24}},   {"F8_E4M3", 8, DType{25}},   {"F8_E8M0", 8, DType{}},
    {"F8_E4M3FNUZ", 8, DType{}}, {"F8_E5M2FNUZ", 8, DType{}}, {"I16", 16, DType::int16},
    {"U16", 16, DType::uint16},  {"F16", 16, DType::float16}, {"BF16", 16, DType::bfloat16},
    {"I32", 32, DType::int32},   {"U32", 32, DType::uint32},  {"F32", 32, DType::float32},
    {"C64", 64, DType{8}},       {"F64", 64, DType::float64}, {"I64", 64, DType::int64},
    {"U64", 64, DType::uint64},
}};

DISTRIB_DECL auto safetensors_order(DType dtype) noexcept -> std::size_t {
  const auto is_it = [dtype](const SafetensorsType& type) { return type.dtype == dtype; };
  const auto at = std::find_if(safetensors_types.begin(), safetensors_types.end(), is_it);
  return static_cast<std::size_t>(at - safetensors_types.begin());
}

DISTRIB_DECL auto safetensors_type(DType dtype) noexcept -> std::string_view {
  const std::size_t at = size_bytes(dtype) == 0 ? safetensors_types.size() : safetensors_order(dtype);
  return at == safetensors_types.size() ? std::string_view{} : safetensors_types[at].name;
}

DISTRIB_DECL auto bad_tensor_file(Error& error, std::string what) -> bool {
  error = {checkpoint_errc::bad_tensor_file, std::move(what)};
  return false;
}

DISTRIB_DECL auto safetensors_header_bytes(ByteView first, std::uint64_t file_bytes, Error& error)
    -> std::optional<std::uint64_t> {
  if (file_bytes < safetensors_length_bytes || first.size() < safetensors_length_bytes) {
    bad_tensor_file(error, std::to_string(file_bytes) + " bytes, too few for the length of a header");
    return std::nullopt;
  }
  const auto bytes = load_le<std::uint64_t>(first.data());
  if (bytes > max_safetensors_header || bytes > file_bytes - safetensors_length_bytes) {
    bad_tensor_file(error, "a header of " + std::to_string(bytes) + " bytes in a file of " +
                               std::to_string(file_bytes) + "; at most " + std::to_string(max_safetensors_header) +
                               " are allowed");
    return std::nullopt;
  }
  return bytes;
}

/// Reads one header. After a failure `error` is set.
class SafetensorsParser {
 public:
  /// `data_bytes`: the bytes of the file after the header. `data_at`: where they begin.
  SafetensorsParser(std::string_view text, std::uint64_t data_at, std::uint64_t data_bytes, Error& error)
      : text_{text}, data_at_{data_at}, data_bytes_{data_bytes}, error_{error}, json_{text} {}

  DISTRIB_DECL auto parse(SafetensorsHeader& header) -> bool;

 private:
  DISTRIB_DECL auto read_metadata(std::map<std::string, std::string>& metadata) -> bool;
  DISTRIB_DECL auto read_tensor(StoredTensor& tensor) -> bool;
  DISTRIB_DECL auto read_numbers(std::string_view name, std::vector<std::int64_t>& numbers) -> bool;
  DISTRIB_DECL auto describe(StoredTensor& tensor, std::string_view type, std::span<const std::int64_t> extents,
                             std::span<const std::int64_t> offsets) -> bool;
  DISTRIB_DECL auto check_cover(std::span<const StoredTensor> tensors) -> bool;

  auto refuse(const std::string& what) -> bool { return bad_tensor_file(error_, "header: " + what); }
  // Refuses the current token.
  auto unexpected(const std::string& wanted) -> bool {
    if (json_.token() != JsonToken::error)
      return refuse("offset " + std::to_string(json_.offset()) + ": expected " + wanted);
    const Error error = json_.error();
    return refuse(error.where + ": " + error.code.message());
  }
  static auto shown(std::string_view name) -> std::string { return "tensor " + std::string{name}; }

  std::string_view text_;
  std::uint64_t data_at_;
  std::uint64_t data_bytes_;
  Error& error_;
  JsonReader json_;
};

DISTRIB_DECL auto SafetensorsParser::parse(SafetensorsHeader& header) -> bool {
  if (!text_.starts_with('{')) return refuse("it does not begin with {");
  bool has_metadata = false;
  json_.next();
  while (json_.next() == JsonToken::name) {
    if (json_.text() == safetensors_metadata) {
      if (std::exchange(has_metadata, true)) return refuse("__metadata__ occurs twice");
      if (!read_metadata(header.metadata)) return false;
      continue;
    }
    StoredTensor tensor;
    tensor.name = json_.text();
    if (tensor.name.find('\0') != std::string::npos) return refuse("the name of a tensor has a zero byte");
    if (!read_tensor(tensor)) return false;
    header.tensors.push_back(std::move(tensor));
  }
  if (json_.token() != JsonToken::end_object) return unexpected("a name");
  if (json_.next() != JsonToken::end) return unexpected("nothing after the header");

  if (const StoredTensor* const twice = sort_by_name(header.tensors))
    return refuse(shown(twice->name) + " occurs twice");
  return check_cover(header.tensors);
}

DISTRIB_DECL auto SafetensorsParser::read_metadata(std::map<std::string, std::string>& metadata) -> bool {
  if (json_.next() == JsonToken::null) return true;
  if (json_.token() != JsonToken::begin_object) return unexpected("an object of texts for __metadata__");
  while (json_.next() == JsonToken::name) {
    std::string name{json_.text()};
    if (json_.next() != JsonToken::string) return unexpected("a text in __metadata__");
    if (!metadata.try_emplace(std::move(name), json_.text()).second)
      return refuse("a name in __metadata__ occurs twice");
  }
  return json_.token() == JsonToken::end_object || unexpected("a name");
}

DISTRIB_DECL auto SafetensorsParser::read_tensor(StoredTensor& tensor) -> bool {
  std::optional<std::string> type;
  std::optional<std::vector<std::int64_t>> extents;
  std::optional<std::vector<std::int64_t>> offsets;
  if (json_.next() != JsonToken::begin_object) return unexpected("an object for " + shown(tensor.name));
  while (json_.next() == JsonToken::name) {
    if (json_.text() == "dtype") {
      if (type) return refuse(shown(tensor.name) + ": dtype occurs twice");
      if (json_.next() != JsonToken::string) return unexpected("a text for dtype");
      type = json_.text();
    } else if (json_.text() == "shape" || json_.text() == "data_offsets") {
      const std::string name{json_.text()};
      auto& numbers = name == "shape" ? extents : offsets;
      if (numbers) return refuse(shown(tensor.name) + ": " + name + " occurs twice");
      if (!read_numbers(name, numbers.emplace())) return false;
    } else {
      json_.skip();
      if (json_.token() == JsonToken::error) return unexpected("a value");
    }
  }
  if (json_.token() != JsonToken::end_object) return unexpected("a name");
  if (!type || !extents || !offsets) return refuse(shown(tensor.name) + ": dtype, shape or data_offsets is missing");
  return describe(tensor, *type, *extents, *offsets);
}

DISTRIB_DECL auto SafetensorsParser::read_numbers(std::string_view name, std::vector<std::int64_t>& numbers) -> bool {
  if (json_.next() != JsonToken::begin_array) return unexpected("a list for " + std::string{name});
  while (json_.next() == JsonToken::number) {
    const auto number = json_.int64();
    if (!number || json_.text().starts_with('-'))
      return refuse("offset " + std::to_string(json_.offset()) + ": " + std::string{json_.text()} + " in " +
                    std::string{name} + " is not a whole number below 2^63");
    numbers.push_back(*number);
  }
  return json_.token() == JsonToken::end_array || unexpected("a number");
}

// Sets type, shape and piece of a tensor, if they fit together.
DISTRIB_DECL auto SafetensorsParser::describe(StoredTensor& tensor, std::string_view type,
                                              std::span<const std::int64_t> extents,
                                              std::span<const std::int64_t> offsets) -> bool {
  const std::string name = shown(tensor.name);
  const auto known = std::find_if(safetensors_types.begin(), safetensors_types.end(),
                                  [type](const SafetensorsType& one) { return one.name == type; });
  if (known == safetensors_types.end()) return refuse(name + ": there is no dtype " + std::string{type});
  tensor.dtype = known->dtype;
  if (known->dtype == DType{}) tensor.other_type = type;
  if (extents.size() > Shape::max_rank) {
    error_ = {checkpoint_errc::unsupported, "header: " + name + ": " + std::to_string(extents.size()) +
                                                " axes; at most " + std::to_string(Shape::max_rank) + " are read"};
    return false;
  }
  if (!Shape::valid(extents)) return refuse(name + ": the extents are too large");
  tensor.shape = Shape{extents};
  if (offsets.size() != 2 || offsets[0] > offsets[1] || static_cast<std::uint64_t>(offsets[1]) > data_bytes_)
    return refuse(name + ": data_offsets are not two places in the data, of " + std::to_string(data_bytes_) + " bytes");
  const auto bytes = static_cast<std::uint64_t>(offsets[1] - offsets[0]);
  const auto elements = static_cast<std::uint64_t>(tensor.shape.elements());
  // first bounds, so that no product overflows: an element has at least 4 bits
  if (bytes >> 56 != 0 || elements / 2 > bytes || elements * known->bits != bytes * 8)
    return refuse(name + ": " + std::to_string(bytes) + " bytes for " + std::string{type} + to_string(tensor.shape));
  StoredTensor::Piece piece{Slice::whole(tensor.shape), 0, data_at_ + static_cast<std::uint64_t>(offsets[0]), bytes};
  piece.checksum = StoredTensor::Checksum::none;
  tensor.pieces.push_back(std::move(piece));
  return true;
}

// True if the tensors cover the data, each byte once.
DISTRIB_DECL auto SafetensorsParser::check_cover(std::span<const StoredTensor> tensors) -> bool {
  std::vector<const StoredTensor*> in_order;
  in_order.reserve(tensors.size());
  for (const StoredTensor& tensor : tensors) in_order.push_back(&tensor);
  std::sort(in_order.begin(), in_order.end(), [](const StoredTensor* a, const StoredTensor* b) {
    const StoredTensor::Piece& one = a->pieces.front();
    const StoredTensor::Piece& other = b->pieces.front();
    return std::pair{one.offset, one.size_bytes} < std::pair{other.offset, other.size_bytes};
  });
  std::uint64_t end = data_at_;
  for (const StoredTensor* tensor : in_order) {
    const StoredTensor::Piece& piece = tensor->pieces.front();
    if (piece.offset != end)
      return refuse(shown(tensor->name) + (piece.offset < end ? " overlaps another one" : " comes after a hole"));
    end += piece.size_bytes;
  }
  if (end == data_at_ + data_bytes_) return true;
  return refuse(std::to_string(data_at_ + data_bytes_ - end) + " bytes after the last tensor");
}

}  // namespace detail

DISTRIB_DECL auto parse_safetensors(ByteView head, std::uint64_t file_bytes, SafetensorsHeader& header, ErrorRef to)
    -> bool {
  detail::ErrorOut error{to};
  header = {};
  const auto bytes = detail::safetensors_header_bytes(head, file_bytes, error);
  if (!bytes) return false;
  const std::uint64_t data_at = detail::safetensors_length_bytes + *bytes;
  if (head.size() < data_at) return detail::bad_tensor_file(error, "the header is cut off");
  const std::string_view text =
      as_text(head.subspan(detail::safetensors_length_bytes, static_cast<std::size_t>(*bytes)));
  return detail::SafetensorsParser{text, data_at, file_bytes - data_at, error}.parse(header);
}

}  // namespace v0
}  // namespace distrib
