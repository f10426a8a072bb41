// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// The formats in which tensors are read.
enum class TensorFormat : std::uint8_t {
  checkpoint,  ///< TensorFlow's checkpoints: `PREFIX.index` and `PREFIX.data-...`.
  safetensors,  ///< One file, or several with a list `NAME.safetensors.index.json`.
  torch,  ///< What `torch.save` writes: a zip archive with a pickle in it.
};

/// Tensors that can be read, in whatever format they lie on the disk.
struct TensorFile {
  TensorFormat format = TensorFormat::checkpoint;  ///< The format that was found.
  BundleReader reader;  ///< Finds and reads the tensors, whatever the format is.
  std::map<std::string, std::string> metadata = {};  ///< Of safetensors; of several files together.
};

namespace detail {

/// Returns the format that a path means, by its suffix or by the first bytes of the file: ".safetensors",
/// ".index.json", ".pt", ".pth"; a file that begins as an archive or a header. Everything else is the prefix of a
/// checkpoint.
[[nodiscard]] DISTRIB_DECL auto tensor_format_of(const std::string& path) -> TensorFormat;

}  // namespace detail

/// Opens a file of tensors: "model.safetensors", "model.safetensors.index.json", "model.pt", whatever its name is, or
/// the prefix of a checkpoint, as `BundleReader::open`. Blocks. No code of a file runs. Memory: bounded by the size of
/// the file, for what describes the tensors.
///
/// Reads what describes the tensors, and all booleans, which must be 0 or 1. Of a PyTorch file also the storages that
/// several tensors share, or that no tensor has from the first to the last element: there the checksums are verified
/// once, here; for other storages when a tensor is read. A safetensors file has no checksums, and a PyTorch file that
/// was saved after `torch.serialization.set_crc32_options(False)` has none either.
///
/// The names of tensors are those in the file; in a PyTorch file with dicts in dicts they are joined by '/':
/// "model/conv.weight".
///
/// Errors: `no_such_checkpoint`; `bad_tensor_file`, also for what is no such file; `unsupported`, with what to do: a
/// file of PyTorch that contains more than tensors, or that has an older format; `missing_data_file` (of several);
/// `corrupt_data`, `cannot_read`; and those of `BundleReader::open`.
[[nodiscard]] DISTRIB_DECL auto open_tensor_file(const std::string& path, ErrorRef to) -> std::optional<TensorFile>;

/// The same, but throws `std::system_error` that names the file.
[[nodiscard]] inline auto open_tensor_file(const std::string& path) -> TensorFile {
  Error error;
  return *detail::or_throw(open_tensor_file(path, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/formats/impl/tensor_file.ipp>
#endif
