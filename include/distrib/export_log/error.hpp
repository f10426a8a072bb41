// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why an export log cannot be read or written. Other failures keep the codes of the operating system.
enum class export_errc {
  /// The place has no export log. Check the path, and whether the job has exported a position yet.
  no_log = 1,
  /// An object of the log is not what its format demands. The place in the message says which. Writers never make such
  /// an object: restore it from a copy, or compact the log from a position before it.
  bad_object,
  /// The bytes of an object are not those that its name promises: they are damaged, or not complete. A reader tries
  /// again by itself. If the message stays, restore the object from a copy.
  wrong_hash,
  /// The rows that follow from the log are not those that the trainer had: a part lacks rows, or has other ones. A reader
  /// keeps what it serves and begins again with a base.
  wrong_digest,
  /// An object that the log names does not exist, or not yet, or not any more. A reader tries again with the newest
  /// position. Choose a position that `distrib export log` lists.
  missing_object,
  /// The log has no such position: it is newer than the newest one, or was removed. Choose a position that `distrib
  /// export log` lists.
  no_such_position,
  /// The next position needs more memory than the limit. The replica serves the position before it. Raise
  /// `memory_bytes`.
  too_large,
  /// The model has no table or variable of this name. The message has the name; `ModelView::manifest` and
  /// `ReplicaStatus::tables` list the tables that there are.
  unknown_name,
  /// A key of a table with numbered rows is not below the number of rows. Correct the key.
  no_such_row,
  /// The file system of the log has no locks, so two writers could overwrite each other. Use another file system.
  no_locks,
  /// The replica has no position yet. Wait until `ready()`.
  not_ready,
  /// The object store writes an object although it was told to write it only if there is none: two writers could
  /// overwrite each other. Use a store with conditional writes; `distrib store check` tells.
  no_conditions,
};

namespace detail {
inline constexpr ErrorText export_texts[] = {
    {export_errc::no_log, failure::not_found,
     "there is no export log: check the path, and whether the job has exported yet"},
    {export_errc::bad_object, failure::corrupt, "not an object of an export log: restore it from a copy"},
    {export_errc::wrong_hash, failure::corrupt,
     "the bytes are not those that the name promises: try again, or restore the object from a copy"},
    {export_errc::wrong_digest, failure::corrupt,
     "the rows are not those that the trainer had: begin again with a base"},
    {export_errc::missing_object, failure::not_found,
     "an object that the log names does not exist: try again, or choose a position that the log still has"},
    {export_errc::no_such_position, failure::not_found,
     "the log has no such position: choose one that `distrib export log` lists"},
    {export_errc::too_large, failure::exhausted, "the position needs more memory than the limit: raise memory_bytes"},
    {export_errc::unknown_name, failure::not_found, "the model has no table or variable of this name"},
    {export_errc::no_such_row, failure::invalid_argument, "the key is not below the number of rows: correct the key"},
    {export_errc::no_locks, failure::unsupported,
     "the file system has no locks, so writers could overwrite each other: use another file system"},
    {export_errc::not_ready, failure::unavailable, "the replica has no position yet: wait until it is ready"},
    {export_errc::no_conditions, failure::unsupported,
     "the object store does not honour conditional writes, so writers could overwrite each other: use another store"},
};

/// Returns the category "distrib.export_log".
[[nodiscard]] inline auto export_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.export_log", export_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(export_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::export_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::export_errc> : std::true_type {};
