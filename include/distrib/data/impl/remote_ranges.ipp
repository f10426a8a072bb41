// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/data/remote_ranges.hpp>

#include <distrib/core/paths.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/codec.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/index_object.hpp>
#include <distrib/record/record_reader.hpp>

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto steady_seconds() -> std::int64_t {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

DISTRIB_DECL void RemoteRange::make() noexcept {
  State wanted = State::wanted;
  if (!state_.compare_exchange_strong(wanted, State::begun, std::memory_order_acquire)) return;
  try {
    fetch();
  } catch (...) {
    thrown_ = std::current_exception();
  }
  if (!failed()) view_ = piece_ ? piece_->bytes() : ByteView{bytes_};
  if (is_mapped()) set_->held -= std::exchange(held_, 0);
  state_.store(State::done, std::memory_order_release);
  state_.notify_all();
}

DISTRIB_DECL void RemoteRange::fetch() {
  const RemoteSet::File& file = *file_;
  const std::string number = is_piece_ ? std::to_string(extent_.first / file.ranged.piece_bytes) : std::string{};
  if (is_piece_) piece_ = set_->cache->load(file.object, number, extent_.bytes);
  if (piece_) return;
  bytes_.resize(static_cast<std::size_t>(extent_.bytes));
  // One record may be longer than a request should be.
  for (std::size_t at = 0; at < bytes_.size() && !error_; at += file.ranged.piece_bytes) {
    const std::size_t count = std::min(file.ranged.piece_bytes, bytes_.size() - at);
    file.ranged.read(extent_.first + at, std::span{bytes_}.subspan(at, count), set_->dropped, error_);
  }
  if (error_) std::vector<std::byte>{}.swap(bytes_);  // an assignment would keep the memory
  else if (is_piece_) keep(number);
  if (piece_) std::vector<std::byte>{}.swap(bytes_);
}

DISTRIB_DECL void RemoteRange::keep(const std::string& number) {
  piece_ = set_->cache->store(file_->object, number, bytes_);
  if (!piece_) set_->cannot_keep_until = steady_seconds() + RemoteSet::seconds_without_pieces;
}

DISTRIB_DECL auto RemoteRange::bytes(Error& error) -> ByteView {
  if (!done()) {
    make();
    state_.wait(State::begun, std::memory_order_acquire);
  }
  if (thrown_) std::rethrow_exception(thrown_);
  if (error_) error = error_;
  return view_;
}

DISTRIB_DECL auto payload_of(ByteView frame, std::error_code& code) -> ByteView {
  const ByteView payload = frame.subspan(record_header_bytes, frame.size() - record_frame_bytes);
  if (parse_record_header(frame.first<record_header_bytes>()) != payload.size()) code = record_errc::corrupt_length;
  else if (!payload_matches(payload, frame.last<record_footer_bytes>())) code = record_errc::corrupt_payload;
  return payload;
}

DISTRIB_DECL auto unsigned_url(std::string_view url) -> std::string {
  std::string_view query = url.substr(std::min(url.find('?'), url.size()));
  std::string kept = shown_name(url.substr(0, url.size() - query.size()));
  while (!query.empty()) {
    const std::string_view parameter = query.substr(0, query.find('&', 1));
    query.remove_prefix(parameter.size());
    const std::string_view name = parameter.substr(1);
    if (!name.starts_with("X-Amz-") && !name.starts_with("X-Goog-")) kept += parameter;
  }
  return kept;
}

DISTRIB_DECL auto RemoteReads::add(RangedFile file, const std::string& name) -> std::size_t {
  file.piece_bytes = std::max<std::size_t>(file.piece_bytes, 1);
  std::string version = file.version;
  if (set_->cache) version += '/' + std::to_string(file.piece_bytes);
  // What cannot be recognised later is kept for this process alone.
  if (file.version.empty()) {
    static std::atomic<std::uint64_t> unnamed = 0;
    version += "unknown " + std::to_string(::getpid()) + ' ' + std::to_string(++unnamed) + ' ' +
               std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
  }
  std::string object = PieceCache::object_of(unsigned_url(name), version, file.bytes);
  const std::uint64_t pieces = set_->cache ? (file.bytes + file.piece_bytes - 1) / file.piece_bytes : 0;
  pieces_.emplace_back(static_cast<std::size_t>(pieces));
  largest_piece_ = std::max<std::uint64_t>(largest_piece_, std::min<std::uint64_t>(file.piece_bytes, file.bytes));
  set_->files.push_back({std::move(file), std::move(object)});
  return set_->files.size() - 1;
}

DISTRIB_DECL auto RemoteReads::most_bytes() const noexcept -> std::uint64_t {
  std::uint64_t most = 0;
  for (const RemoteSet::File& file : set_->files)
    most = std::max<std::uint64_t>(most, std::uint64_t{file.ranged.piece_bytes} * file.ranged.pieces_ahead);
  return most;
}

DISTRIB_DECL auto RemoteReads::piece(std::size_t file, std::uint64_t number) const -> std::shared_ptr<RemoteRange> {
  const std::lock_guard lock{mutex_};
  return piece_of(file, number);
}

DISTRIB_DECL auto RemoteReads::piece_of(std::size_t file, std::uint64_t number) const -> std::shared_ptr<RemoteRange> {
  std::weak_ptr<RemoteRange>* const known = set_->cache ? &pieces_[file][static_cast<std::size_t>(number)] : nullptr;
  std::shared_ptr<RemoteRange> range = known ? known->lock() : nullptr;
  if (range && !(range->done() && range->failed())) return range;
  const RangedFile& of = set_->files[file].ranged;
  const std::uint64_t first = number * of.piece_bytes;
  const FileExtent extent{file, first, std::min<std::uint64_t>(of.piece_bytes, of.bytes - first)};
  range = std::make_shared<RemoteRange>(set_, extent, known != nullptr);
  if (known) *known = range;
  return range;
}

DISTRIB_DECL void RemoteReads::pieces_of(std::span<const FileExtent> wanted,
                                         std::vector<std::shared_ptr<RemoteRange>>& ranges,
                                         std::vector<std::size_t>& first) const {
  const std::lock_guard lock{mutex_};
  for (const FileExtent& extent : wanted) {
    if (extent.bytes == 0) {
      first.push_back(0);
      continue;
    }
    const std::uint64_t piece_bytes = set_->files[extent.file].ranged.piece_bytes;
    std::uint64_t number = extent.first / piece_bytes;
    const FileExtent last = ranges.empty() ? FileExtent{} : ranges.back()->extent();
    const bool shares = last.bytes != 0 && last.file == extent.file && last.first == number * piece_bytes;
    first.push_back(ranges.size() - (shares ? 1 : 0));
    if (shares) ++number;
    for (; number * piece_bytes < extent.end(); ++number) ranges.push_back(piece_of(extent.file, number));
  }
}

DISTRIB_DECL auto RemoteReads::by_pieces() const -> bool {
  return set_->cache != nullptr && set_->cache->has_room_for(largest_piece_) &&
         steady_seconds() >= set_->cannot_keep_until;
}

DISTRIB_DECL auto RemoteReads::ranges_of(std::span<const FileExtent> wanted) const
    -> std::vector<std::shared_ptr<RemoteRange>> {
  std::uint64_t most = RangePlanOptions{}.most_bytes;
  if (!wanted.empty()) most = set_->files[wanted.front().file].ranged.piece_bytes;
  const RangePlan plan{wanted, {.join_bytes = std::min(RangePlanOptions{}.join_bytes, most), .most_bytes = most}};
  std::vector<std::shared_ptr<RemoteRange>> ranges;
  for (const FileExtent& extent : plan.ranges()) ranges.push_back(std::make_shared<RemoteRange>(set_, extent, false));
  return ranges;
}

DISTRIB_DECL void RemoteReads::want_ahead(const std::shared_ptr<RemoteRange>& range) const {
  const auto& post = set_->files[range->extent().file].ranged.post;
  if (!post || range->was_asked()) return;
  post([set = set_, weak = std::weak_ptr{range}] {
    if (const std::shared_ptr<RemoteRange> wanted = weak.lock(); wanted && !set->dropped) wanted->make();
  });
}

DISTRIB_DECL void RemoteReads::keep_mapped(const std::shared_ptr<RemoteRange>& range) const {
  if (!range->done() || !range->is_mapped() || range->is_kept()) return;
  std::shared_ptr<RemoteRange> last;  // unmapped without the lock
  const std::lock_guard lock{mutex_};
  if (range->was_kept()) return;
  mapped_.push_back(range);
  const std::uint64_t piece_bytes = set_->files[range->extent().file].ranged.piece_bytes;
  const std::uint64_t most = std::clamp<std::uint64_t>(set_->cache->limit() / piece_bytes, 1, most_mapped);
  if (mapped_.size() <= most) return;
  last = std::move(mapped_.front());
  last->was_kept(false);
  mapped_.pop_front();
}

DISTRIB_DECL auto RemoteBytes::read(std::span<std::byte> to, Error& error) -> std::size_t {
  error = {};
  const RangedFile& file = reads_->file(file_);
  if (at_ == file.bytes || to.empty()) return 0;
  const std::uint64_t pieces = (file.bytes - 1) / file.piece_bytes + 1;
  const std::uint64_t ahead = file.post ? std::max<std::size_t>(std::min(file.pieces_ahead, most_ahead_), 1) : 1;
  while (ahead_.size() < ahead && asked_ != pieces) {
    ahead_.push_back(reads_->piece(file_, asked_++));
    reads_->want_ahead(ahead_.back());
  }
  const ByteView bytes = ahead_.front()->bytes(error);
  if (error) return 0;
  const auto skipped = static_cast<std::size_t>(at_ - ahead_.front()->extent().first);
  const std::size_t count = std::min(to.size(), bytes.size() - skipped);
  std::memcpy(to.data(), bytes.data() + skipped, count);
  at_ += count;
  if (at_ == ahead_.front()->extent().end()) {
    reads_->keep_mapped(ahead_.front());
    ahead_.pop_front();
  }
  return count;
}

DISTRIB_DECL void share_out(const std::function<void(std::function<void()>)>& post, std::size_t helpers,
                            std::size_t count, const std::function<void(std::size_t)>& job) {
  struct Shared {
    std::function<void(std::size_t)> job;
    std::size_t count;
    std::atomic<std::size_t> next = 0;
    std::atomic<std::size_t> ended = 0;
    std::mutex mutex;
    std::exception_ptr thrown;
  };
  // A helper that begins late finds nothing to do, and may outlive the call.
  const auto shared = std::make_shared<Shared>(job, count);
  const auto work = [shared] {
    for (std::size_t i = 0; (i = shared->next++) < shared->count;) {
      try {
        shared->job(i);
      } catch (...) {
        const std::lock_guard lock{shared->mutex};
        if (!shared->thrown) shared->thrown = std::current_exception();
      }
      ++shared->ended;
      shared->ended.notify_all();
    }
  };
  for (std::size_t i = 0; post && i < helpers && i + 1 < count; ++i) post(work);
  work();
  for (std::size_t ended = 0; (ended = shared->ended) != count;) shared->ended.wait(ended);
  // Taken out: otherwise a helper that is late would free the exception while the caller reads it.
  if (shared->thrown) std::rethrow_exception(std::exchange(shared->thrown, nullptr));
}

// Returns the offsets in a list of ends, or nothing if they do not fit the file.
DISTRIB_DECL auto offsets_of_ends(ByteView ends, std::uint64_t file_bytes) -> std::vector<std::uint64_t> {
  std::vector<std::uint64_t> offsets(ends.size() / 8 + 1);
  if (ends.size() % 8 != 0) return {};
  if (!ends.empty()) std::memcpy(offsets.data() + 1, ends.data(), ends.size());
  for (std::size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] < offsets[i - 1] || offsets[i] - offsets[i - 1] < record_frame_bytes) return {};
  if (offsets.back() != file_bytes) return {};
  return offsets;
}

