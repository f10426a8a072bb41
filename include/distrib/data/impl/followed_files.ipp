// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/data/followed_files.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/data/find_files.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/error.hpp>
#include <distrib/stream_log/error.hpp>

#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The bytes of one version of an object in order, a `ByteSource`. Lifetime: the store must outlive it.
class FollowedObjectBytes {
 public:
  FollowedObjectBytes(AnyObjectStore& store, ObjectInfo object) : store_{&store}, object_{std::move(object)} {}

  [[nodiscard]] auto read(std::span<std::byte> to, Error& error) -> std::size_t {
    error = {};
    if (next_ == piece_.size()) {
      const auto bytes = static_cast<std::size_t>(std::min(object_.bytes - at_, most_piece_bytes));
      if (bytes == 0) return 0;
      piece_.resize(bytes);
      next_ = 0;
      store_->get_range(object_.key, at_, piece_, object_.version, error);
      if (error) piece_.clear();
      if (error) return 0;
      at_ += bytes;
    }
    const std::size_t count = std::min(to.size(), piece_.size() - next_);
    std::copy_n(piece_.begin() + static_cast<std::ptrdiff_t>(next_), count, to.begin());
    next_ += count;
    return count;
  }

 private:
  static constexpr std::uint64_t most_piece_bytes = 8 << 20;

  AnyObjectStore* store_;
  ObjectInfo object_;
  std::uint64_t at_ = 0;  // offset of the first byte behind the piece
  std::vector<std::byte> piece_;
  std::size_t next_ = 0;  // in the piece
};

DISTRIB_DECL auto FilePlace::name() const -> std::string { return shown_name(directory_); }

DISTRIB_DECL void FilePlace::check(Error& error) {
  error = {};
  if (!is_url(directory_)) {
    if (!is_directory(directory_)) error = {data_errc::no_files, '"' + directory_ + "\" is no directory"};
    return;
  }
  if (!open_store_) return void(error = {record_errc::no_object_store, name()});
  ObjectDirectory opened = open_store_(directory_, error);
  if (!error) store_ = std::move(opened);
}

DISTRIB_DECL auto FilePlace::place_of(const std::string& name) const -> std::string {
  return store_ ? store_->url + "/" + name : join_path(directory_, name);
}

DISTRIB_DECL auto FilePlace::is_wanted(const std::string& name) const -> bool {
  return !is_side_file(name) && name.size() <= max_source_name_bytes &&
         ::fnmatch(pattern_.c_str(), name.c_str(), FNM_PERIOD) == 0;
}

