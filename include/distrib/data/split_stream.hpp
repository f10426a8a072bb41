// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/find_files.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/record.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/split_reader.hpp>
#include <distrib/record/splits.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One of `count` shares of the records of files, a Stream. Every plain file is cut by bytes into `count` parts, and
/// the share is part `index` of each, so a worker reads only about its share of the bytes. All shares together have
/// every record exactly once, for any number of files (`split_file` says why). Compressed files and pipes cannot be
/// cut: they are read whole, and the share is the records whose number divided by `count` leaves the remainder `index`.
///
/// Within a share, records come in the order of the files and of their places. After a failure the rest of that file's
/// share is skipped.
///
/// Errors: `next` reports a `record_errc` with file, record and offset, or the operating system's reason. `rewind`
/// reports `data_errc::no_files` or `bad_shard`.
template <class Reader = SplitReader> class SplitStream {
 public:
  using Element = Record;

  SplitStream(std::vector<std::string> sources, std::int64_t count, std::int64_t index)
      : sources_{std::move(sources)}, count_{count}, index_{index} {}

  [[nodiscard]] auto next(Error& error) -> std::optional<Record> {
    while (true) {
      if (part_ != nullptr) {
        if (const std::optional<Record> record = part_->try_next()) return record;
        error = part_->error();
      } else if (whole_ != nullptr) {
        while (const std::optional<Record> record = whole_->try_next())
          if (record->number % static_cast<std::uint64_t>(count_) == static_cast<std::uint64_t>(index_)) return record;
        error = whole_->error();
      }
      part_.reset();
      whole_.reset();
      if (error || next_file_ == files_.size()) return std::nullopt;
      open(files_[next_file_++], error);
      if (error) return std::nullopt;
    }
  }

  void rewind(std::uint64_t, Error& error) {
    if (count_ <= 0 || index_ < 0 || index_ >= count_)
      error = {data_errc::bad_shard, "split_stream(" + std::to_string(count_) + ", " + std::to_string(index_) + ")"};
    else if (files_.empty()) files_ = find_files(sources_, error);
    part_.reset();
    whole_.reset();
    next_file_ = error ? files_.size() : 0;
  }

  /// The names of the files do not count, but their number does.
  [[nodiscard]] auto describe() const -> std::string {
    return "split_stream files=" + std::to_string(files_.size()) + " shard=" + std::to_string(count_) + '/' +
           std::to_string(index_);
  }

 private:
  void open(const std::string& path, Error& error) {
    std::error_code ec;
    const FileSplits found = split_file(path, static_cast<std::size_t>(count_), RunInOrder{}, error);
    if (error.code == record_errc::compressed || error.code == record_errc::not_regular) {
      error = {};
      whole_ = std::make_unique<RecordReader>(path, RecordReaderOptions{}, ec);
    } else if (error && (error.code != failure::corrupt || found.splits.empty())) {
      return;
    } else {
      error = {};  // the reader of the share that contains the damage reports it
      part_ = std::make_unique<Reader>(path, found.splits[static_cast<std::size_t>(index_)], ec);
    }
    if (!ec) return;
    error = whole_ != nullptr ? whole_->error() : part_->error();
    whole_.reset();
    part_.reset();
  }

  std::vector<std::string> sources_;
  std::int64_t count_;
  std::int64_t index_;
  std::vector<std::string> files_;
  std::size_t next_file_ = 0;
  std::unique_ptr<Reader> part_;
  std::unique_ptr<RecordReader> whole_;
};

}  // namespace v0
}  // namespace distrib