// Returns the offsets of the index beside a file; nothing if there is none that fits, or it cannot be read.
DISTRIB_DECL auto read_index_object(const OpenRemote& open, const RangedFile& file, const std::string& name)
    -> std::vector<std::uint64_t> {
  if (!open || file.version.empty()) return {};
  AnyByteSource source = open(index_object_name(name));
  std::vector<std::byte> index;
  std::vector<std::byte> block(1 << 20);
  Error ignored;  // then it is made anew
  while (const std::size_t count = source.read(block, ignored)) {
    index.insert(index.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(count));
    if (index.size() < index_object_head_bytes) continue;
    if (index.size() > index_object_bytes(index, file.bytes, file.version)) return {};  // it is another file
  }
  return ignored ? std::vector<std::uint64_t>{} : decode_index_object(index, file.bytes, file.version);
}

DISTRIB_DECL auto index_remote(const RemoteReads& reads, std::size_t file, const std::string& name, Error& error,
                               const OpenRemote& open, std::size_t most_ahead) -> std::vector<std::uint64_t> {
  error = {};
  const std::uint64_t bytes = reads.file(file).bytes;
  if (bytes == 0) return {0};
  if (reads.cache()) {
    const auto kept = reads.cache()->load(reads.object(file), "index", 0);
    std::vector<std::uint64_t> offsets = kept ? offsets_of_ends(kept->bytes(), bytes) : std::vector<std::uint64_t>{};
    if (!offsets.empty()) return offsets;
  }
  const auto keep = [&](std::span<const std::uint64_t> offsets) {
    if (!reads.cache()) return;
    static_cast<void>(reads.cache()->store(reads.object(file), "index", std::as_bytes(offsets.subspan(1))));
  };
  if (std::vector<std::uint64_t> told = read_index_object(open, reads.file(file), name); !told.empty()) {
    keep(told);
    return told;
  }
  RemoteBytes source{reads, file, 1};  // a compressed file will be read again from its beginning
  std::array<std::byte, detection_bytes> head{};
  std::size_t read = 0;
  while (read < std::min<std::uint64_t>(head.size(), bytes)) {
    const std::size_t count = source.read(std::span{head}.subspan(read), error);
    if (error) error.where = record_where(shown_name(name), 0, 0) + " (" + error.where + ')';
    if (error || count == 0) return {};
    read += count;
  }
  if (detect_compression(ByteView{head}.first(read)) != Compression::none) {
    error = {record_errc::compressed, shown_name(name)};
    return {};
  }
  source.read_ahead(most_ahead);
  const auto rest = [&, given = std::size_t{0}](std::span<std::byte> to, Error& failed) mutable -> std::size_t {
    if (given == read) return source.read(to, failed);
    const std::size_t count = std::min(to.size(), read - given);
    std::memcpy(to.data(), head.data() + given, count);
    given += count;
    return count;
  };
  struct Source {
    std::function<std::size_t(std::span<std::byte>, Error&)> next;
    auto read(std::span<std::byte> to, Error& failed) -> std::size_t { return next(to, failed); }
  };
  RecordReader reader{AnyByteSource{Source{rest}}, name, {.compression = Compression::none}};
  std::vector<std::uint64_t> offsets{0};
  while (const std::optional<Record> record = reader.try_next())
    offsets.push_back(record->offset + record_frame_bytes + record->bytes.size());
  error = reader.error();
  if (error) return {};
  if (offsets.back() != bytes) {  // the reader forgives a truncated header at the end
    error = {record_errc::truncated_header, record_where(shown_name(name), offsets.size() - 1, offsets.back())};
    return {};
  }
  keep(offsets);
  return offsets;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
