// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/detail/replace_file.hpp>
#include <distrib/record/record_index.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

// The index that NVIDIA's tfrecord2idx writes and DALI's TFRecord reader needs: one line for each record, in order:
// "offset size", where size is that of the whole frame: payload and 16 bytes.

/// Returns the index of the TFRecord file `path`, made from the DALI index `text_path`. Checks that its lines lead from
/// 0 to the end of the file without a gap; headers are verified only when records are read. Memory is bounded by the
/// size of the text. On failure returns nothing and sets `to`: `record_errc::bad_index`, or why one of the files cannot
/// be mapped.
[[nodiscard]] DISTRIB_DECL auto read_dali_index(const std::string& path, const std::string& text_path, ErrorRef to)
    -> std::optional<RecordIndex>;

/// This overload throws the error as `std::system_error`.
[[nodiscard]] inline auto read_dali_index(const std::string& path, const std::string& text_path) -> RecordIndex {
  Error error;
  return *detail::or_throw(read_dali_index(path, text_path, error), error);
}

/// Returns `index` as the text of a DALI index.
[[nodiscard]] inline auto dali_index_text(const RecordIndex& index) -> std::string {
  std::string text;
  for (std::size_t i = 0; i < index.size(); ++i)
    text += std::to_string(index.offset(i)) + " " + std::to_string(index.offset(i + 1) - index.offset(i)) + "\n";
  return text;
}

/// Writes `dali_index_text(index)` to the file `text_path`, which is replaced as a whole or not at all. On failure sets
/// `ec` to the system's reason.
inline void write_dali_index(const RecordIndex& index, const std::string& text_path, std::error_code& ec) {
  const std::string text = dali_index_text(index);
  detail::replace_file(text_path, {as_bytes(text)}, ec);
}

/// This overload throws the error as `std::system_error` that names the file.
inline void write_dali_index(const RecordIndex& index, const std::string& text_path) {
  std::error_code ec;
  write_dali_index(index, text_path, ec);
  if (ec) throw_error(ec, text_path);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/impl/dali_index.ipp>
#endif
