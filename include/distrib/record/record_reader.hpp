// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/detail/record_stream.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/mapped_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace distrib::inline v0 {

/// How `RecordReader` reads.
struct RecordReaderOptions {
  /// A file cut inside a record's header simply ends there, as it does for TensorFlow, and so does compressed data that
  /// ends early at the border of a record or inside a header. Unless set, both are failures.
  bool cut_header_is_end = false;
  /// Regular files are mapped (see the hazard at `MappedFile`); unset, they are read through a buffer as pipes are.
  bool map = true;
  /// Longer records are refused. The default is what protobuf and Hadoop can hold.
  std::uint64_t max_record_bytes = (std::uint64_t{1} << 31) - 1;
};

/// Reads the records of a TFRecord file in order and verifies both checksums of each, always. Plain, gzip and zlib
/// files are told apart by content. An empty file has no records.
///
/// Two faces over one step: as an input range it throws `std::system_error`; `try_next` returns nothing and `error()`
/// says why. Either way the text names file, record and offset, the first failure sticks, and the records before it
/// were good. `for (const Record& record : RecordReader{"train-0.tfrecord"}) ...`
///
/// Lifetime of a record's bytes: of a plain regular file that of the reader, also when it is moved, since they lie in
/// the mapping and are not copied; else, and with `map` unset, until the next record is asked for.
/// Threads: one at a time. Movable; a reader that was moved from can only be destroyed or assigned to.
class RecordReader {
 public:
  class Iterator;

  /// Opens `path`. Throws `std::system_error` with the system's reason.
  explicit RecordReader(std::string path, const RecordReaderOptions& options = {})
      : path_{std::move(path)}, options_{options} {
    open();
    throw_if(error_);
  }

  /// The same; on failure `ec` is set, and so is `error()`.
  RecordReader(std::string path, const RecordReaderOptions& options, std::error_code& ec)
      : path_{std::move(path)}, options_{options} {
    open();
    ec = error_.code;
  }

  /// The next record, or nothing: at the end of the file, or after a failure, which `error()` tells apart.
  [[nodiscard]] auto try_next() -> std::optional<Record> {
    if (!has(record_header_bytes)) return finish();
    const std::optional<std::uint64_t> length = parse_record_header(window_.first<record_header_bytes>());
    if (!length) return fail(record_errc::corrupt_length);
    if (*length > options_.max_record_bytes) return fail(record_errc::too_large);
    const auto size = static_cast<std::size_t>(*length);
    if (!has(record_frame_bytes + size)) return cut_payload();
    const Record record{window_.subspan(record_header_bytes, size), offset_, number_};
    if (!payload_matches(record.bytes, window_.subspan(record_header_bytes + size).first<record_footer_bytes>()))
      return fail(record_errc::corrupt_payload);
    window_ = window_.subspan(record_frame_bytes + size);
    offset_ += record_frame_bytes + size;
    ++number_;
    return record;
  }

  /// The first failure and its place; empty while there is none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }

  /// Where the next record begins; after a failure, the record that failed. Of a compressed file: in what it inflates
  /// to.
  [[nodiscard]] auto offset() const noexcept -> std::uint64_t { return offset_; }

  /// How many records were returned.
  [[nodiscard]] auto number() const noexcept -> std::uint64_t { return number_; }

  /// Reads on, as an input range: begin() fetches a record, so call it once.
  [[nodiscard]] auto begin() -> Iterator;
  [[nodiscard]] auto end() const noexcept -> std::default_sentinel_t { return {}; }

 private:
  static constexpr std::uint64_t longest = std::uint64_t{1} << 62;  // keeps sums below from overflowing

  void open() {
    options_.max_record_bytes = std::min(options_.max_record_bytes, longest);
    if (options_.map) {
      std::error_code ec;
      mapping_ = MappedFile{path_, ec};
      if (ec && ec != record_errc::not_regular) {
        error_ = {ec, path_};
        return;
      }
      window_ = mapping_.bytes();
      if (!ec && detect_compression(window_.first(std::min(window_.size(), detection_bytes))) == Compression::none)
        return;
      window_ = {};
      mapping_ = {};
    }
    std::error_code ec;
    stream_ = std::make_unique<detail::RecordStream>(path_, ec);
    if (ec) {
      error_ = {ec, path_};
      stream_.reset();
    }
  }

  auto has(std::size_t size) -> bool {
    return size <= window_.size() || (stream_ != nullptr && stream_->fill(window_, size));
  }

  auto stream_error() const noexcept -> std::error_code {
    return stream_ != nullptr ? stream_->error() : std::error_code{};
  }

  /// Less than a header is left.
  auto finish() -> std::optional<Record> {
    if (error_) return std::nullopt;
    const std::error_code ec = stream_error();
    if (ec && !(options_.cut_header_is_end && ec == record_errc::truncated_compression)) return fail(ec);
    if (!ec && !window_.empty() && !options_.cut_header_is_end) return fail(record_errc::truncated_header);
    close();
    return std::nullopt;
  }

  auto cut_payload() -> std::optional<Record> {
    const std::error_code ec = stream_error();
    return fail(ec ? ec : make_error_code(record_errc::truncated_payload));
  }

  auto fail(std::error_code code) -> std::optional<Record> {
    error_ = {code, detail::record_place(path_, number_, offset_)};
    if (stream_ != nullptr && stream_->inflates()) error_.where += " of the inflated bytes";
    close();
    return std::nullopt;
  }

  /// Nothing more is read; bytes of a mapping stay.
  void close() {
    window_ = {};
    stream_.reset();
  }

  std::string path_;
  RecordReaderOptions options_;
  MappedFile mapping_;
  std::unique_ptr<detail::RecordStream> stream_;  // null when the file is mapped
  ByteView window_;                               // bytes at hand, from the next record on
  std::uint64_t offset_ = 0;
  std::uint64_t number_ = 0;
  Error error_;
};

/// Input iterator over the records that are left. Throws `std::system_error` where the reader fails.
class RecordReader::Iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using value_type = Record;

  explicit Iterator(RecordReader& reader) : reader_{&reader} { ++*this; }

  [[nodiscard]] auto operator*() const noexcept -> const Record& { return *record_; }
  [[nodiscard]] auto operator->() const noexcept -> const Record* { return &*record_; }
  auto operator++() -> Iterator& {
    record_ = reader_->try_next();
    if (!record_) throw_if(reader_->error());
    return *this;
  }
  void operator++(int) { ++*this; }
  [[nodiscard]] auto operator==(std::default_sentinel_t) const noexcept -> bool { return !record_; }

 private:
  RecordReader* reader_;
  std::optional<Record> record_;
};

inline auto RecordReader::begin() -> Iterator { return Iterator{*this}; }

}  // namespace distrib::inline v0
