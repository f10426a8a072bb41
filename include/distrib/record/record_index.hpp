// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/mapped_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// Random access to the records of a plain TFRecord file. Building it walks the headers and verifies them; payloads are
/// touched, and verified, only by `at`. Costs 8 bytes a record and the mapping.
///
/// Records' bytes live as long as the index, also when it is moved: they lie in the mapping (see the hazard at
/// `MappedFile`). Const access from any thread. Movable.
class RecordIndex {
 public:
  /// Maps and indexes `path`. Throws `std::system_error` naming file, record and offset: `record_errc::compressed`,
  /// `not_regular`, damage of a header, a file that ends inside a record, or the system's reason.
  explicit RecordIndex(std::string path) : path_{std::move(path)} {
    Error error;
    build(error);
    throw_if(error);
  }

  /// The same; on failure `ec` is set and there are no records.
  RecordIndex(std::string path, std::error_code& ec) : path_{std::move(path)} {
    Error error;
    build(error);
    ec = error.code;
  }

  /// Number of records.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return offsets_.empty() ? 0 : offsets_.size() - 1; }

  /// Where record `i` begins, and, for `i == size()`, where the last one ends; `i <= size()`.
  [[nodiscard]] auto offset(std::size_t i) const noexcept -> std::uint64_t {
    return offsets_.empty() ? 0 : offsets_[i];
  }

  /// Payload bytes of record `i`; `i < size()`.
  [[nodiscard]] auto length(std::size_t i) const noexcept -> std::uint64_t {
    return offsets_[i + 1] - offsets_[i] - record_frame_bytes;
  }

  /// Record `i`, its payload verified. Throws `std::system_error` naming file, record and offset:
  /// `record_errc::corrupt_payload` or `no_such_record`.
  [[nodiscard]] auto at(std::size_t i) const -> Record {
    std::error_code ec;
    const Record record = at(i, ec);
    if (ec) throw_error(ec, detail::record_place(path_, i, offset(std::min(i, size()))));
    return record;
  }

  /// The same; on failure `ec` is set and the record is empty.
  [[nodiscard]] auto at(std::size_t i, std::error_code& ec) const noexcept -> Record {
    ec.clear();
    if (i >= size()) {
      ec = record_errc::no_such_record;
      return {};
    }
    const ByteView frame = mapping_.bytes().subspan(offsets_[i], offsets_[i + 1] - offsets_[i]);
    const ByteView payload = frame.subspan(record_header_bytes, frame.size() - record_frame_bytes);
    if (!payload_matches(payload, frame.last<record_footer_bytes>())) {
      ec = record_errc::corrupt_payload;
      return {};
    }
    return {payload, offsets_[i], i};
  }

  /// The file it was built from.
  [[nodiscard]] auto path() const noexcept -> const std::string& { return path_; }

 private:
  void build(Error& error) {
    mapping_ = MappedFile{path_, error.code};
    if (error) {
      error.where = path_;
      return;
    }
    const ByteView file = mapping_.bytes();
    if (detect_compression(file.first(std::min(file.size(), detection_bytes))) != Compression::none) {
      error = {record_errc::compressed, path_};
      return;
    }
    offsets_.push_back(0);
    while (offsets_.back() < file.size()) {
      error.code = step(file);
      if (!error) continue;
      error.where = detail::record_place(path_, size(), offsets_.back());
      offsets_.clear();
      return;
    }
  }

  /// Adds the end of the record that begins at the last offset.
  auto step(ByteView file) -> std::error_code {
    const ByteView rest = file.subspan(offsets_.back());
    if (rest.size() < record_header_bytes) return record_errc::truncated_header;
    const std::optional<std::uint64_t> length = parse_record_header(rest.first<record_header_bytes>());
    if (!length) return record_errc::corrupt_length;
    if (rest.size() < record_frame_bytes || *length > rest.size() - record_frame_bytes)
      return record_errc::truncated_payload;
    offsets_.push_back(offsets_.back() + record_frame_bytes + *length);
    return {};
  }

  std::string path_;
  MappedFile mapping_;
  std::vector<std::uint64_t> offsets_;  // of each record, and the end of the last
};

}  // namespace distrib::inline v0
