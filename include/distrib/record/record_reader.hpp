// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
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
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How `BasicRecordReader` reads.
struct RecordReaderOptions {
  /// What a file means that ends inside a record's header.
  enum class TruncatedHeader {
    report,               ///< `record_errc::truncated_header`: something was lost.
    end_like_tensorflow,  ///< The end, and so are compressed data that end early at the border of a record or inside a
    ///< header.
    end_like_hadoop,  ///< The end as long as the length is cut, 1 to 7 bytes; `truncated_header` from 8 bytes on.
  };

  /// How a reader gets at the bytes of a file.
  enum class FileAccess {
    automatic,  ///< Regular files on this machine that are not compressed are mapped, all else is read in pieces.
    mapped,  ///< As before, but on network file systems too (see the hazard at `MappedFile`).
    buffered,  ///< Everything is read in pieces of 256 KiB.
  };

  /// What a reader does with checksums.
  enum class Checksums {
    verify,  ///< Both of each record are verified.
    ignore_like_hadoop,  ///< `tensorflow.read.crc32check=false`: nothing is noticed, a file may even end inside the last
    ///< checksum. Only for what was written with wrong checksums; `DamagePolicy` has no effect.
  };

  TruncatedHeader truncated_header = TruncatedHeader::report;
  FileAccess access = FileAccess::automatic;
  Checksums checksums = Checksums::verify;
  DamagePolicy damage{};
  /// Set: how the file must be wrapped. `none` reads it as plain, whatever it is, so that compressed data come out as
  /// `corrupt_length`; the others refuse what is not theirs with `corrupt_compression`, as TensorFlow does.
  std::optional<Compression> compression{};
  /// Longer records are refused with `too_large`, whatever the damage policy says, since they are not damaged. Without a
  /// limit of its own a reader takes every record of a file that is mapped, where a record needs no memory, and records
  /// of up to `default_buffered_bytes` of what it reads in pieces, because a small compressed file may inflate to a huge
  /// record.
  std::optional<std::uint64_t> max_record_bytes{};
  static constexpr std::uint64_t default_buffered_bytes = std::uint64_t{8} << 30;
};

