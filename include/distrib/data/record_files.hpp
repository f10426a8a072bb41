// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/data/error.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/record_index.hpp>
#include <distrib/record/record_reader.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace distrib::inline v0 {

namespace detail {

/// The records of a compressed file, inflated into memory and verified.
class InflatedRecords {
 public:
  /// At most `max_bytes`, with the 16 bytes that frame each record.
  InflatedRecords(const std::string& path, std::uint64_t max_bytes, Error& error) {
    std::error_code ec;
    RecordReaderOptions options;
    options.max_record_bytes = std::min(options.max_record_bytes, max_bytes);
    RecordReader reader{path, options, ec};
    if (ec) {
      error = reader.error();
      return;
    }
    while (const std::optional<Record> record = reader.try_next()) {
      const std::uint64_t taken = bytes_.size() + (ends_.size() + 1) * record_frame_bytes;
      if (taken > max_bytes || record->bytes.size() > max_bytes - taken) {
        error = {data_errc::inflated_too_large, path};
        return;
      }
      bytes_.insert(bytes_.end(), record->bytes.begin(), record->bytes.end());
      ends_.push_back(bytes_.size());
    }
    error = reader.error();
    if (error.code == record_errc::too_large && max_bytes < RecordReaderOptions{}.max_record_bytes)
      error.code = data_errc::inflated_too_large;
  }

  [[nodiscard]] auto size() const noexcept -> std::size_t { return ends_.size(); }
  /// What the file inflates to.
  [[nodiscard]] auto bytes() const noexcept -> std::uint64_t { return bytes_.size() + ends_.size() * record_frame_bytes; }
  /// Where record `i <= size()` begins in what the file inflates to.
  [[nodiscard]] auto offset(std::size_t i) const noexcept -> std::uint64_t { return begin(i) + i * record_frame_bytes; }
  [[nodiscard]] auto at(std::size_t i) const noexcept -> ByteView {
    return ByteView{bytes_}.subspan(begin(i), ends_[i] - begin(i));
  }

 private:
  auto begin(std::size_t i) const noexcept -> std::size_t { return i == 0 ? 0 : ends_[i - 1]; }

  std::vector<std::byte> bytes_;
  std::vector<std::size_t> ends_;
};

/// `RecordIndex`, with the place of a failure: its text is "place: message".
inline auto index_file(const std::string& path, Error& error) -> std::optional<RecordIndex> {
  try {
    return RecordIndex{path};
  } catch (const std::system_error& failure) {
    error = {failure.code(), failure.what()};
    const std::string message = ": " + error.code.message();
    if (error.where.ends_with(message)) error.where.resize(error.where.size() - message.size());
    return std::nullopt;
  }
}

}  // namespace detail

/// TFRecord files, one after the other, as one list of records with numbers from 0. Plain files are mapped (see the
/// hazard at `MappedFile`) and indexed by their headers, 8 bytes a record, and payloads are verified when asked for;
/// gzip and zlib files are inflated into memory, and verified, when opened.
///
/// Records' bytes live as long as this object, also when it is moved. Const access from any thread.
class RecordFiles {
 public:
  /// Opens `paths`; compressed ones may inflate to at most `max_inflated_bytes`, all together. `error` names
  /// file, record and offset: `data_errc::inflated_too_large`, a `record_errc`, or the system's reason.
  RecordFiles(std::span<const std::string> paths, std::uint64_t max_inflated_bytes, Error& error) {
    firsts_.push_back(0);
    for (const std::string& path : paths) {
      std::optional<RecordIndex> index = detail::index_file(path, error);
      if (index) {
        const std::size_t records = index->size();
        add({path, std::move(*index)}, records);
      } else if (error.code == record_errc::compressed) {
        error = {};
        detail::InflatedRecords inflated{path, max_inflated_bytes, error};
        if (error) return;
        max_inflated_bytes -= inflated.bytes();
        const std::size_t records = inflated.size();
        add({path, std::move(inflated)}, records);
      } else {
        return;
      }
    }
  }

  /// Number of records in all files.
  [[nodiscard]] auto size() const noexcept -> std::uint64_t { return firsts_.back(); }

  /// The payload of record `i < size()`, verified. `error`: `record_errc::corrupt_payload` and its place.
  [[nodiscard]] auto at(std::uint64_t i, Error& error) const -> ByteView {
    const auto [file, record] = locate(i);
    if (const auto* inflated = std::get_if<detail::InflatedRecords>(&file.records)) return inflated->at(record);
    std::error_code ec;
    const ByteView bytes = std::get<RecordIndex>(file.records).at(record, ec).bytes;
    if (ec) error = {ec, place(i)};
    return bytes;
  }

  /// "path: record 2 at offset 33", for messages about record `i < size()`.
  [[nodiscard]] auto place(std::uint64_t i) const -> std::string {
    const auto [file, record] = locate(i);
    return detail::record_place(file.path, record, offset(file, record));
  }

  /// 16 hexadecimal digits that tell data sets apart: SHA-256 over size in bytes (before compression) and number of
  /// records of each file, in order. Names, places and payloads do not count.
  [[nodiscard]] auto fingerprint() const -> std::string {
    Sha256 hash;
    for (std::size_t f = 0; f < files_.size(); ++f) {
      const std::uint64_t records = firsts_[f + 1] - firsts_[f];
      std::array<std::byte, 16> facts;
      store_le(facts.data(), offset(files_[f], records));
      store_le(facts.data() + 8, records);
      hash.update(facts);
    }
    return to_hex(ByteView{hash.finish()}.first(8));
  }

 private:
  struct File {
    std::string path;
    std::variant<RecordIndex, detail::InflatedRecords> records;
  };

  void add(File file, std::uint64_t records) {
    files_.push_back(std::move(file));
    firsts_.push_back(firsts_.back() + records);
  }

  auto locate(std::uint64_t i) const noexcept -> std::pair<const File&, std::size_t> {
    const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), i);
    const auto f = static_cast<std::size_t>(after - firsts_.begin()) - 1;
    return {files_[f], static_cast<std::size_t>(i - firsts_[f])};
  }

  static auto offset(const File& file, std::size_t record) -> std::uint64_t {
    return std::visit([record](const auto& records) { return records.offset(record); }, file.records);
  }

  std::vector<File> files_;
  std::vector<std::uint64_t> firsts_;  // number of each file's first record, and of all records
};

}  // namespace distrib::inline v0
