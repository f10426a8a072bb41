// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/piece_cache.hpp>
#include <distrib/data/range_plan.hpp>
#include <distrib/data/remote_ranges.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/byte_source.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/damage.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/index_file.hpp>
#include <distrib/record/ranged_file.hpp>
#include <distrib/record/record.hpp>
#include <distrib/record/record_index.hpp>
#include <distrib/record/record_reader.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// The verified records of a compressed, damaged or remote file, read into memory.
template <Inflates I> class InflatedRecords {
 public:
  /// Reads at most `max_bytes`; each record counts with the 16 bytes that frame it. With `salvage`, skips what cannot
  /// be read and appends it to `lost`.
  InflatedRecords(const std::string& path, std::uint64_t max_bytes, bool salvage, std::vector<Error>& lost,
                  Error& error, const OpenRemote& remote = {}) {
    std::error_code ec;
    RecordReaderOptions options;
    if (salvage) options.damage.action = DamagePolicy::OnDamage::salvage;
    options.max_record_bytes = max_bytes;
    BasicRecordReader<I> reader =
        remote ? BasicRecordReader<I>{remote(path), path, options} : BasicRecordReader<I>{path, options, ec};
    if (ec) {
      error = reader.error();
      return;
    }
    while (const std::optional<Record> record = reader.try_next()) {
      const std::uint64_t taken = bytes_.size() + (ends_.size() + 1) * record_frame_bytes;
      if (taken > max_bytes || record->bytes.size() > max_bytes - taken) {
        error = {data_errc::inflated_too_large, shown_name(path)};
        return;
      }
      bytes_.insert(bytes_.end(), record->bytes.begin(), record->bytes.end());
      ends_.push_back(bytes_.size());
    }
    error = reader.error();
    for (const Damage& damage : reader.damage())
      lost.push_back({damage.code, record_where(shown_name(path), damage.record, damage.offset)});
    if (error.code == record_errc::too_large) error.code = data_errc::inflated_too_large;
  }

  [[nodiscard]] auto size() const noexcept -> std::size_t { return ends_.size(); }
  /// Returns the size of the inflated file in bytes.
  [[nodiscard]] auto bytes() const noexcept -> std::uint64_t {
    return bytes_.size() + ends_.size() * record_frame_bytes;
  }
  /// Returns the offset of record `i <= size()` in the inflated file.
  [[nodiscard]] auto offset(std::size_t i) const noexcept -> std::uint64_t { return begin(i) + i * record_frame_bytes; }
  [[nodiscard]] auto at(std::size_t i) const noexcept -> ByteView {
    return ByteView{bytes_}.subspan(begin(i), ends_[i] - begin(i));
  }

 private:
  auto begin(std::size_t i) const noexcept -> std::size_t { return i == 0 ? 0 : ends_[i - 1]; }

  std::vector<std::byte> bytes_;
  std::vector<std::size_t> ends_;
};

}  // namespace detail

/// How `RecordFiles` reads files.
struct RecordFilesOptions {
  std::uint64_t max_inflated_bytes = std::uint64_t{1} << 30;  ///< Limit for all files held in memory together.
  /// True: reads a plain file with damaged headers into memory, and skips what cannot be read in it and in the other
  /// files that are read into memory. False: such damage is an error.
  bool salvage = false;
  std::string cache_directory = {};  ///< Keeps pieces of remote files there, see `PieceCache`. Empty: nowhere.
  std::uint64_t cache_bytes = 0;  ///< Limit for the cache.
};

/// How remote files are opened. Both functions empty: all files are on this machine.
struct RemoteOpening {
  OpenRemote whole = {};  ///< For reading from the beginning.
  OpenRanged ranged = {};  ///< For reading any part, if that is possible.
};

