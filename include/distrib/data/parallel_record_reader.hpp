// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/pool_ahead.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/gzip_members.hpp>
#include <distrib/record/mapped_file.hpp>
#include <distrib/record/record.hpp>
#include <distrib/record/record_iterator.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/zlib.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// One gzip member, inflated into memory, with its records verified.
template <Inflates I> class InflatedMember {
 public:
  /// Inflates `compressed`, one whole member whose header says that it inflates to `size` bytes.
  void inflate(ByteView compressed, std::uint64_t size, std::uint64_t max_record_bytes) {
    if (buffer_.size() < size) buffer_ = AlignedBuffer::for_overwrite(static_cast<std::size_t>(size));
    I inflater{Compression::gzip};
    error_.clear();
    bytes_ = inflater.inflate(compressed, buffer_.bytes().first(static_cast<std::size_t>(size)), error_);
    std::byte beyond;
    if (!error_ && bytes_ == size && !inflater.complete() &&  // the trailer may not have been read yet
        inflater.inflate(compressed, {&beyond, 1}, error_) != 0)
      error_ = record_errc::corrupt_compression;
    if (!error_ && (bytes_ != size || !inflater.complete() || !compressed.empty()))
      error_ = record_errc::corrupt_compression;
    verify(max_record_bytes);
  }

  /// Returns the undamaged frames at the front.
  [[nodiscard]] auto good() const noexcept -> ByteView { return ByteView{buffer_.bytes()}.first(good_); }

  /// Returns what is wrong behind these frames; empty if they are all there is.
  [[nodiscard]] auto error() const noexcept -> const std::error_code& { return error_; }

  /// Returns the number of inflated bytes behind these frames.
  [[nodiscard]] auto left() const noexcept -> std::size_t { return bytes_ - good_; }

  /// Returns the size that the record behind these frames claims. Only if `error()` is `too_large`.
  [[nodiscard]] auto refused_bytes() const noexcept -> std::uint64_t {
    return load_le<std::uint64_t>(buffer_.data() + good_);
  }

 private:
  /// Finds the end of the undamaged frames. A bad frame is reported rather than a failed inflation, except a truncated
  /// frame: that is only a result of the failed inflation.
  void verify(std::uint64_t max_record_bytes) {
    ByteView rest = ByteView{buffer_.bytes()}.first(bytes_);
    std::error_code found;
    while (!rest.empty() && !found) found = step(rest, max_record_bytes);
    good_ = bytes_ - rest.size();
    const bool cut = found == record_errc::truncated_header || found == record_errc::truncated_payload;
    if (found && !(cut && error_)) error_ = found;
  }

  /// Removes one frame from the front of `rest`.
  static auto step(ByteView& rest, std::uint64_t max_record_bytes) noexcept -> std::error_code {
    if (rest.size() < record_header_bytes) return record_errc::truncated_header;
    const std::optional<std::uint64_t> length = parse_record_header(rest.first<record_header_bytes>());
    if (!length) return record_errc::corrupt_length;
    if (rest.size() < record_frame_bytes || *length > rest.size() - record_frame_bytes)
      return record_errc::truncated_payload;
    if (*length > max_record_bytes) return record_errc::too_large;
    const ByteView payload = rest.subspan(record_header_bytes, static_cast<std::size_t>(*length));
    const ByteView behind = rest.subspan(record_header_bytes + payload.size());
    if (!payload_matches(payload, behind.first<record_footer_bytes>())) return record_errc::corrupt_payload;
    rest = behind.subspan(record_footer_bytes);
    return {};
  }

  AlignedBuffer buffer_;
  std::size_t bytes_ = 0;  // number of inflated bytes
  std::size_t good_ = 0;  // number of these bytes that belong to undamaged frames
  std::error_code error_;
};

/// The work that the threads of a pool do for a reader.
template <Inflates I> struct InflateMembers {
  struct Piece {
    GzipMember member;
    InflatedMember<I> inflated;
  };
  static constexpr bool is_waited_for = true;  // the file may be changed as soon as the reader is destroyed

  void operator()(Piece& piece, const std::atomic<bool>&) const {
    piece.inflated.inflate(file.bytes().subspan(piece.member.offset, piece.member.size), piece.member.inflated_size,
                           max_record_bytes);
  }

  MappedFile file;
  std::uint64_t max_record_bytes;
};

}  // namespace detail