// Returns the files of the directory, sorted by name.
DISTRIB_DECL auto FilePlace::list(Error& error) -> std::vector<Listed> {
  error = {};
  if (store_) return list_store(error);
  std::error_code ec;
  std::vector<Listed> files;
  for (std::string& name : list_directory(directory_, ec)) {
    struct ::stat status{};
    if (!is_wanted(name) || ::stat(place_of(name).c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    Stamp stamp{{},
                static_cast<std::uint64_t>(status.st_ino),
                static_cast<std::uint64_t>(status.st_size),
                std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
    files.push_back({std::move(name), std::move(stamp)});
  }
  if (ec) error = {ec, directory_};
  std::ranges::sort(files, {}, &Listed::name);
  return files;
}

DISTRIB_DECL auto FilePlace::list_store(Error& error) -> std::vector<Listed> {
  const std::string prefix = store_->root.empty() ? "" : store_->root + "/";
  std::vector<Listed> files;
  for (ObjectInfo& object : store_->store.list(prefix, error)) {
    std::string name = object.key.substr(prefix.size());
    if (name.empty() || name.find('/') != std::string::npos || !is_wanted(name)) continue;
    if (object.version.size() > max_source_version_bytes) object.version.clear();
    files.push_back({std::move(name), {std::move(object.version), 0, object.bytes, object.modified_seconds}});
  }
  std::ranges::sort(files, {}, &Listed::name);
  return files;
}

DISTRIB_DECL auto FilePlace::sources(Error& error) -> std::optional<std::vector<std::string>> {
  std::vector<std::string> names;
  for (Listed& file : list(error)) names.push_back(std::move(file.name));
  if (error) return std::nullopt;
  std::erase_if(known_, [&names](const auto& file) { return !std::ranges::binary_search(names, file.first); });
  return names;
}

DISTRIB_DECL auto FilePlace::look(StreamLog& next, std::uint64_t batch, Error& error) -> std::vector<StreamProposal> {
  std::vector<StreamProposal> proposals;
  std::vector<Listed> files = list(error);
  if (error) return proposals;
  // New files first: files that the log has are only looked at because they may have grown.
  std::ranges::sort(files, {}, [&](const Listed& file) {
    return std::pair{next.end_of(file.name) != nullptr, std::string_view{file.name}};
  });
  for (const Listed& file : files) {
    if (next.covers(batch + 1)) break;
    std::optional<StreamProposal> proposal = news_of(next, file, error);
    if (error) return {};
    if (!proposal || !may_append(next, *proposal)) continue;
    append_proposal(next, *proposal);
    proposals.push_back(*std::move(proposal));
  }
  return proposals;
}

DISTRIB_DECL auto FilePlace::hold(const StreamRange& range, std::uint64_t first, Error& error)
    -> std::shared_ptr<const StreamRecords> {
  Opened* const file = open(range.source, range.end, error);
  if (error.code == failure::not_found) {
    error = check_source(range, first, nullptr, std::nullopt);
  } else if (!error) {
    const SeenSource seen{range.source, 0, file->records->files.size(), file->version};
    std::optional<StreamSum> sum;
    if (seen.end >= range.end) sum = sum_before(*file, range.end, error);
    if (!error) error = check_source(range, first, &seen, sum);
    if (error) opened_.pop_front();  // it is read again the next time
  }
  return error ? nullptr : file->records;
}

// Returns the open file, with at least so many records if it has them; the first one of `opened_`.
DISTRIB_DECL auto FilePlace::open(const std::string& file, std::uint64_t least, Error& error) -> Opened* {
  error = {};
  const auto found = std::ranges::find(opened_, file, &Opened::name);
  if (found != opened_.end() && found->records->files.size() >= least) {
    opened_.splice(opened_.begin(), opened_, found);
    return &opened_.front();
  }
  if (found != opened_.end()) opened_.erase(found);
  std::string version;
  auto records = std::make_shared<const Records>(read(file, version, error));
  if (error) return nullptr;
  opened_.push_front({file, std::move(version), std::move(records), {}});
  if (opened_.size() > most_open()) opened_.pop_back();
  return &opened_.front();
}

DISTRIB_DECL auto FilePlace::read(const std::string& file, std::string& version, Error& error) -> RecordFiles {
  const std::array path{place_of(file)};
  RecordFilesOptions how;
  how.max_inflated_bytes = max_inflated_bytes_;
  if (!store_) return RecordFiles{path, how, error};
  const std::string key = store_->root.empty() ? file : store_->root + "/" + file;
  const ObjectInfo object = store_->store.info(key, error);
  if (error) {
    Error ignored;
    return RecordFiles{{}, how, ignored};
  }
  if (object.version.size() <= max_source_version_bytes) version = object.version;
  RemoteOpening remote;
  remote.whole = [this, &object](const std::string&) {
    return AnyByteSource{FollowedObjectBytes{store_->store, object}};
  };
  RecordFiles records{path, how, error, remote};
  if (error.code == failure::mismatch) {  // it was replaced while it was read, or this process may not read it
    Error missing;
    const ObjectInfo now = store_->store.info(key, missing);
    if (missing.code == failure::not_found || (!missing && now.version != object.version))
      error = {stream_errc::source_replaced, path[0] + ": while it was read"};
    else if (missing) error = std::move(missing);  // it is not known which: the store is asked again
  }
  return records;
}

// The sum is the first half of SHA-256 of the lengths and CRC-32C of the records. It reads and verifies all of them.
DISTRIB_DECL auto FilePlace::sum_before(Opened& file, std::uint64_t record, Error& error) -> StreamSum {
  if (const auto known = file.sums.find(record); known != file.sums.end()) return known->second;
  Sha256 hash;
  for (std::uint64_t i = 0; i < record; ++i) {
    const ByteView bytes = file.records->at(i, error);
    if (error) return {};
    std::array<std::byte, 12> facts;
    store_le(facts.data(), static_cast<std::uint64_t>(bytes.size()));
    store_le(facts.data() + 8, crc32c(bytes));
    hash.update(facts);
  }
  const Sha256Digest digest = hash.finish();
  const StreamSum sum{load_le<std::uint64_t>(digest.data()), load_le<std::uint64_t>(digest.data() + 8)};
  file.sums.emplace(record, sum);
  return sum;
}

// Returns what a file has that the log does not have.
DISTRIB_DECL auto FilePlace::news_of(const StreamLog& log, const Listed& file, Error& error)
    -> std::optional<StreamProposal> {
  const SourceEnd* const logged = log.end_of(file.name);
  if (logged != nullptr && !logged->version.empty() && logged->version == file.stamp.version) return std::nullopt;
  const auto known = known_.find(file.name);
  if (known != known_.end() && known->second.stamp == file.stamp && logged != nullptr &&
      known->second.records == logged->records)
    return std::nullopt;
  // If it is open, it may have been replaced since.
  std::erase_if(opened_, [&](const Opened& one) { return one.name == file.name; });
  Opened* const opened = open(file.name, 0, error);
  // It was there a moment ago, or it was replaced while it was read: it is looked at again the next time.
  if (error.code == failure::not_found || error.code == stream_errc::source_replaced) return error = {}, std::nullopt;
  if (error || opened == nullptr) return std::nullopt;
  const SeenSource seen{file.name, 0, opened->records->files.size(), opened->version};
  if (logged != nullptr && seen.end == logged->records) {
    known_.insert_or_assign(file.name, Known{file.stamp, seen.end});  // reading tells whether they are the same ones
    return std::nullopt;
  }
  const SourceStep step = look_at_source(log, seen, [&](std::uint64_t n) { return sum_before(*opened, n, error); });
  if (error) return std::nullopt;
  if (step.news == SourceNews::replaced) {
    error = {stream_errc::source_replaced, file.name + ": it has other records before record " +
                                               std::to_string(logged->records) + " than those in the log"};
    return std::nullopt;
  }
  if (step.news == SourceNews::none) {
    if (seen.end == 0 || logged != nullptr) known_.insert_or_assign(file.name, Known{file.stamp, seen.end});
    return std::nullopt;
  }
  known_.insert_or_assign(file.name, Known{file.stamp, seen.end});
  if (!step.proposal) return std::nullopt;
  return StreamProposal{*step.proposal};
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
