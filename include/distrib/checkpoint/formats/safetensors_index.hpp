// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

// How transformers' users keep a large model: several files "model-00001-of-00013.safetensors", and beside them
// "model.safetensors.index.json", {"metadata":{"total_size":N},"weight_map":{"name":"file"}}.

/// Which file of a directory has a tensor, by the name of the tensor.
using WeightMap = std::map<std::string, std::string>;

/// Returns the text of an index file, which names for each tensor of `files` its file. `total_bytes`: the sum of the
/// bytes of all tensors. Throws `std::bad_alloc` only.
[[nodiscard]] DISTRIB_DECL auto safetensors_index_text(const WeightMap& files, std::uint64_t total_bytes)
    -> std::string;

/// Reads the text of an index file. Performs no I/O. Memory: a few times the text; no recursion.
///
/// On failure returns false; `to` says what and where in the text, and `files` must not be used: `bad_tensor_file`,
/// also if a tensor occurs twice, or if the name of a file is not the name of a file in the same directory.
[[nodiscard]] DISTRIB_DECL auto parse_safetensors_index(std::string_view text, WeightMap& files, ErrorRef to) -> bool;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/formats/impl/safetensors_index.ipp>
#endif
