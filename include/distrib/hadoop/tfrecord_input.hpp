// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/hadoop/file_split.hpp>
#include <distrib/hadoop/task_context.hpp>
#include <distrib/hadoop/task_files.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/mapped_file.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/split_reader.hpp>
#include <distrib/record/splits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// A RecordReader of TFRecord files: the key is a record's payload, the value is empty, as upstream's InputFormat has
/// it.
///
/// Any byte range is a split: a record belongs to the one in which it begins, and where that is, is found out by
/// `find_split`, so all records of a file are read once each, however Hadoop cuts it. Upstream's InputFormat reads a
/// whole file in one map. Compressed files, told by content, cannot be cut: the split that begins at 0 reads all, the
/// others nothing.
///
/// Both checksums of each record are verified; `tensorflow.read.crc32check=false` turns that off where a split is a
/// whole file. `Files` comes by the file: of this machine ("file:") unless told. Throws `std::system_error` with file,
/// record and offset.
template <TaskFiles Files = detail::LocalTaskFiles> class BasicTFRecordInput {
 public:
  BasicTFRecordInput() = default;

  /// With files of another kind.
  explicit BasicTFRecordInput(Files files) : files_{std::move(files)} {}

  /// Opens the part of a file that `split` is.
  void open(ByteView split, TaskContext& context) {
    const FileSplit part = FileSplit::parse(split);
    Error error;
    const std::string path = files_.fetch(part.path, context, error);
    throw_if(error);
    const MappedFile file{path};
    const std::uint64_t size = file.bytes().size();
    const ByteView head = file.bytes().first(static_cast<std::size_t>(std::min<std::uint64_t>(size, detection_bytes)));
    is_compressed_ = detect_compression(head) != Compression::none;
    begin_ = std::min(part.start, size);
    end_ = std::min(part.start + part.length, size);
    if (begin_ == 0 && (end_ == size || is_compressed_)) {
      RecordReaderOptions options;
      if (!context.conf().flag("tensorflow.read.crc32check", true))
        options.checksums = RecordReaderOptions::Checksums::ignore_like_hadoop;
      whole_.emplace(path, options);
    } else if (!is_compressed_) {
      part_.emplace(path, find_split(file.bytes(), begin_, end_));
    }
  }

  /// The next record; nothing at the end of the split.
  [[nodiscard]] auto next() -> std::optional<KeyValue> {
    if (whole_) return next_of(*whole_);
    if (part_) return next_of(*part_);
    return std::nullopt;
  }

  /// How far in the split, 0 to 1. Of a compressed file nobody knows: 0.
  [[nodiscard]] auto progress() const noexcept -> float {
    const std::uint64_t at = whole_ ? whole_->offset() : part_ ? part_->offset() : end_;
    if (is_compressed_ || at <= begin_) return 0;
    if (at >= end_) return 1;  // the last record may end behind the split
    return static_cast<float>(static_cast<double>(at - begin_) / static_cast<double>(end_ - begin_));
  }

 private:
  template <class Reader> static auto next_of(Reader& reader) -> std::optional<KeyValue> {
    const std::optional<Record> record = reader.try_next();
    throw_if(reader.error());
    return record ? std::optional{KeyValue{record->bytes, {}}} : std::nullopt;
  }

  Files files_;
  std::optional<distrib::RecordReader> whole_;
  std::optional<SplitReader> part_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  bool is_compressed_ = false;
};

/// Of files of this machine.
using TFRecordInput = BasicTFRecordInput<>;

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
