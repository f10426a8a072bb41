// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/core/detail/files.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/zlib.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// How `RecordWriter` writes.
struct RecordWriterOptions {
  /// Pays for text and ids; floats and images hardly shrink, and reading becomes ten times slower.
  Compression compression = Compression::none;
  /// -1 (zlib's choice) .. 9; without compression of no effect.
  int level = -1;
  /// Write under a hidden name beside the file and give it its own name in `close()`, after fsync: others see the whole
  /// file or none. A writer that is destroyed before leaves nothing.
  bool rename_on_close = false;
};

/// Writes a TFRecord file. What is there already is replaced.
///
/// Failures come as `std::system_error` or, in the other face, as `ec`; the first one sticks, every later call repeats
/// it, and `error()` names the file and the record. The destructor closes and cannot tell of a failure, so call
/// `close()`. Memory: 256 KiB. Movable; one thread at a time.
class RecordWriter {
 public:
  /// Creates `path`. Throws `std::system_error`: the system's reason, or `record_errc::bad_level`.
  explicit RecordWriter(std::string path, const RecordWriterOptions& options = {})
      : path_{std::move(path)}, options_{options} {
    open();
    throw_if(error_);
  }

  /// The same; on failure `ec` is set, and so is `error()`.
  RecordWriter(std::string path, const RecordWriterOptions& options, std::error_code& ec)
      : path_{std::move(path)}, options_{options} {
    open();
    ec = error_.code;
  }

  RecordWriter(RecordWriter&&) noexcept = default;
  auto operator=(RecordWriter&&) -> RecordWriter& = delete;

  ~RecordWriter() {
    if (!file_.is_open()) return;
    std::error_code ignored;
    if (options_.rename_on_close)
      ::unlink(written_path_.c_str());
    else
      close(ignored);
  }

  /// Adds a record of these bytes; afterwards they are the caller's again.
  void append(ByteView payload) {
    std::error_code ec;
    append(payload, ec);
    throw_if(error_);
  }
  void append(ByteView payload, std::error_code& ec) {
    if (!error_ && !file_.is_open()) fail(record_errc::closed);
    if (!error_) {
      const auto header = encode_record_header(payload.size());
      const auto footer = encode_record_footer(payload);
      if (deflater_) {
        deflate(header);
        deflate(payload);
        deflate(footer);
      } else {
        write(header, payload, footer);
      }
      if (!error_) ++records_;
    }
    ec = error_.code;
  }

  /// Hands all records so far to the operating system: who reads the file now finds them. Compressed files grow by a
  /// flush mark. No fsync.
  void flush() {
    std::error_code ec;
    flush(ec);
    throw_if(error_);
  }
  void flush(std::error_code& ec) {
    if (!error_ && !file_.is_open()) fail(record_errc::closed);
    if (!error_) {
      if (deflater_) deflate({}, Deflater::Flush::sync);
      write_buffer();
    }
    ec = error_.code;
  }

  /// Writes what is left and closes the file; with `rename_on_close` gives it its name. Closing again is fine.
  void close() {
    std::error_code ec;
    close(ec);
    throw_if(error_);
  }
  void close(std::error_code& ec) {
    if (file_.is_open()) {
      if (deflater_) deflate({}, Deflater::Flush::finish);
      write_buffer();
      finish();
    }
    ec = error_.code;
  }

  /// The first failure and its place; empty while there is none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }

  /// How many records were appended.
  [[nodiscard]] auto records() const noexcept -> std::uint64_t { return records_; }

 private:
  static constexpr std::size_t buffer_bytes = 256 << 10;
  static constexpr std::size_t copied_bytes = 8 << 10;  // payloads above go to the system without a copy

  void open() {
    if (options_.compression != Compression::none) {
      if (options_.level < -1 || options_.level > 9) {
        error_ = {record_errc::bad_level, path_ + ": level " + std::to_string(options_.level)};
        return;
      }
      deflater_.emplace(options_.compression, options_.level);
    }
    buffer_.resize(buffer_bytes);
    written_path_ = path_;
    if (options_.rename_on_close)
      written_path_.insert(path_.size() - detail::file_of(path_).size(), ".") += ".tmp" + std::to_string(::getpid());
    std::error_code ec;
    file_ = {written_path_, O_WRONLY | O_CREAT | O_TRUNC, ec};
    if (ec) error_ = {ec, written_path_};
  }

  /// A whole record, uncompressed.
  void write(ByteView header, ByteView payload, ByteView footer) {
    if (payload.size() > copied_bytes) {
      const ByteView before = ByteView{buffer_}.first(filled_);
      std::array<iovec, 4> pieces{piece(before), piece(header), piece(payload), piece(footer)};
      filled_ = 0;
      write_pieces(pieces);
      return;
    }
    if (buffer_.size() - filled_ < record_frame_bytes + payload.size()) write_buffer();
    for (const ByteView part : {header, payload, footer}) {
      if (!part.empty()) std::memcpy(buffer_.data() + filled_, part.data(), part.size());
      filled_ += part.size();
    }
  }

  /// Some bytes through zlib into the buffer, which is written whenever it is full.
  void deflate(ByteView bytes, Deflater::Flush flush = Deflater::Flush::none) {
    while (!error_) {
      const std::span<std::byte> room = std::span{buffer_}.subspan(filled_);
      filled_ += deflater_->deflate(bytes, room, flush);
      if (filled_ < buffer_.size()) return;
      write_buffer();
    }
  }

  void write_buffer() {
    std::array<iovec, 1> pieces{piece(ByteView{buffer_}.first(filled_))};
    filled_ = 0;
    if (!error_) write_pieces(pieces);
  }

  void write_pieces(std::span<iovec> pieces) {
    std::error_code ec;
    file_.write(pieces, ec);
    if (ec) fail(ec);
  }

  void finish() {
    if (options_.rename_on_close && !error_ && ::fsync(file_.get()) != 0) fail(detail::last_os_error());
    std::error_code ec;
    file_.close(ec);
    if (ec && !error_) fail(ec);
    if (!options_.rename_on_close) return;
    if (!error_ && std::rename(written_path_.c_str(), path_.c_str()) != 0) fail(detail::last_os_error());
    if (error_) ::unlink(written_path_.c_str());
  }

  void fail(std::error_code code) {
    error_ = {code, path_ + ": record " + std::to_string(records_)};
  }

  /// writev takes what it only reads as pointers to non-const.
  static auto piece(ByteView bytes) noexcept -> iovec {
    return {const_cast<std::byte*>(bytes.data()), bytes.size()};
  }

  std::string path_;
  std::string written_path_;
  RecordWriterOptions options_;
  detail::FileDescriptor file_;
  std::optional<Deflater> deflater_;
  std::vector<std::byte> buffer_;
  std::size_t filled_ = 0;
  std::uint64_t records_ = 0;
  Error error_;
};

}  // namespace distrib::inline v0