/// Reads the records of a TFRecord file in order and verifies both checksums of each. Plain, gzip and zlib files are
/// told apart by content. An empty file has no records.
///
/// Two faces over one step: as an input range it throws `std::system_error`; `try_next` returns nothing and `error()`
/// says why. Either way the text names file, record and offset, the first failure sticks, and the records before it
/// were good. `for (const Record& record : RecordReader{"train-0.tfrecord"}) ...`
///
/// Damage is a failure, unless `RecordReaderOptions::damage` says to go on; `damage()` lists what was lost. Salvage
/// searches a plain file, which for a pipe means to read the rest of it into memory; in a compressed file it goes on at
/// the next member that `RecordWriter` began, and what is lost is counted only as far as it could be inflated.
///
/// Lifetime of a record's bytes: of a file that is mapped that of the reader, also when it is moved, since they lie in
/// the mapping and are not copied; else until the next record is asked for.
/// Memory: 256 KiB, or twice the longest record, of a file that is not mapped; none of one that is. Threads: one at a
/// time. Movable; a reader that was moved from can only be destroyed or assigned to. `I` reads compressed files.
template <Inflates I = Inflater> class BasicRecordReader {
 public:
  using Iterator = RecordIterator<BasicRecordReader>;

  /// Opens `path`. Throws `std::system_error` with the system's reason.
  explicit BasicRecordReader(std::string path, const RecordReaderOptions& options = {})
      : path_{std::move(path)}, options_{options} {
    open();
    throw_if(error_);
  }

  /// The same; on failure `ec` is set, and so is `error()`.
  BasicRecordReader(std::string path, const RecordReaderOptions& options, std::error_code& ec)
      : path_{std::move(path)}, options_{options} {
    open();
    ec = error_.code;
  }

  /// Reads `file`, the bytes of a plain file that somebody else keeps, and will keep as long as the records are used: a
  /// `MappedFile` for instance, whose pages are then fetched once for all readers. `name` is what errors call it.
  BasicRecordReader(ByteView file, std::string name, const RecordReaderOptions& options = {})
      : path_{std::move(name)}, options_{options}, window_{file} {
    set_limit();
  }

  /// Reads what comes from elsewhere, plain or compressed. `name` is what errors call it.
  template <ByteSource S>
  BasicRecordReader(S source, std::string name, const RecordReaderOptions& options = {})
      : BasicRecordReader{ByteView{}, std::move(name), options} {
    stream_ = std::make_unique<Stream>(AnyByteSource{std::move(source)}, options.compression == Compression::none);
    set_limit();
  }

  /// The next record, or nothing: at the end of the file, or after a failure, which `error()` tells apart.
  [[nodiscard]] auto try_next() -> std::optional<Record> {
    const Record* const record = step();
    return record != nullptr ? std::optional{*record} : std::nullopt;
  }

  /// The first failure and its place; empty while there is none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }

  /// What was lost so far, in the order of the file. Empty unless the damage policy lets the reader go on.
  [[nodiscard]] auto damage() const noexcept -> const std::vector<Damage>& { return damage_; }

  /// Where the next record begins; after a failure, the record that failed. Of a compressed file: in what it inflates
  /// to.
  [[nodiscard]] auto offset() const noexcept -> std::uint64_t { return ahead_.offset_or(offset_); }

  /// The number of the next record: how many were returned, and ranges that were lost, each counted as one.
  [[nodiscard]] auto number() const noexcept -> std::uint64_t { return ahead_.number_or(number_); }

  /// Reads on, as an input range: begin() fetches a record, so call it once.
  [[nodiscard]] auto begin() -> Iterator { return Iterator{*this}; }
  [[nodiscard]] auto end() const noexcept -> std::default_sentinel_t { return {}; }

 private:
  friend Iterator;
  using Stream = detail::RecordStream<I>;
  static constexpr std::uint64_t longest = std::uint64_t{1} << 62;  // no file has it, and sums do not overflow

  void open() {
    open_file();
    set_limit();
  }

  /// How long a record may be, now that it is known whether records need memory.
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

  /// Makes `window_` so long, if the file is.
  auto has(std::uint64_t size) -> bool {
    return size <= window_.size() || (stream_ != nullptr && !finder_ && stream_->fill(window_, size));
  }

  auto stream_error() const noexcept -> std::error_code {
    return stream_ != nullptr ? stream_->error() : std::error_code{};
  }

  /// Whether the file is wrapped as the options want it. What is to be read as plain is always right.
  auto wrapped_right() -> bool {
    if (!options_.compression || *options_.compression == Compression::none || !has(1)) return true;
    const Compression found = stream_ != nullptr ? stream_->compression() : Compression::none;
    return found == *options_.compression || fail(record_errc::corrupt_compression);
  }

  auto inflates() const noexcept -> bool { return stream_ != nullptr && stream_->inflates(); }

  /// Goes behind a record or a range that was lost.
  void pass(std::size_t size) noexcept {
    window_ = window_.subspan(size);
    offset_ += size;
    ++number_;
  }

  /// The next record, which stays until the one after the next is asked for; null: there is none.
  auto step() -> const Record* {
    if (ahead_.empty() && !read_ahead()) return nullptr;
    return ahead_.take();
  }

  /// Reads and verifies some records; false: there is none.
  auto read_ahead() -> bool {
    ahead_.clear();
    if (offset_ == 0 && !wrapped_right()) return false;
    if (options_.checksums == RecordReaderOptions::Checksums::ignore_like_hadoop) return read_unverified();
    while (!ahead_.verify(window_, limit_, suspect_, offset_, number_))
      if (!get_over()) return false;
    return true;
  }

  /// The record at hand is not in order: gets the rest of it, or goes behind it. False: nothing more can be read.
  auto get_over() -> bool {
    const std::size_t had = window_.size();
    if (!has(record_header_bytes)) return finish();
    const std::optional<std::uint64_t> length = parse_record_header(window_.template first<record_header_bytes>());
    if (!length) return lose_header(record_errc::corrupt_length);
    if (is_too_long(*length)) return refuse_length(*length);
    const std::uint64_t size = record_frame_bytes + std::min(*length, longest);
    if (!has(size)) return lose_header(record_errc::truncated_payload);
    if (window_.size() > had) return true;  // now it may well be in order
    if (options_.damage.action == DamagePolicy::OnDamage::stop) return fail(record_errc::corrupt_payload);
    if (ends_right(size)) return lose(static_cast<std::size_t>(size), record_errc::corrupt_payload);
    return lose_header(record_errc::corrupt_payload);
  }

  /// Whether a record, or the end of the file, stands `size` bytes on.
  auto ends_right(std::uint64_t size) -> bool {
    if (!has(size + record_header_bytes)) return true;
    const ByteView next = window_.subspan(static_cast<std::size_t>(size));
    return parse_record_header(next.template first<record_header_bytes>()).has_value();
  }

  /// Less than a header is left.
  auto finish() -> bool {
    if (error_) return false;
    const std::error_code ec = stream_error();
    const bool like_tensorflow = options_.truncated_header == RecordReaderOptions::TruncatedHeader::end_like_tensorflow;
    const bool like_hadoop =
        options_.truncated_header == RecordReaderOptions::TruncatedHeader::end_like_hadoop && window_.size() < 8;
    if (ec && !(like_tensorflow && ec == record_errc::truncated_compression)) return lose_rest(ec);
    if (!ec && !window_.empty() && !like_tensorflow && !like_hadoop) return lose_rest(record_errc::truncated_header);
    close();
    return false;
  }

  /// Nothing tells where the record at hand ends.
  auto lose_header(record_errc found) -> bool {
    std::error_code code = found;
    if (code == record_errc::truncated_payload && stream_error()) code = stream_error();
    if (options_.damage.action != DamagePolicy::OnDamage::salvage) return fail(code);
    if (inflates()) return lose_rest(code);
    if (!finder_) {  // one for all searches: together they have a bound
      if (stream_ != nullptr) static_cast<void>(stream_->fill(window_, std::numeric_limits<std::size_t>::max()));
      finder_.emplace(window_);
      finder_offset_ = offset_;
    }
    const std::optional<RecordStart> found_next = finder_->next(offset_ - finder_offset_ + 1);
    if (!found_next) return lose_rest(code);
    suspect_ = !found_next->chain_reaches_end;
    return lose(static_cast<std::size_t>(found_next->offset - (offset_ - finder_offset_)), code);
  }

  /// Enters `size` bytes into the list, and goes on behind them if the policy allows.
  auto lose(std::size_t size, std::error_code code) -> bool {
    damage_.push_back({offset_, size, number_, code});
    lost_bytes_ += size;
    if (damage_.size() > options_.damage.max_ranges || lost_bytes_ > options_.damage.max_bytes)
      return fail(record_errc::too_much_damage);
    pass(size);
    return true;
  }

  /// Nothing at hand can be read: the end for who salvages, unless the compressed data has another beginning.
  auto lose_rest(std::error_code code) -> bool {
    if (options_.damage.action != DamagePolicy::OnDamage::salvage || code.category() != detail::record_category())
      return fail(code);
    if (!lose(window_.size(), code)) return false;
    if (inflates() && stream_->resume()) return true;
    if (stream_error() && stream_error().category() != detail::record_category()) return fail(stream_error());
    close();
    return false;
  }

  /// Whether the record at hand is longer than the limit and not just a length that lies. Of a stream no more is read
  /// than the limit.
  auto is_too_long(std::uint64_t length) -> bool {
    if (length <= limit_) return false;
    return has(record_frame_bytes + std::min(stream_ != nullptr ? limit_ : length, longest));
  }

  /// That is no damage, so that no policy goes on behind it.
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

  /// Nothing more is read; bytes of a mapping stay.
  void close() {
    window_ = {};
    finder_.reset();
    stream_.reset();
  }

  /// Takes the next record without a look at its checksums. False: there is none.
  auto read_unverified() -> bool {
    if (error_) return false;
    if (!has(record_header_bytes) && window_.size() < sizeof(std::uint64_t)) return finish();
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
  std::unique_ptr<Stream> stream_;  // null when the file is mapped
  std::optional<RecordFinder> finder_;  // since the first salvage; then all of the file is at hand
  ByteView window_;  // bytes at hand, behind the records that are verified
  std::uint64_t offset_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t limit_ = 0;  // bytes of a record
  std::uint64_t finder_offset_ = 0;  // where the finder's bytes begin
  std::uint64_t lost_bytes_ = 0;
  bool suspect_ = false;
  std::vector<Damage> damage_;
  Error error_;
  detail::FramesAhead ahead_;
};

/// The reader of plain files and, with zlib, of compressed ones.
using RecordReader = BasicRecordReader<>;

}  // namespace v0
}  // namespace distrib
