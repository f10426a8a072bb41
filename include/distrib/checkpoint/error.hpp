// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a checkpoint could not be written or read.
enum class checkpoint_errc {
  not_found = 1,      ///< No such tensor, or part of a checkpoint. Look at what `distrib checkpoint list` prints.
  bad_magic,          ///< The index file is no checkpoint table. Name the prefix of a TensorFlow V2 checkpoint.
  corrupt_index,      ///< The index file is damaged. Use the checkpoint before it.
  corrupt_data,       ///< Bytes of a tensor are damaged or cut off. Use the checkpoint before it.
  missing_data_file,  ///< A data file that the index names is not there. Copy all `.data-*` files with the index.
  corrupt_state,      ///< The file `checkpoint` is not readable. Mend or remove it; the directory is searched then.
  mismatch,           ///< A tensor has another dtype, shape or size than was said. Correct what the message names.
  incomplete,         ///< The slices of a tensor leave a hole. Save every part of it.
  duplicate,          ///< One tensor, or one part of it, was given twice. Give each once.
  unsupported,        ///< Written in a way this library cannot read. Save it again with TensorFlow on this machine.
  cannot_read,        ///< The operating system refused to read a file. Mend the reason that the message carries.
  cannot_write,       ///< The operating system refused to write a file. Mend the reason that the message carries.
  no_room,            ///< The disk, or the user's share of it, is full. Make room; a parameter server tries again.
  no_such_checkpoint,  ///< No checkpoint has this prefix. Look at what is in its directory.
  missing_index_file,  ///< Data files are there without their index file. Copy `PREFIX.index` too.
  stale_state,  ///< The file `checkpoint` names checkpoints that are not there. Copy them there, or remove the file.
};

namespace detail {
inline constexpr ErrorText checkpoint_texts[] = {
    {checkpoint_errc::not_found, failure::not_found, "not found in checkpoint"},
    {checkpoint_errc::bad_magic, failure::corrupt, "not a checkpoint index (bad magic number)"},
    {checkpoint_errc::corrupt_index, failure::corrupt, "the checkpoint index is damaged"},
    {checkpoint_errc::corrupt_data, failure::corrupt, "the data of the checkpoint is damaged"},
    {checkpoint_errc::missing_data_file, failure::corrupt, "a data file is missing"},
    {checkpoint_errc::corrupt_state, failure::corrupt, "the checkpoint state file is damaged"},
    {checkpoint_errc::mismatch, failure::mismatch, "the tensor is not what was said"},
    {checkpoint_errc::incomplete, failure::mismatch, "the slices of the tensor leave a hole"},
    {checkpoint_errc::duplicate, failure::invalid_argument, "adding duplicate key"},
    {checkpoint_errc::unsupported, failure::unsupported, "this library cannot read it"},
    {checkpoint_errc::cannot_read, failure::io, "cannot read"},
    {checkpoint_errc::cannot_write, failure::io, "cannot write"},
    {checkpoint_errc::no_room, failure::exhausted, "no room on the disk"},
    {checkpoint_errc::no_such_checkpoint, failure::not_found, "there is no such checkpoint"},
    {checkpoint_errc::missing_index_file, failure::corrupt, "the index file is missing; the data files are there"},
    {checkpoint_errc::stale_state, failure::not_found, "the checkpoint state file names what is not there"},
};

/// Category "distrib.checkpoint".
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
