// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/formats/file_layout.hpp>
#include <distrib/checkpoint/formats/named_tensor.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/io_action.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// How safetensors files are written.
struct SafetensorsOptions {
  /// `__metadata__` of each file. transformers reads only files that have "format" there: "pt".
  std::map<std::string, std::string> metadata = {{"format", "pt"}};
  /// Metadata that only the file with this tensor gets, by the name of the tensor: a name and a text. Often empty.
  std::map<std::string, std::pair<std::string, std::string>> metadata_of = {};
  /// Most bytes of tensors in one file; a larger tensor has a file of its own. If the tensors have more, there are
  /// several files "model-00001-of-00013.safetensors", and "model.safetensors.index.json". 0: always one file.
  std::uint64_t max_file_bytes = 0;
};

namespace detail {

/// Lays out safetensors files. Tensors go into files in the order of their names; in a file they are sorted by
/// descending type, then by name, and the header is padded to a multiple of 8 bytes: so each tensor is aligned to its
/// elements, and the files are those that Python's writer makes.
///
/// `path`: of the one file. Of several: "DIRECTORY/NAME.safetensors" gives the names "DIRECTORY/NAME-00001-of-00002.
/// safetensors" and "DIRECTORY/NAME.safetensors.index.json". On failure `error` names the tensor, as `check_tensors`;
/// `mismatch` also if a header would be larger than the format allows.
[[nodiscard]] DISTRIB_DECL auto lay_out_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                                                    const SafetensorsOptions& options, Error& error) -> FileLayout;

}  // namespace detail

/// Plans how `tensors` are written as a safetensors file, or as several if `options` limits the size of a file. All
/// is written under hidden names and made durable; then the files get their names, the index last. Performs no I/O. The
/// bytes of the tensors are not copied: they must stay valid until the plan was performed.
///
/// On failure the plan is empty and `to` names the tensor: `mismatch` (a name, a type, or a number of bytes),
/// `duplicate`.
[[nodiscard]] DISTRIB_DECL auto plan_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                                                 const SafetensorsOptions& options, ErrorRef to) -> FilePlan;

/// Writes `tensors` as `plan_safetensors` plans it, into a directory that exists. Blocks. Errors: `mismatch` or
/// `duplicate` as there, `no_room`, `cannot_write`; a file that existed before then still does, unless it was one of
/// several.
DISTRIB_DECL void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                                   const SafetensorsOptions& options, ErrorRef to);

/// This overload throws the error as `std::system_error` that names the file or the tensor.
inline void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                             const SafetensorsOptions& options = {}) {
  Error error;
  save_safetensors(path, tensors, options, error);
  throw_if(error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/formats/impl/safetensors_writer.ipp>
#endif
