// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/byte_source.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/damage.hpp>
#include <distrib/record/detail/frames_ahead.hpp>
#include <distrib/record/detail/record_stream.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/mapped_file.hpp>
#include <distrib/record/record.hpp>
#include <distrib/record/record_iterator.hpp>
#include <distrib/record/resync.hpp>
#include <distrib/record/zlib.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How `BasicRecordReader` reads.
struct RecordReaderOptions {
  /// What it means that a file ends inside the header of a record.
  enum class TruncatedHeader {
    report,  ///< A failure, `record_errc::truncated_header`: something was lost.
    /// The end of the file, without a failure. The same holds if compressed data ends early, between two records or
    /// inside a header.
    end_like_tensorflow,
    /// The end of the file, without a failure, if only 1 to 7 bytes are left, so that the length is cut;
    /// `truncated_header` from 8 bytes on.
    end_like_hadoop,
  };

  /// How a reader gets the bytes of a file.
  enum class FileAccess {
    automatic,  ///< Maps regular, uncompressed files on this machine; reads all other files in pieces.
    mapped,  ///< As `automatic`, but also maps files on network file systems (see the hazard at `MappedFile`).
    buffered,  ///< Reads every file in pieces of 256 KiB.
  };

  /// What a reader does with checksums.
  enum class Checksums {
    verify,  ///< Verifies both checksums of each record.
    /// Verifies nothing, as Hadoop does with `tensorflow.read.crc32check=false`; a file may even end inside its last
    /// checksum. Only for files that were written with wrong checksums, and only with `DamagePolicy::OnDamage::stop`.
    ignore_like_hadoop,
  };

  /// What happens if the file ends inside the header of a record.
  TruncatedHeader truncated_header = TruncatedHeader::report;
  FileAccess access = FileAccess::automatic;  ///< How a local file is read.
  Checksums checksums = Checksums::verify;  ///< Which checksums are verified.
  DamagePolicy damage{};  ///< What happens at damage.
  /// If set: how the file must be compressed. With `none` the file is read as plain, whatever it holds, so that
  /// compressed data fails with `corrupt_length`. With another value a file that is not empty and is compressed in
  /// another way, or not at all, fails with `corrupt_compression`, as in TensorFlow.
  std::optional<Compression> compression{};
  /// Most payload bytes of a record. A longer record fails with `too_large`, whatever the damage policy says, since it
  /// is not damaged. Empty: no limit for a file that is mapped, where a record needs no memory, and
  /// `default_buffered_bytes` for a file that is read in pieces, because a small compressed file may inflate to a huge
  /// record.
  std::optional<std::uint64_t> max_record_bytes{};
  /// Most payload bytes of a record that is read in pieces, if `max_record_bytes` is empty.
  static constexpr std::uint64_t default_buffered_bytes = std::uint64_t{8} << 30;
};

namespace detail {

/// True if a file may end with `left` bytes, fewer than a record's header has.
[[nodiscard]] constexpr auto may_end_with(std::size_t left, RecordReaderOptions::TruncatedHeader meaning) noexcept
    -> bool {
  using enum RecordReaderOptions::TruncatedHeader;
  return left == 0 || meaning == end_like_tensorflow || (meaning == end_like_hadoop && left < sizeof(std::uint64_t));
}

}  // namespace detail

