// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/stored_tensor.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

// The format (https://github.com/huggingface/safetensors): 8 bytes N, little-endian; N bytes of JSON, which may end in
// spaces; the bytes of the tensors, row-major, little-endian, without a hole. The header has a member for each tensor,
// {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}, and perhaps "__metadata__", texts by name. Offsets are counted
// from the end of the header. The file has no checksum.

/// What the header of a safetensors file says.
struct SafetensorsHeader {
  /// In ascending order of the names. Each has one piece in data file 0, without a checksum.
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string> metadata;  ///< `__metadata__`.
};

namespace detail {

inline constexpr std::size_t safetensors_length_bytes = 8;  ///< The number before the header.
inline constexpr std::uint64_t max_safetensors_header = 100'000'000;  ///< As the format demands.
inline constexpr std::string_view safetensors_metadata = "__metadata__";

/// Returns the name of a type in this format: "F32"; empty for `string` and values that are no DType.
[[nodiscard]] DISTRIB_DECL auto safetensors_type(DType dtype) noexcept -> std::string_view;

/// Returns the rank of a type in the order of the format, by which a writer sorts tensors: "BOOL" is 0, "U64" the last.
[[nodiscard]] DISTRIB_DECL auto safetensors_order(DType dtype) noexcept -> std::size_t;

/// Returns how many bytes the header has, from the first 8 bytes of a file of `file_bytes`. Empty, and `error` is set,
/// if that is impossible.
[[nodiscard]] DISTRIB_DECL auto safetensors_header_bytes(ByteView first, std::uint64_t file_bytes, Error& error)
    -> std::optional<std::uint64_t>;

}  // namespace detail

/// Reads the beginning of a safetensors file: `head` is the first 8 bytes and the whole header, and may be more, for
/// example the whole file. `file_bytes`: the size of the file. Performs no I/O. Memory: a few times the header; no
/// recursion.
///
/// Stricter than the format in what two readers could understand differently: a name twice, spaces before the header,
/// zero bytes in names, shapes whose extents do not multiply to a number. It takes what Python's reader takes
/// otherwise: unknown members, any order, tensors that are not aligned.
///
/// On success returns true and replaces the contents of `header`. On failure returns false; `to` says what and where in
/// the header, and `header` must not be used: `bad_tensor_file`; `unsupported` (a tensor has more than
/// `Shape::max_rank` axes).
[[nodiscard]] DISTRIB_DECL auto parse_safetensors(ByteView head, std::uint64_t file_bytes, SafetensorsHeader& header,
                                                  ErrorRef to) -> bool;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/formats/impl/safetensors_header.ipp>
#endif
