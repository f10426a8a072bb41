// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a checkpoint could not be written or read.
enum class checkpoint_errc {
  not_found = 1,  ///< There is no such tensor, or no such part file. Look at what `distrib checkpoint list` prints.
  bad_magic,  ///< The index file is not the table of a checkpoint. Name the prefix of a TensorFlow V2 checkpoint.
  corrupt_index,  ///< The index file is damaged. Use the checkpoint before this one.
  corrupt_data,  ///< Bytes of a tensor are damaged or missing. Use the checkpoint before this one.
  missing_data_file,  ///< A data file that the index names does not exist. Copy all `.data-*` files with the index.
  corrupt_state,  ///< The file `checkpoint` is damaged. Correct it, or remove it: without it the directory is searched.
  /// A tensor has another dtype, shape or size than expected, or the arguments of a call do not fit together. Correct
  /// what the message names.
  mismatch,
  incomplete,  ///< The slices of a tensor do not cover all of it. Save every part of it.
  /// A tensor or a part of it occurs twice, or a name means two tensors. Save each once, or use another name.
  duplicate,
  /// It was written in a way that this library cannot read. Save it again as the message says, or with TensorFlow on
  /// this machine.
  unsupported,
  cannot_read,  ///< The operating system refused to read a file. Remove the cause that the message names.
  cannot_write,  ///< The operating system refused to write a file. Remove the cause that the message names.
  no_room,  ///< The disk is full, or the user's quota is used up. Make room; a parameter server tries again.
  no_such_checkpoint,  ///< No checkpoint has this prefix. Look at the files in its directory.
  missing_index_file,  ///< There are data files without their index file. Copy `PREFIX.index` too.
  /// The file `checkpoint` names checkpoints that do not exist. Copy them to their place, or remove the file.
  stale_state,
  /// A safetensors or PyTorch file is damaged or cut off, or is no such file. Get the file again, or save it again.
  bad_tensor_file,
};

namespace detail {
inline constexpr ErrorText checkpoint_texts[] = {
    {checkpoint_errc::not_found, failure::not_found,
     "not found in checkpoint: distrib checkpoint list prints the names that it has"},
    {checkpoint_errc::bad_magic, failure::corrupt,
     "not a checkpoint index (bad magic number): name the prefix of a checkpoint of TensorFlow 2"},
    {checkpoint_errc::corrupt_index, failure::corrupt,
     "the checkpoint index is damaged: use the checkpoint before this one"},
    {checkpoint_errc::corrupt_data, failure::corrupt,
     "the data of the checkpoint is damaged: use the checkpoint before this one"},
    {checkpoint_errc::missing_data_file, failure::corrupt,
     "a data file of the checkpoint is missing: copy all its data files with the index"},
    {checkpoint_errc::corrupt_state, failure::corrupt, "the checkpoint state file is damaged: correct or remove it"},
    {checkpoint_errc::mismatch, failure::mismatch,
     "the tensor has another dtype, shape or size than expected: correct the model, or use another name"},
    {checkpoint_errc::incomplete, failure::mismatch,
     "the slices in the checkpoint do not cover the whole tensor: save every part of it"},
    {checkpoint_errc::duplicate, failure::invalid_argument,
     "adding duplicate key: save each tensor once, or use a name that only one tensor has"},
    {checkpoint_errc::unsupported, failure::unsupported,
     "this library cannot read this kind of file or tensor: save it again as another kind"},
    {checkpoint_errc::cannot_read, failure::io, "cannot read the file: remove the cause in brackets"},
    {checkpoint_errc::cannot_write, failure::io, "cannot write the file: remove the cause in brackets"},
    {checkpoint_errc::no_room, failure::exhausted, "no room on the disk: make room"},
    {checkpoint_errc::no_such_checkpoint, failure::not_found,
     "there is no such checkpoint: look at the files in its directory, and name a prefix"},
    {checkpoint_errc::missing_index_file, failure::corrupt,
     "the index file is missing, but there are data files: copy the index too"},
    {checkpoint_errc::stale_state, failure::not_found,
     "the checkpoint state file names a checkpoint that does not exist: copy that one here, or remove the file"},
    {checkpoint_errc::bad_tensor_file, failure::corrupt,
     "not a sound safetensors or PyTorch file: get the file again, or save it again"},
};

/// The category "distrib.checkpoint".
[[nodiscard]] inline auto checkpoint_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.checkpoint", checkpoint_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(checkpoint_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::checkpoint_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::checkpoint_errc> : std::true_type {};
