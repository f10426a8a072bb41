// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/byte_sink.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/gzip_members.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/record/zlib.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Writes TFRecords into a sink of bytes, for example `S3Writer` or `WebHdfsWriter`: the bytes that `RecordWriter` writes
/// into a file. Without `close` there is no file.
///
///     SinkRecordWriter writer{S3Writer{"s3://bucket/data/train-0", options}, "s3://bucket/data/train-0"};
///
/// Errors: each call has an overload that throws `std::system_error` and one that sets `to`. The first failure is final,
/// and names the file and the record.
///
/// Memory: as `RecordWriter`, and what the sink holds; 8 bytes a record with `RecordWriterOptions::index`.
///
/// Threads: one at a time. Movable.
template <ByteSink S> class SinkRecordWriter {
 public:
  /// `name`: of the file, for messages. Of the options `rename_on_close` has no effect. Throws `std::system_error`:
  /// `record_errc::bad_level` or `bad_deflate_option`; `compressed` for an index of a compressed file.
  SinkRecordWriter(S sink, std::string name, const RecordWriterOptions& options = {})
      : sink_{std::move(sink)}, name_{std::move(name)}, options_{options} {
    if (options_.compression != Compression::none) {
      if (options_.index) error_ = {record_errc::compressed, detail::shown_name(name_) + ": index"};
      else if (const std::error_code ec = check_options(options_.deflate)) error_ = {ec, detail::shown_name(name_)};
      throw_if(error_);
      deflater_.emplace(options_.compression, options_.deflate);
    }
    buffer_.resize(std::max<std::size_t>(options_.buffer_bytes, 128 << 10));
    if (in_members()) filled_ = detail::gzip_extra_bytes;
  }

  /// Adds a record with these bytes, which may change after the call.
  void append(ByteView payload, ErrorRef to) {
    if (!error_ && closed_) error_ = {record_errc::closed, where()};
    if (!error_) {
      put(encode_record_header(payload.size()));
      put(payload);
      put(encode_record_footer(payload), options_.deflate.flush);
    }
    if (!error_) {
      ++records_;
      member_size_ += record_frame_bytes + payload.size();
      ++member_records_;
      if (options_.index) offsets_.push_back(offsets_.back() + record_frame_bytes + payload.size());
      if (in_members() && member_size_ >= options_.member_bytes) end_member();
    }
    to.set(Error{error_});
  }
  void append(ByteView payload) {
    Error error;
    append(payload, error);
    throw_if(error);
  }

  /// Writes what is left and makes the file visible. A second call does nothing, except that it reports the first
  /// failure again.
  void close(ErrorRef to) {
    if (!error_ && !closed_) {
      if (in_members()) {
        if (member_records_ != 0 || records_ == 0) end_member();
      } else {
        if (deflater_) put({}, DeflateOptions::Flush::finish);
        hand_over();
      }
      if (!error_) sink_.close(error_);
      closed_ = true;
    }
    to.set(Error{error_});
  }
  void close() {
    Error error;
    close(error);
    throw_if(error);
  }

  /// Returns the first failure, and where it happened; empty if there was none.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }
  /// Returns the number of records that were appended.
  [[nodiscard]] auto records() const noexcept -> std::uint64_t { return records_; }
  /// Returns where each record begins, and where the last one ends. Only with `RecordWriterOptions::index`.
  [[nodiscard]] auto offsets() const noexcept -> std::span<const std::uint64_t> { return offsets_; }
  /// Returns the sink, for what it knows after `close`.
  [[nodiscard]] auto sink() const noexcept -> const S& { return sink_; }
  [[nodiscard]] auto name() const noexcept -> const std::string& { return name_; }

 private:
  [[nodiscard]] auto in_members() const noexcept -> bool {
    return options_.compression == Compression::gzip && options_.member_bytes != 0;
  }
  auto where() const -> std::string { return detail::shown_name(name_) + ": record " + std::to_string(records_); }

  /// Appends bytes to the buffer, through the compressor if there is one.
  void put(ByteView bytes, DeflateOptions::Flush flush = DeflateOptions::Flush::none) {
    while (deflater_ && !error_) {
      filled_ += deflater_->deflate(bytes, std::span{buffer_}.subspan(filled_), flush);
      if (filled_ < buffer_.size()) return;
      if (in_members()) buffer_.resize(2 * buffer_.size());
      else hand_over();
    }
    while (!bytes.empty() && !error_) {
      const std::size_t count = std::min(bytes.size(), buffer_.size() - filled_);
      std::copy_n(bytes.begin(), count, buffer_.begin() + static_cast<std::ptrdiff_t>(filled_));
      filled_ += count;
      bytes = bytes.subspan(count);
      if (filled_ == buffer_.size()) hand_over();
    }
  }

  void end_member() {
    put({}, DeflateOptions::Flush::finish);
    if (error_) return;
    detail::announce_gzip_member(std::span{buffer_}.first(filled_), member_size_, member_records_);
    hand_over();
    deflater_->reset();
    filled_ = detail::gzip_extra_bytes;
    member_size_ = 0;
    member_records_ = 0;
  }

  void hand_over() {
    if (!error_) sink_.write(ByteView{buffer_}.first(filled_), error_);
    filled_ = 0;
    if (error_) error_.where = where() + " (" + error_.where + ')';
  }

  S sink_;
  std::string name_;
  RecordWriterOptions options_;
  std::optional<Deflater> deflater_;
  std::vector<std::byte> buffer_;
  std::size_t filled_ = 0;
  std::uint64_t member_size_ = 0;  // bytes of the current member, before compression
  std::uint64_t member_records_ = 0;
  std::uint64_t records_ = 0;
  std::vector<std::uint64_t> offsets_{0};
  Error error_;
  bool closed_ = false;
};

}  // namespace v0
}  // namespace distrib
