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

/// A RecordReader of TFRecord files: the key is the payload of a record, the value is empty, as in the InputFormat of
/// TensorFlow's ecosystem project.
///
/// Any byte range is a valid split. A record belongs to the split in which it begins, and `find_split` finds these
/// beginnings, so each record of a file is read exactly once, for any division of the file. (Upstream's InputFormat
/// reads a whole file in one map.) Compressed files, which are detected from their content, cannot be divided: the
/// split that begins at 0 reads the whole file, and the others read nothing.
///
/// Both checksums of each record are verified. `tensorflow.read.crc32check=false` turns that off, but only for a split
/// that reads a whole file.
///
/// `Files` provides the file; the default reads local files ("file:").
///
/// Errors: each function throws `std::system_error`, as it says.
template <TaskFiles Files = detail::LocalTaskFiles> class BasicTFRecordInput {
 public:
  /// For local files. Opens nothing.
  BasicTFRecordInput() = default;

  /// For other files than local ones.
  explicit BasicTFRecordInput(Files files) : files_{std::move(files)} {}

  /// Opens the part of a file that `split` names. Call it once.
  ///
  /// Errors: throws `hadoop_errc::bad_split` if `split` is not a split of a file; what `fetch` of `Files` reports, for
  /// local files `unsupported_path` for a name that is no absolute path, with or without "file:"; the system's error or
  /// `record_errc::not_regular` if the file cannot be mapped; `record_errc::uncertain_split` if damage makes it
  /// uncertain where the records of the split begin.
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

  /// Returns the next record, valid until the next call; nothing at the end of the split. Throws a `record_errc` or the
  /// system's error, with file, record and offset.
  [[nodiscard]] auto next() -> std::optional<KeyValue> {
    if (whole_) return next_of(*whole_);
    if (part_) return next_of(*part_);
    return std::nullopt;
  }

  /// Returns the progress in the split, 0 to 1. For a compressed file it is unknown: 0.
  [[nodiscard]] auto progress() const noexcept -> float {
    const std::uint64_t at = whole_ ? whole_->offset() : part_ ? part_->offset() : end_;
    if (is_compressed_ || at <= begin_) return 0;
    if (at >= end_) return 1;  // the last record may end beyond the split
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

/// Reads local files.
using TFRecordInput = BasicTFRecordInput<>;

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
