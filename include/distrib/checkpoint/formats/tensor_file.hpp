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

/// Opens a file of tensors, and finds its format. The end of the name decides: ".safetensors"; ".index.json", the list
/// of several safetensors files; ".pt" and ".pth" for PyTorch. For another name the first bytes decide between a
/// safetensors file and a PyTorch file. Everything else is the prefix of a checkpoint, "model.ckpt-9", or one of its
/// files, which `BundleReader::open` opens. Blocks. No code of a file runs. Memory: bounded by the size of the file,
/// for what describes the tensors.
///
/// Reads what describes the tensors; of safetensors and PyTorch files also all booleans, which must be 0 or 1. The
/// checksum of a PyTorch file is that of a storage. It is verified here if a tensor has only a part of its storage, or
/// has it in another order; otherwise when the tensor is read. A safetensors file has no checksums, and a PyTorch file
/// that was saved after `torch.serialization.set_crc32_options(False)` has none either.
///
/// The names of tensors are those in the file; in a PyTorch file with dicts in dicts they are joined by '/':
/// "model/conv.weight".
///
/// Errors: sets `to` to a `checkpoint_errc`, with the file, and returns nothing; success clears it.
/// `no_such_checkpoint` if there is no such file; `bad_tensor_file` if it is damaged, is not what the end of its name
/// says, or has another boolean than 0 and 1; `unsupported`, with what to do, for a PyTorch file that contains more
/// than tensors or that has an older format; `missing_data_file` if a file of a list or checkpoint does not exist;
/// `corrupt_data` for a wrong checksum; `cannot_read`. Of a checkpoint also `missing_index_file`, `bad_magic` and
/// `corrupt_index`.
[[nodiscard]] DISTRIB_DECL auto open_tensor_file(const std::string& path, ErrorRef to) -> std::optional<TensorFile>;

/// This overload throws the error as `std::system_error` that names the file.
[[nodiscard]] inline auto open_tensor_file(const std::string& path) -> TensorFile {
  Error error;
  return *detail::or_throw(open_tensor_file(path, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/formats/impl/tensor_file.ipp>
#endif