/// Options of `ParallelRecordReader`.
struct ParallelReadOptions {
  RecordReaderOptions reader{};  ///< How to read. Some of them make the reader read as one stream: see there.
  /// Most inflated bytes that wait to be read. A file that has a longer member is read as one stream.
  std::uint64_t max_bytes_ahead = 64 << 20;
};

/// Reads the records of a TFRecord file in order, as `RecordReader` does, and lets the threads of a pool inflate and
/// verify ahead. This works for gzip files that consist of several members whose headers say their sizes, as
/// `RecordWriter` writes them. `RecordReader` reads as one stream: all other files, files on network file systems
/// unless `FileAccess::mapped` is set, and every file with buffered access, unverified checksums, or a damage policy
/// other than `DamagePolicy::OnDamage::stop`. Records, order and failures are the same either way, with two exceptions:
/// a member whose header has a wrong size counts as damaged here, but may be accepted there; and a record that begins
/// in one member and ends in the next counts as truncated here (`RecordWriter` writes none).
///
/// Instead of waiting, the caller's thread inflates too: a pool of one thread makes two threads. The reader also works
/// if the pool is busy or stopped, or if the caller itself runs on it.
///
/// Lifetime: the bytes of a record are valid until the next record is requested. The pool must outlive the reader, and
/// the file must not change meanwhile (see `MappedFile`). The reader may be destroyed before the end; this
/// waits for the members that are being inflated.
///
/// Threads: one at a time. Movable; a moved-from reader can only be destroyed or assigned to.
///
/// `I` inflates.
template <Inflates I = Inflater> class BasicParallelRecordReader {
 public:
  using Iterator = RecordIterator<BasicParallelRecordReader>;

  /// Opens `path`. Throws `std::system_error` with the operating system's reason.
  BasicParallelRecordReader(IoPool& pool, std::string path, const ParallelReadOptions& options = {})
      : pool_{&pool}, path_{std::move(path)} {
    std::error_code ec;
    open(options, ec);
    throw_if(error());
  }

  /// This overload sets `ec` and `error()` on failure instead of throwing.
  BasicParallelRecordReader(IoPool& pool, std::string path, const ParallelReadOptions& options, std::error_code& ec)
      : pool_{&pool}, path_{std::move(path)} {
    open(options, ec);
  }

  /// Returns the next record, or nothing: at the end of the file, or after a failure, which `error()` reports. Throws
  /// what a thread of the pool threw because memory ran out.
  [[nodiscard]] auto try_next() -> std::optional<Record> {
    const Record* const record = step();
    return record != nullptr ? std::optional{*record} : std::nullopt;
  }

  /// Returns the first failure and its place; empty if there was none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return stream_ ? stream_->error() : error_; }

  /// True if the members of the file are inflated in parallel.
  [[nodiscard]] auto parallel() const noexcept -> bool { return !stream_; }

  /// Returns an input iterator over the remaining records, which throws what `error()` reports. Trap: `begin()` reads a
  /// record, so call it only once.
  [[nodiscard]] auto begin() -> Iterator { return Iterator{*this}; }
  [[nodiscard]] auto end() const noexcept -> std::default_sentinel_t { return {}; }

 private:
  friend Iterator;

  /// Returns the next record, valid until the next call; null if there is none.
  auto step() -> const Record* {
    if (stream_) {
      const std::optional<Record> record = stream_->try_next();
      if (!record) return nullptr;
      record_ = *record;
      return &record_;
    }
    while (window_.empty())
      if (!next_member()) return nullptr;
    const auto size = static_cast<std::size_t>(load_le<std::uint64_t>(window_.data()));
    record_ = {window_.subspan(record_header_bytes, size), offset_, number_};
    window_ = window_.subspan(record_frame_bytes + size);
    offset_ += record_frame_bytes + size;
    ++number_;
    return &record_;
  }

  void open(const ParallelReadOptions& options, std::error_code& ec) {
    ec.clear();
    if (!open_members(options)) {
      stream_ = std::make_unique<BasicRecordReader<I>>(path_, options.reader, ec);
      return;
    }
    for (std::size_t i = 0; i < ahead_.size(); ++i) want(i);
  }

  /// Returns false if the file must be read as one stream, or cannot be opened.
  auto open_members(const ParallelReadOptions& options) -> bool {
    const RecordReaderOptions& reader = options.reader;
    if (reader.access == RecordReaderOptions::FileAccess::buffered ||
        reader.damage.action != DamagePolicy::OnDamage::stop ||
        reader.checksums != RecordReaderOptions::Checksums::verify ||
        reader.compression.value_or(Compression::gzip) != Compression::gzip)
      return false;
    if (reader.access != RecordReaderOptions::FileAccess::mapped && detail::is_on_remote_file_system(path_))
      return false;
    std::error_code ec;
    MappedFile file{path_, ec};
    GzipMembers members{file.bytes()};
    std::uint64_t largest = 1;
    while (const std::optional<GzipMember> member = members.try_next()) {
      members_.push_back(*member);
      largest = std::max(largest, member->inflated_size);
    }
    if (!members.complete() || members_.size() < 2 || largest > options.max_bytes_ahead) return false;
    const std::uint64_t most = std::min<std::uint64_t>(2 * pool_->size() + 2, members_.size());
    const std::uint64_t slots = std::clamp<std::uint64_t>(options.max_bytes_ahead / largest, 1, most);
    truncated_header_ = reader.truncated_header;
    limit_ = reader.max_record_bytes.value_or(RecordReaderOptions::default_buffered_bytes);
    ahead_ = {pool_, static_cast<std::size_t>(slots), {std::move(file), limit_}};
    return true;
  }

  /// Gives member `i` to the pool. It uses the slot of an earlier member that was read to its end.
  void want(std::size_t i) {
    ahead_[i % ahead_.size()].member = members_[i];
    ahead_.want_ahead(i % ahead_.size());
  }

  /// Goes to the next member. Returns false if there is none, or if the present member is damaged. Only the last member
  /// may end inside a header.
  auto next_member() -> bool {
    if (error_) return false;
    const std::size_t slots = ahead_.size();
    if (member_ != 0) {
      const auto& inflated = ahead_[(member_ - 1) % slots].inflated;
      if (const std::error_code ec = inflated.error()) {
        if (ec == record_errc::truncated_header && member_ == members_.size() &&
            detail::may_end_with(inflated.left(), truncated_header_))
          return false;
        error_ = {ec, detail::record_where(path_, number_, offset_) + " of the inflated bytes"};
        if (ec == record_errc::too_large) error_.where += detail::over_limit(inflated.refused_bytes(), limit_);
        return false;
      }
      if (member_ - 1 + slots < members_.size()) want(member_ - 1 + slots);
    }
    if (member_ == members_.size()) return false;
    window_ = ahead_.finish_helping(member_ % slots).inflated.good();
    ++member_;
    return true;
  }

  IoPool* pool_;
  std::string path_;
  std::unique_ptr<BasicRecordReader<I>> stream_;  // null if the members are inflated ahead
  std::vector<GzipMember> members_;
  PoolAhead<detail::InflateMembers<I>> ahead_;
  std::uint64_t limit_ = 0;  // largest allowed record, in bytes
  RecordReaderOptions::TruncatedHeader truncated_header_{};
  std::size_t member_ = 0;  // members begun; the last of them is being read
  ByteView window_;  // its verified frames that were not returned yet
  std::uint64_t offset_ = 0;
  std::uint64_t number_ = 0;
  Record record_;  // the record that was returned last
  Error error_;
};

/// Inflates with zlib.
using ParallelRecordReader = BasicParallelRecordReader<>;

/// Opens the files of a stream with a reader that uses the threads of a pool. The pool must outlive the reader.
template <class R = ParallelRecordReader> struct OpenOnPool {
  using Reader = R;
  IoPool* pool = nullptr;
  auto operator()(const std::string& path, std::error_code& ec) const -> std::unique_ptr<Reader> {
    return std::make_unique<Reader>(*pool, path, ParallelReadOptions{}, ec);
  }
};

}  // namespace v0
}  // namespace distrib