/// TFRecord files, one after the other, as one list of records with numbers from 0. Plain files are mapped (see
/// `MappedFile`) and indexed by their headers, or by the index file beside them (`open_index`), with 8 bytes for each
/// record; a record is verified when it is requested. Remote files that can be read at any place (`RangedFile`) are read
/// once and verified when they are opened, unless the cache knows their records; 8 bytes for each record stay in memory.
/// Compressed files, other remote files, and damaged files with `RecordFilesOptions::salvage` are read into memory and
/// verified when they are opened.
///
/// Lifetime: the bytes of records are valid as long as this object, also after it was moved. Remote records
/// have no bytes here: see `extent`.
///
/// Threads: const access from any thread. `I` inflates.
template <Inflates I> class BasicRecordFiles {
 public:
  /// Opens `paths`, those that `remote` opens with it.
  ///
  /// Errors: sets `error` to `data_errc::inflated_too_large`, a `record_errc`, what reading remote files reports, or the
  /// operating system's reason, with file, record and offset. The object then holds only the files before the one that
  /// failed.
  BasicRecordFiles(std::span<const std::string> paths, const RecordFilesOptions& options, Error& error,
                   const RemoteOpening& remote = {}) {
    firsts_.push_back(0);
    std::uint64_t room = options.max_inflated_bytes;
    open_cache(options, remote, error);
    std::vector<OpenedAway> away = open_away(paths, options, remote, error);
    for (std::size_t i = 0; i < paths.size() && !error; ++i) {
      const std::string& path = paths[i];
      OpenRemote whole = remote.whole;
      if (!away.empty() && away[i].number) {
        whole = [reads = remote_.get(), number = *away[i].number](const std::string&) {
          return AnyByteSource{detail::RemoteBytes{*reads, number}};
        };
        error = std::move(away[i].error);
        if (!error) {
          const std::size_t records = away[i].offsets.size() - 1;
          add({detail::shown_name(path), Away{*away[i].number, std::move(away[i].offsets)}}, records);
          continue;
        }
      } else if (!away.empty() || !whole) {
        whole = {};  // it is on this machine, or could not be opened
        if (!away.empty()) error = std::move(away[i].error);
        if (error) return;
        RecordIndex index = open_index(path, {}, error);
        if (!error) {
          const std::size_t records = index.size();
          add({path, std::move(index)}, records);
          continue;
        }
      }
      if (error && error.code != record_errc::compressed && !(options.salvage && error.code == failure::corrupt))
        return;
      error = {};
      Inflated inflated{path, room, options.salvage, lost_, error, whole};
      if (error) return;
      room -= inflated.bytes();
      const std::size_t records = inflated.size();
      add({detail::shown_name(path), std::move(inflated)}, records);
    }
  }

  /// Returns the number of records in all files.
  [[nodiscard]] auto size() const noexcept -> std::uint64_t { return firsts_.back(); }

  /// Returns the number of records in each file.
  [[nodiscard]] auto lengths() const -> std::vector<std::uint64_t> {
    std::vector<std::uint64_t> lengths;
    for (std::size_t f = 0; f < files_.size(); ++f) lengths.push_back(firsts_[f + 1] - firsts_[f]);
    return lengths;
  }

  /// True if there are remote records, which `at` cannot return.
  [[nodiscard]] auto has_remote() const noexcept -> bool { return remote_ != nullptr; }

  /// Returns what reads the remote files; null if there are none.
  [[nodiscard]] auto remote() const noexcept -> const detail::RemoteReads* { return remote_.get(); }

  /// Returns where the frame of record `i < size()` lies, if it is in a remote file that is not in memory.
  [[nodiscard]] auto extent(std::uint64_t i) const noexcept -> std::optional<FileExtent> {
    const auto [file, record] = locate(i);
    const auto* const away = std::get_if<Away>(&file.records);
    if (away == nullptr) return std::nullopt;
    return FileExtent{away->file, away->offsets[record], away->offsets[record + 1] - away->offsets[record]};
  }

  /// Returns the verified payload of record `i < size()`, which must not have an `extent`.
  ///
  /// Errors: sets `error` to `record_errc::corrupt_payload`, or to `corrupt_length` (the file or its index file was
  /// changed), with the place of the record, and returns no bytes.
  [[nodiscard]] auto at(std::uint64_t i, Error& error) const -> ByteView {
    const auto [file, record] = locate(i);
    if (const auto* inflated = std::get_if<Inflated>(&file.records)) return inflated->at(record);
    std::error_code ec;
    const ByteView bytes = std::get<RecordIndex>(file.records).at(record, ec).bytes;
    if (ec) error = {ec, where(i)};
    return bytes;
  }

  /// Prefetches into the processor's cache what `prefetch` and `at` of record `i < size()` read first, as `RecordIndex`
  /// does.
  [[gnu::always_inline]] void prefetch_offset(std::uint64_t i) const noexcept {
    const auto [file, record] = locate(i);
    if (const auto* index = std::get_if<RecordIndex>(&file.records)) index->prefetch_offset(record);
  }

  /// Prefetches the beginning of record `i < size()` into the processor's cache.
  [[gnu::always_inline]] void prefetch(std::uint64_t i) const noexcept {
    const auto [file, record] = locate(i);
    if (const auto* index = std::get_if<RecordIndex>(&file.records)) index->prefetch(record);
  }

  /// Returns the damaged ranges that were skipped in salvaged files, each with its place.
  [[nodiscard]] auto lost() const noexcept -> std::span<const Error> { return lost_; }

  /// Returns the place of record `i < size()` for messages: "path: record 2 at offset 33".
  [[nodiscard]] auto where(std::uint64_t i) const -> std::string {
    const auto [file, record] = locate(i);
    return detail::record_where(file.path, record, offset(file, record));
  }

  /// Returns 16 hexadecimal digits that distinguish data sets: a SHA-256 of the size in bytes (before compression) and
  /// the number of records of each file, in order. Names, places and payloads do not count.
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
  using Inflated = detail::InflatedRecords<I>;

  /// The records of a remote file.
  struct Away {
    std::size_t file = 0;  // its number in remote_
    std::vector<std::uint64_t> offsets;
    auto offset(std::size_t record) const noexcept -> std::uint64_t { return offsets[record]; }
  };

  struct File {
    std::string path;  // as messages show it
    std::variant<RecordIndex, Inflated, Away> records;
  };

  /// A remote file whose records were found, or why not.
  struct OpenedAway {
    std::optional<std::size_t> number;  // in remote_; empty: it is on this machine, or could not be opened
    std::vector<std::uint64_t> offsets;
    Error error;
  };

  void open_cache(const RecordFilesOptions& options, const RemoteOpening& remote, Error& error) {
    error = {};
    if (!remote.ranged) return;
    std::shared_ptr<PieceCache> cache;
    if (!options.cache_directory.empty())
      cache = std::make_shared<PieceCache>(options.cache_directory, options.cache_bytes, error);
    remote_ = std::make_unique<detail::RemoteReads>(std::move(cache));
  }

  /// Opens the remote files and finds their records, several files at once. Returns nothing if no file can be read at any
  /// place. Files behind one that fails for good may be left out, those before it are not.
  auto open_away(std::span<const std::string> paths, const RecordFilesOptions& options, const RemoteOpening& remote,
                 Error& error) -> std::vector<OpenedAway> {
    std::vector<OpenedAway> opened(remote.ranged && !error ? paths.size() : 0);
    if (opened.empty()) return opened;
    std::vector<std::optional<RangedFile>> files(paths.size());
    std::atomic<std::size_t> first_failed = paths.size();
    const auto fails = [&](std::size_t i) {
      for (std::size_t first = first_failed; i < first && !first_failed.compare_exchange_weak(first, i);) continue;
    };
    const auto open = [&](std::size_t i) {
      if (i > first_failed) return;
      files[i] = remote.ranged(paths[i], opened[i].error);
      if (opened[i].error) fails(i);
    };
    open(0);  // it says how to ask for the others
    std::function<void(std::function<void()>)> post;
    std::size_t at_once = 1;
    std::size_t ahead = 1;
    if (files[0]) {
      post = files[0]->post;
      at_once = std::min(std::clamp<std::size_t>(files[0]->pieces_ahead, 1, most_at_once), paths.size());
      ahead = std::max<std::size_t>(files[0]->pieces_ahead / at_once, 1);
    }
    detail::share_out(post, at_once - 1, paths.size() - 1, [&](std::size_t i) { open(i + 1); });
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (files[i]) opened[i].number = remote_->add(std::move(*files[i]), paths[i]);
    detail::share_out(post, at_once - 1, paths.size(), [&](std::size_t i) {
      if (!opened[i].number || i > first_failed) return;
      opened[i].offsets =
          detail::index_remote(*remote_, *opened[i].number, paths[i], opened[i].error, remote.whole, ahead);
      const Error& why = opened[i].error;
      if (why && why.code != record_errc::compressed && !(options.salvage && why.code == failure::corrupt)) fails(i);
    });
    return opened;
  }

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

  static constexpr std::size_t most_at_once = 8;  // remote files that are opened

  std::unique_ptr<detail::RemoteReads> remote_;  // null: all files are here, or in memory
  std::vector<File> files_;
  std::vector<Error> lost_;
  std::vector<std::uint64_t> firsts_;  // number of the first record of each file, then the number of all records
};

/// Inflates with zlib.
using RecordFiles = BasicRecordFiles<Inflater>;

#ifndef DISTRIB_HEADER_ONLY  // in its .ipp
extern template class BasicRecordFiles<Inflater>;
#endif

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/data/impl/record_files.ipp>
#endif