/// Reads the records of a TFRecord file in order and verifies both checksums of each. Plain, gzip and zlib files are
/// recognised by their content. An empty file has no records.
///
/// There are two ways to read. As an input range the reader fails by throwing `std::system_error`; `try_next` fails by
/// returning nothing, and `error()` says why. In both cases the failure names file, record and offset; the first
/// failure is final, and all records returned before it were valid.
/// `for (const Record& record : RecordReader{"train-0.tfrecord"}) ...`
///
/// Damage is a failure, unless `RecordReaderOptions::damage` lets the reader continue; `damage()` then lists what
/// was lost. To salvage a plain file the reader searches it. If it is not mapped (a pipe, a remote file, a file that is
/// read in pieces), the reader first reads all the rest of it into memory. In a compressed file it continues at the
/// next member that `RecordWriter` began, and counts what is lost only as far as that could be inflated.
///
/// Lifetime of a record's bytes: for a mapped file, that of the reader, also when the reader is moved, since the bytes
/// lie in the mapping and are not copied; for bytes in memory, that of these bytes; for other files, until the next
/// record is read.
///
/// Memory: none for a mapped file or bytes in memory; otherwise 256 KiB or twice the longest record, and for a
/// compressed file 256 KiB more and what its decompressor `I` needs. To salvage a plain file that is not mapped: the
/// size of its rest.
///
/// Threads: one at a time.
///
/// Movable; a reader that was moved from can only be destroyed or assigned to.
template <Inflates I = Inflater> class BasicRecordReader {
 public:
  using Iterator = RecordIterator<BasicRecordReader>;

  /// Opens `path`. Throws `std::system_error` with the system's reason.
  explicit BasicRecordReader(std::string path, const RecordReaderOptions& options = {})
      : path_{std::move(path)}, options_{options} {
    open();
    throw_if(error_);
  }

  /// This overload sets `ec` on failure instead of throwing; `error()` is then set too.
  BasicRecordReader(std::string path, const RecordReaderOptions& options, std::error_code& ec)
      : path_{std::move(path)}, options_{options} {
    open();
    ec = error_.code;
  }

  /// Reads `file`, the bytes of a plain file in memory. The caller keeps them valid while the reader or its records are
  /// used. They can be the bytes of a `MappedFile`, whose pages are then fetched once for all readers. `name` is what
  /// errors call the file; a URL without user, password and query.
  BasicRecordReader(ByteView file, std::string_view name, const RecordReaderOptions& options = {})
      : path_{detail::shown_name(name)}, options_{options}, window_{file} {
    set_limit();
  }

  /// Reads the bytes of `source`, plain or compressed, in pieces; reads nothing before the first record is asked for.
  /// `name` is what errors call the file; a URL without user, password and query.
  template <ByteSource S>
  BasicRecordReader(S source, std::string_view name, const RecordReaderOptions& options = {})
      : BasicRecordReader{ByteView{}, name, options} {
    stream_ = std::make_unique<Stream>(AnyByteSource{std::move(source)}, options.compression == Compression::none);
    set_limit();
  }

  /// Returns the next record; nothing at the end of the file, and after a failure: then `error()` is set.
  [[nodiscard]] auto try_next() -> std::optional<Record> {
    const Record* const record = step();
    return record != nullptr ? std::optional{*record} : std::nullopt;
  }

  /// Returns the first failure, and where it happened; empty if there was none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }

  /// Returns the ranges lost so far, in the order of the file. Empty unless the damage policy lets the reader continue.
  [[nodiscard]] auto damage() const noexcept -> const std::vector<Damage>& { return damage_; }

  /// Returns where the next record begins; after a failure, where the record that failed begins. For a compressed file:
  /// in the inflated bytes.
  [[nodiscard]] auto offset() const noexcept -> std::uint64_t { return ahead_.offset_or(offset_); }

  /// Returns the number of the next record: the number of records returned, plus one for each range that was lost.
  [[nodiscard]] auto number() const noexcept -> std::uint64_t { return ahead_.number_or(number_); }

  /// Returns the remaining records as an input range. Trap: begin() reads a record, so call it only once.
  [[nodiscard]] auto begin() -> Iterator { return Iterator{*this}; }
  /// Returns the end of the range.
  [[nodiscard]] auto end() const noexcept -> std::default_sentinel_t { return {}; }

 private:
  friend Iterator;
  using Stream = detail::RecordStream<I>;
  // no file is this long, and sums with it do not overflow
  static constexpr std::uint64_t longest = std::uint64_t{1} << 62;

  void open() {
    open_file();
    set_limit();
  }

  /// Sets the limit of a record's length, when it is known whether records need memory.
  void set_limit() noexcept {
    constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
    limit_ = options_.max_record_bytes.value_or(stream_ ? RecordReaderOptions::default_buffered_bytes : none);
  }

  void open_file() {
    const bool local =
        options_.access == RecordReaderOptions::FileAccess::mapped || !detail::is_on_remote_file_system(path_);
    if (options_.access != RecordReaderOptions::FileAccess::buffered && local) {
      std::error_code ec;
      mapping_ = MappedFile{path_, ec};
      if (ec && ec != record_errc::not_regular) {
        error_ = {ec, path_};
        return;
      }
      window_ = mapping_.bytes();
      if (!ec && options_.compression == Compression::none) return;
      if (!ec && detect_compression(window_.first(std::min(window_.size(), detection_bytes))) == Compression::none)
        return;
      window_ = {};
      mapping_ = {};
    }
    std::error_code ec;
    stream_ = std::make_unique<Stream>(path_, options_.compression == Compression::none, ec);
    if (!ec) return;
    error_ = {ec, path_};
    stream_.reset();
  }

  /// Makes `window_` at least `size` bytes long, by reading. Returns false if the file ends before that, or reading
  /// fails.
  auto has(std::uint64_t size) -> bool {
    return size <= window_.size() || (stream_ != nullptr && !finder_ && stream_->fill(window_, size));
  }

  auto stream_error() const noexcept -> std::error_code {
    return stream_ != nullptr ? stream_->error() : std::error_code{};
  }

  /// True if the file is compressed as the options say; otherwise fails. A file that is read as plain is always right.
  auto wrapped_right() -> bool {
    if (!options_.compression || *options_.compression == Compression::none || !has(1)) return true;
    const Compression found = stream_ != nullptr ? stream_->compression() : Compression::none;
    return found == *options_.compression || fail(record_errc::corrupt_compression);
  }

  auto inflates() const noexcept -> bool { return stream_ != nullptr && stream_->inflates(); }

  /// Moves behind a record or a range that was lost.
  void pass(std::size_t size) noexcept {
    window_ = window_.subspan(size);
    offset_ += size;
    ++number_;
  }

  /// Returns the next record, which stays valid until the next call; null if there is none.
  auto step() -> const Record* {
    if (ahead_.empty() && !read_ahead()) return nullptr;
    return ahead_.take();
  }

  /// Reads and verifies some records. Returns false if there are no more, and after a failure.
  auto read_ahead() -> bool {
    ahead_.clear();
    if (offset_ == 0 && !wrapped_right()) return false;
    if (options_.checksums == RecordReaderOptions::Checksums::ignore_like_hadoop) return read_unverified();
    while (!ahead_.verify(window_, limit_, suspect_, offset_, number_))
      if (!get_over()) return false;
    return true;
  }

  /// Called when the next record is not valid as far as it was read: reads the rest of it, or moves behind it. Returns
  /// false if nothing more can be read.
  auto get_over() -> bool {
    const std::size_t had = window_.size();
    if (!has(record_header_bytes)) return finish();
    const std::optional<std::uint64_t> length = parse_record_header(window_.template first<record_header_bytes>());
    if (!length) return lose_header(record_errc::corrupt_length);
    if (is_too_long(*length)) return refuse_length(*length);
    const std::uint64_t size = record_frame_bytes + std::min(*length, longest);
    if (!has(size)) return lose_header(record_errc::truncated_payload);
    if (window_.size() > had) return true;  // with all of its bytes it may be valid
    if (options_.damage.action == DamagePolicy::OnDamage::stop) return fail(record_errc::corrupt_payload);
    if (ends_right(size)) return lose(static_cast<std::size_t>(size), record_errc::corrupt_payload);
    return lose_header(record_errc::corrupt_payload);
  }

  /// True if a valid header stands `size` bytes further on, or less than a header is left there.
  auto ends_right(std::uint64_t size) -> bool {
    if (!has(size + record_header_bytes)) return true;
    const ByteView next = window_.subspan(static_cast<std::size_t>(size));
    return parse_record_header(next.template first<record_header_bytes>()).has_value();
  }

  /// Called when less than a header is left: ends, or fails. Returns true only if reading continues at a later member.
  auto finish() -> bool {
    if (error_) return false;
    const std::error_code ec = stream_error();
    const bool like_tensorflow = options_.truncated_header == RecordReaderOptions::TruncatedHeader::end_like_tensorflow;
    if (ec && !(like_tensorflow && ec == record_errc::truncated_compression)) return lose_rest(ec);
    if (!ec && !detail::may_end_with(window_.size(), options_.truncated_header))
      return lose_rest(record_errc::truncated_header);
    close();
    return false;
  }

  /// Called when it is not known where the next record ends: searches for the record after it, or fails. Returns false
  /// if nothing more can be read.
  auto lose_header(record_errc found) -> bool {
    std::error_code code = found;
    if (code == record_errc::truncated_payload && stream_error()) code = stream_error();
    if (options_.damage.action != DamagePolicy::OnDamage::salvage) return fail(code);
    if (inflates()) return lose_rest(code);
    if (!finder_) {  // one finder for all searches, which bounds their cost together
      if (stream_ != nullptr) static_cast<void>(stream_->fill(window_, std::numeric_limits<std::size_t>::max()));
      finder_.emplace(window_);
      finder_offset_ = offset_;
    }
    const std::optional<RecordStart> found_next = finder_->next(offset_ - finder_offset_ + 1);
    if (!found_next) return lose_rest(code);
    suspect_ = !found_next->chain_reaches_end;
    return lose(static_cast<std::size_t>(found_next->offset - (offset_ - finder_offset_)), code);
  }

  /// Adds `size` bytes to the list of damage and moves behind them. Fails, and returns false, if the policy does not
  /// allow so much damage.
  auto lose(std::size_t size, std::error_code code) -> bool {
    damage_.push_back({offset_, size, number_, code});
    lost_bytes_ += size;
    if (damage_.size() > options_.damage.max_ranges || lost_bytes_ > options_.damage.max_bytes)
      return fail(record_errc::too_much_damage);
    pass(size);
    return true;
  }

  /// Called when nothing of the bytes that were read is a record. When salvaging, that is the end, unless the
  /// compressed data can be read from a later member on.
  auto lose_rest(std::error_code code) -> bool {
    if (options_.damage.action != DamagePolicy::OnDamage::salvage || code.category() != detail::record_category())
      return fail(code);
    if (!lose(window_.size(), code)) return false;
    if (inflates() && stream_->resume()) return true;
    if (stream_error() && stream_error().category() != detail::record_category()) return fail(stream_error());
    close();
    return false;
  }

  /// True if the next record is longer than the limit, and the file is long enough for it: a length that the file is
  /// too short for is damage. From a stream reads only as many bytes as the limit allows: the length counts as true if
  /// these exist.
  auto is_too_long(std::uint64_t length) -> bool {
    if (length <= limit_) return false;
    return has(record_frame_bytes + std::min(stream_ != nullptr ? limit_ : length, longest));
  }

  /// Fails, since a long record is not damage, so no policy continues after it. Returns false.
  auto refuse_length(std::uint64_t length) -> bool {
    static_cast<void>(fail(record_errc::too_large));
    error_.where += detail::over_limit(length, limit_);
    return false;
  }

  auto fail(std::error_code code) -> bool {
    error_ = {code, detail::record_where(path_, number_, offset_)};
    if (inflates()) error_.where += " of the inflated bytes";
    if (stream_ != nullptr) error_.where += stream_->asked();
    close();
    return false;
  }

  /// Ends reading. Bytes of a mapping stay valid.
  void close() {
    window_ = {};
    finder_.reset();
    stream_.reset();
  }

  /// Takes the next record without verifying its checksums. Returns false if there is none.
  auto read_unverified() -> bool {
    if (error_) return false;
    while (!has(record_header_bytes) && window_.size() < sizeof(std::uint64_t))
      if (!finish()) return false;
    const auto announced = load_le<std::uint64_t>(window_.data());
    if (is_too_long(announced)) return refuse_length(announced);
    const std::uint64_t length = std::min(announced, longest);
    const auto size = static_cast<std::size_t>(length);
    if (!has(record_frame_bytes + length) && window_.size() < record_header_bytes + size && size != 0)
      return fail(stream_error() ? stream_error() : record_errc::truncated_payload);
    const std::size_t header = std::min(record_header_bytes, window_.size());
    ahead_.assign({window_.subspan(header, size), offset_, number_});
    pass(std::min(record_frame_bytes + size, window_.size()));
    return true;
  }

  std::string path_;
  RecordReaderOptions options_;
  MappedFile mapping_;
  std::unique_ptr<Stream> stream_;  // null if the file is mapped or in memory
  std::optional<RecordFinder> finder_;  // set by the first search; from then on `window_` is all the rest of the file
  ByteView window_;  // bytes that were read, after the records that are verified
  std::uint64_t offset_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t limit_ = 0;  // most payload bytes of a record
  std::uint64_t finder_offset_ = 0;  // where the finder's bytes begin in the file
  std::uint64_t lost_bytes_ = 0;
  bool suspect_ = false;
  std::vector<Damage> damage_;
  Error error_;
  detail::FramesAhead ahead_;
};

/// The reader of plain and, with zlib, of compressed files.
using RecordReader = BasicRecordReader<>;

}  // namespace v0
}  // namespace distrib
