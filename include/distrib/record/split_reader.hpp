// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/detail/frames_ahead.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/mapped_file.hpp>
#include <distrib/record/record.hpp>
#include <distrib/record/record_iterator.hpp>
#include <distrib/record/splits.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Reads the records of one split of a plain TFRecord file in order and verifies both checksums of each. As with
/// `RecordReader` there are two ways to read: as an input range it fails by throwing `std::system_error`; `try_next`
/// fails by returning nothing, and `error()` says why. The failure names file, record and offset; the first failure is
/// final.
///
/// The bytes of a record live as long as the reader, also when the reader is moved: they lie in the mapping (see the
/// hazard at `MappedFile`).
///
/// Threads: one at a time. Use one reader for each split of a file.
class SplitReader {
 public:
  using Iterator = RecordIterator<SplitReader>;

  /// Maps `path`, to read the records of `split`, which `split_file` or `find_split` returned for it. Throws
  /// `std::system_error`: `record_errc::bad_split` if the split does not lie in the file, `uncertain_split` if it is
  /// marked so, or the reason why the file cannot be mapped.
  SplitReader(std::string path, const RecordSplit& split) : path_{std::move(path)}, split_{split} {
    open();
    throw_if(error_);
  }

  /// This overload sets `ec` on failure instead of throwing; `error()` is then set too.
  SplitReader(std::string path, const RecordSplit& split, std::error_code& ec) : path_{std::move(path)}, split_{split} {
    open();
    ec = error_.code;
  }

  /// Returns the next record; nothing at the end of the split, and after a failure: then `error()` is set. After the
  /// last record of a broken split it fails with the damage that is there.
  [[nodiscard]] auto try_next() -> std::optional<Record> {
    const Record* const record = step();
    return record != nullptr ? std::optional{*record} : std::nullopt;
  }

  /// Returns the first failure, and where it happened; empty if there was none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }

  /// Returns where the next record begins; after a failure, where the record that failed begins.
  [[nodiscard]] auto offset() const noexcept -> std::uint64_t { return ahead_.offset_or(offset_); }

  /// Returns the number of the next record, counted from `RecordSplit::number`.
  [[nodiscard]] auto number() const noexcept -> std::uint64_t { return ahead_.number_or(number_); }

  /// Returns the remaining records as an input range. Trap: begin() reads a record, so call it only once.
  [[nodiscard]] auto begin() -> Iterator { return Iterator{*this}; }
  [[nodiscard]] auto end() const noexcept -> std::default_sentinel_t { return {}; }

 private:
  friend Iterator;

  DISTRIB_DECL void open();

  /// Returns the next record, which stays valid until the next call; null if there is none.
  auto step() -> const Record* {
    if (ahead_.empty() && !verify_more()) return nullptr;
    return ahead_.take();
  }

  /// Verifies some records. Returns false at the end of the split, and after a failure.
  DISTRIB_DECL auto verify_more() -> bool;

  std::string path_;
  RecordSplit split_;
  MappedFile mapping_;
  ByteView window_;  // the rest of the split, after the records that are verified
  detail::FramesAhead ahead_;
  std::uint64_t offset_ = 0;
  std::uint64_t number_ = 0;
  Error error_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/impl/split_reader.ipp>
#endif
