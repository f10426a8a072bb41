// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/gzip_members.hpp>
#include <distrib/record/index_file.hpp>
#include <distrib/record/zlib.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How `RecordWriter` writes.
struct RecordWriterOptions {
  /// Compression pays for text and ids. Floats and images hardly shrink, and reading becomes ten times slower.
  Compression compression = Compression::none;
  /// How to compress; has no effect without compression.
  DeflateOptions deflate = {};
  /// Bytes that are collected before they are passed to the system; less than 128 KiB counts as 128 KiB. A record may
  /// be longer. TensorFlow has two such buffers, one before the compressor and one after it; here nothing waits before
  /// the compressor.
  std::size_t buffer_bytes = 256 << 10;
  /// Size of the members into which a gzip file is cut: a member ends with the first record that
  /// brings it to this many bytes before compression, and is kept in memory until then. Readers can inflate members in
  /// parallel, count records without inflating, and continue after damage; 1 MiB makes the file a thousandth larger. 0:
  /// one ordinary member, for readers that do not accept several. No effect without gzip.
  std::uint64_t member_bytes = 1 << 20;
  /// True: writes a file that has no name, and `close()` gives it its name, after fsync. Until then other processes see
  /// the older file of this name, or none, and after it the whole new file. Of several writers of one name, each has a
  /// file of its own, and the one that closes last replaces the others. A writer that is destroyed before `close()`
  /// leaves no new file, and neither does a process that is killed before it.
  ///
  /// A file system that has no files without names (NFS, and many in user space) gets a hidden file beside the file
  /// (".NAME.tmp..."), and a process that is killed leaves it there. It is not removed later, because a process cannot
  /// know that no process of another machine writes it.
  bool rename_on_close = false;
  /// True: `close()` writes an index beside the file, the same that `open_index` would write. It costs 8 bytes of
  /// memory a record, but no reading. Not for compressed files.
  bool index = false;
};

template <Deflates D> class BasicShardedRecordWriter;

