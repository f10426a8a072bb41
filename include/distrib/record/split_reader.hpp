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

/// Reads the records of one split of a plain TFRecord file in order and verifies both checksums of each. A range as
/// `RecordReader` is, with the same two faces: as an input range it throws `std::system_error`; `try_next` returns
/// nothing and `error()` says why. The text names file, record and offset; the first failure sticks.
///
/// Records' bytes live as long as the reader, also when it is moved: they lie in the mapping (see the hazard at
/// `MappedFile`). Threads: one at a time; each split of a file has a reader of its own.
class SplitReader {
 public:
  using Iterator = RecordIterator<SplitReader>;

  /// Maps `path`, for the split of it that `split_file` or `find_split` gave. Throws `std::system_error`:
  /// `record_errc::bad_split` when it does not lie in the file, `uncertain_split`, or why the file cannot be mapped.
  SplitReader(std::string path, const RecordSplit& split) : path_{std::move(path)}, split_{split} {
    open();
    throw_if(error_);
  }

  /// The same; on failure `ec` is set, and so is `error()`.
  SplitReader(std::string path, const RecordSplit& split, std::error_code& ec) : path_{std::move(path)}, split_{split} {
    open();
    ec = error_.code;
  }

  /// The next record, or nothing: at the end of the split, or after a failure, which `error()` tells apart. Behind the
  /// last record of a split that is broken, the failure is what damage there is.
  [[nodiscard]] auto try_next() -> std::optional<Record> {
    const Record* const record = step();
    return record != nullptr ? std::optional{*record} : std::nullopt;
  }

  /// The first failure and its place; empty while there is none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }

  /// Where the next record begins; after a failure, the record that failed.
  [[nodiscard]] auto offset() const noexcept -> std::uint64_t { return ahead_.offset_or(offset_); }

  /// The number of the next record, counted on from `RecordSplit::number`.
  [[nodiscard]] auto number() const noexcept -> std::uint64_t { return ahead_.number_or(number_); }

  /// Reads on, as an input range: begin() fetches a record, so call it once.
  [[nodiscard]] auto begin() -> Iterator { return Iterator{*this}; }
  [[nodiscard]] auto end() const noexcept -> std::default_sentinel_t { return {}; }

 private:
  friend Iterator;

  DISTRIB_DECL void open();

  /// The next record, which stays until the one after the next is asked for; null: there is none.
  auto step() -> const Record* {
    if (ahead_.empty() && !verify_more()) return nullptr;
    return ahead_.take();
  }

  DISTRIB_DECL auto verify_more() -> bool;

  std::string path_;
  RecordSplit split_;
  MappedFile mapping_;
  ByteView window_;  // the rest of the split, behind the records that are verified
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