/// Writes a TFRecord file. An existing file is replaced: it is emptied when the writer is constructed or, with
/// `rename_on_close`, replaced in `close()`.
///
/// Errors: each call has an overload that throws `std::system_error` and one that sets `ec`. The first failure is
/// final: every later call reports it again, and `error()` names the file and the record. If the system accepts no more
/// bytes, the file is cut back to whole records or members; a file that is one compressed stream is not. The destructor
/// closes the file but cannot report a failure, so call `close()`.
///
/// Memory: `buffer_bytes`; for a gzip file up to twice the compressed size of one member, if that is more; and 8 bytes
/// a record for an index.
///
/// Threads: one at a time.
///
/// Can be moved into a new writer, not assigned. `D` is the compressor: zlib's by default.
template <Deflates D = Deflater> class BasicRecordWriter {
 public:
  /// Creates `path`. Throws `std::system_error`: the system's reason, or `record_errc::bad_level`,
  /// `bad_deflate_option`, or `compressed` for an index of a compressed file.
  explicit BasicRecordWriter(std::string path, const RecordWriterOptions& options = {})
      : path_{std::move(path)}, options_{options} {
    open();
    throw_if(error_);
  }

  /// This overload sets `ec` on failure instead of throwing; `error()` is then set too.
  BasicRecordWriter(std::string path, const RecordWriterOptions& options, std::error_code& ec)
      : path_{std::move(path)}, options_{options} {
    open();
    ec = error_.code;
  }

  BasicRecordWriter(BasicRecordWriter&&) noexcept = default;
  auto operator=(BasicRecordWriter&&) -> BasicRecordWriter& = delete;

  ~BasicRecordWriter() {
    std::error_code ignored;
    if (!options_.rename_on_close) close(ignored);
    else if (written_.file.is_open() && !written_.path.empty()) ::unlink(written_.path.c_str());
  }

  /// Adds a record with these bytes, which may change after the call.
  void append(ByteView payload) {
    add(payload);
    if (error_) throw_if(error_);
  }
  void append(ByteView payload, std::error_code& ec) {
    add(payload);
    ec = error_.code;
  }

  /// Passes all records written so far to the operating system, so that other processes find them in the file. A
  /// compressed file grows by a flush mark or, if it is cut into members, by the end of a member. Does not fsync.
  void flush() {
    std::error_code ec;
    flush(ec);
    throw_if(error_);
  }
  void flush(std::error_code& ec) {
    if (!error_ && !written_.file.is_open()) fail(record_errc::closed);
    if (!error_) {
      if (deflater_ && !in_members()) deflate({}, DeflateOptions::Flush::sync);
      write_out();
    }
    ec = error_.code;
  }

  /// Writes what is left and closes the file; with `rename_on_close` also gives it its name, and with `index` writes
  /// the index. If only the index cannot be written, this is a failure that names the index, and the file itself is
  /// whole. A second call does nothing, except that it reports the first failure again.
  void close() {
    std::error_code ec;
    close(ec);
    throw_if(error_);
  }
  void close(std::error_code& ec) {
    seal();
    publish();
    ec = error_.code;
  }

  /// Returns the first failure, and where it happened; empty if there was none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }

  /// Returns the number of records that were appended.
  [[nodiscard]] auto records() const noexcept -> std::uint64_t { return records_; }

  /// Returns the path of the file, also before it has this name.
  [[nodiscard]] auto path() const noexcept -> const std::string& { return path_; }

 private:
  friend BasicShardedRecordWriter<D>;

  static constexpr std::size_t least_buffer_bytes = 128 << 10;
  // larger payloads are written without a copy; for smaller ones a system call each would cost more
  static constexpr std::size_t copied_bytes = 64 << 10;
  // large payloads are checksummed and written in such slices, while a slice is in the cache
  static constexpr std::size_t slice_bytes = 256 << 10;

  void open() {
    if (options_.compression != Compression::none) {
      if (options_.index) {
        error_ = {record_errc::compressed, path_ + ": index"};
        return;
      }
      if (const std::error_code ec = check_options(options_.deflate)) {
        error_ = {ec, path_ + ": level " + std::to_string(options_.deflate.level) + ", memory_level " +
                          std::to_string(options_.deflate.memory_level) + ", window_bits " +
                          std::to_string(options_.deflate.window_bits)};
        return;
      }
      deflater_.emplace(options_.compression, options_.deflate);
      if (in_members()) filled_ = detail::gzip_extra_bytes;
    }
    buffer_.resize(std::max(options_.buffer_bytes, least_buffer_bytes));
    std::error_code ec;
    if (options_.rename_on_close) written_ = detail::create_unnamed_file(path_, ec);
    else written_ = {path_, {path_, O_WRONLY | O_CREAT | O_TRUNC, ec}};
    if (ec) error_ = {ec, written_.path};
  }

  [[nodiscard]] auto in_members() const noexcept -> bool {
    return options_.compression == Compression::gzip && options_.member_bytes != 0;
  }

  void add(ByteView payload) {
    if (error_) return;
    if (!written_.file.is_open()) return fail(record_errc::closed);
    if (deflater_) compress(payload);
    else if (payload.size() <= copied_bytes) copy(payload);
    else gather(payload);
    if (error_) return;
    ++records_;
    if (options_.index) offsets_.push_back(offsets_.back() + record_frame_bytes + payload.size());
  }

  /// Writes a small record, through the buffer.
  void copy(ByteView payload) {
    if (buffer_.size() - filled_ < record_frame_bytes + payload.size()) {
      write_out();
      if (error_) return;
    }
    std::byte* const at = buffer_.data() + filled_;
    const auto header = encode_record_header(payload.size());
    const auto footer = encode_record_footer(payload);
    std::memcpy(at, header.data(), header.size());
    if (!payload.empty()) std::memcpy(at + header.size(), payload.data(), payload.size());
    std::memcpy(at + header.size() + payload.size(), footer.data(), footer.size());
    filled_ += record_frame_bytes + payload.size();
  }

  /// Writes a large record from the caller's memory, after what the buffer holds. Goes slice by slice, so that each
  /// byte comes from memory only once.
  void gather(ByteView payload) {
    const auto header = encode_record_header(payload.size());
    ByteView before = ByteView{buffer_}.first(filled_);
    ByteView head = header;
    std::uint32_t crc = 0;
    filled_ = 0;
    while (!payload.empty() && !error_) {
      const ByteView slice = payload.first(std::min(payload.size(), slice_bytes));
      payload = payload.subspan(slice.size());
      crc = detail::crc32c_extend(crc, slice);
      std::array<std::byte, record_footer_bytes> footer;
      store_le(footer.data(), mask_crc(crc));
      const std::size_t last = payload.empty() ? footer.size() : 0;
      std::array<iovec, 4> pieces{piece(before), piece(head), piece(slice), piece(ByteView{footer}.first(last))};
      write(pieces);
      before = {};
      head = {};
    }
    if (!error_) whole_bytes_ = bytes_;
  }

  /// Writes a record through the compressor.
  void compress(ByteView payload) {
    deflate(encode_record_header(payload.size()));
    deflate(payload);
    deflate(encode_record_footer(payload), options_.deflate.flush);
    if (!in_members()) return;
    ++member_records_;
    member_size_ += record_frame_bytes + payload.size();
    if (member_size_ >= options_.member_bytes) write_out();
  }

  /// Writes some bytes through the compressor into the buffer. With members, the buffer grows until the member ends;
  /// without, a full buffer is written.
  void deflate(ByteView bytes, DeflateOptions::Flush flush = DeflateOptions::Flush::none) {
    while (!error_) {
      filled_ += deflater_->deflate(bytes, std::span{buffer_}.subspan(filled_), flush);
      if (filled_ < buffer_.size()) return;
      if (in_members()) buffer_.resize(2 * buffer_.size());
      else write_buffer();
    }
  }

  /// Writes all that can be written now. With members: ends the current member if there is a record in it.
  void write_out() {
    if (in_members()) {
      if (member_records_ != 0) end_member();
      return;
    }
    write_buffer();
    if (!error_ && !deflater_) whole_bytes_ = bytes_;
  }

  void end_member() {
    deflate({}, DeflateOptions::Flush::finish);
    detail::announce_gzip_member(std::span{buffer_}.first(filled_), member_size_, member_records_);
    write_buffer();
    if (!error_) whole_bytes_ = bytes_;
    deflater_->reset();
    filled_ = detail::gzip_extra_bytes;
    member_size_ = 0;
    member_records_ = 0;
  }

  void write_buffer() {
    std::array<iovec, 1> pieces{piece(ByteView{buffer_}.first(filled_))};
    filled_ = 0;
    if (!error_) write(pieces);
  }

  void write(std::span<iovec> pieces) {
    std::uint64_t size = 0;
    for (const iovec& one : pieces) size += one.iov_len;
    std::error_code ec;
    written_.file.write(pieces.data(), pieces.size(), ec);
    bytes_ += size;
    if (!ec) return;
    fail(ec);
    if (deflater_ && !in_members()) return;
    // Fails for a device or a pipe. The failure of the write is the one to report.
    [[maybe_unused]] const int cut = ::ftruncate(written_.file.get(), static_cast<off_t>(whole_bytes_));
  }

  /// Does all of `close()` except naming the file: writes what is left; fsyncs if the file gets its name later,
  /// otherwise closes it.
  void seal() {
    if (sealed_ || !written_.file.is_open()) return;
    if (in_members()) {
      // a file without records has one empty member
      if (!error_ && (member_records_ != 0 || bytes_ == 0)) end_member();
    } else {
      if (deflater_) deflate({}, DeflateOptions::Flush::finish);
      write_out();
    }
    if (!options_.rename_on_close) close_file();
    else if (!error_ && ::fsync(written_.file.get()) != 0) fail(detail::last_os_error());
    sealed_ = true;
  }

  void close_file() {
    std::error_code ec;
    written_.file.close(ec);
    if (ec && !error_) fail(ec);
  }

  /// With `rename_on_close` gives a sealed file its name, or removes it if anything failed. Then writes its index.
  void publish() {
    if (!sealed_) return;
    sealed_ = false;
    if (options_.rename_on_close) take_name();
    if (error_ || !options_.index) return;
    std::error_code ec;
    write_index_file(path_, offsets_, ec);
    if (ec) error_ = {ec, index_file_path(path_)};
  }

  void take_name() {
    std::error_code ec;
    if (!error_) detail::give_name(written_, path_, ec);
    else if (!written_.path.empty()) ::unlink(written_.path.c_str());
    is_named_ = !error_ && !ec;
    if (is_named_) detail::sync_name(path_, ec);
    if (ec) fail(ec);
    close_file();
  }

  /// Removes the file if `publish` gave it its name, and its index.
  void withdraw() {
    if (!is_named_) return;
    ::unlink(path_.c_str());
    if (options_.index) ::unlink(index_file_path(path_).c_str());
  }

  void fail(std::error_code code) { error_ = {code, path_ + ": record " + std::to_string(records_)}; }

  /// `writev` takes pointers to non-const, although it only reads.
  static auto piece(ByteView bytes) noexcept -> iovec { return {const_cast<std::byte*>(bytes.data()), bytes.size()}; }

  std::string path_;
  RecordWriterOptions options_;
  detail::NewFile written_;  // its path is empty if it has no name
  std::optional<D> deflater_;
  std::vector<std::byte> buffer_;
  std::size_t filled_ = 0;
  std::uint64_t bytes_ = 0;  // passed to the system
  std::uint64_t whole_bytes_ = 0;  // `bytes_` at the end of the last whole record or member
  std::uint64_t member_size_ = 0;  // bytes of the current member, before compression
  std::uint64_t member_records_ = 0;  // records in the current member
  std::uint64_t records_ = 0;
  std::vector<std::uint64_t> offsets_{0};  // for the index: where each record begins, and where the last one ends
  Error error_;
  bool is_named_ = false;  // has its name, by `rename_on_close`
  bool sealed_ = false;  // finished, but does not have its name yet
};

/// The writer that compresses with zlib.
using RecordWriter = BasicRecordWriter<>;

#ifndef DISTRIB_HEADER_ONLY  // instantiated in the .ipp
extern template class BasicRecordWriter<Deflater>;
#endif

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/impl/record_writer.ipp>
#endif
