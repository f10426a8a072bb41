// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/data/piece_cache.hpp>
#include <distrib/data/range_plan.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/ranged_file.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The remote files of a data set, and what all their ranges share.
struct RemoteSet {
  struct File {
    RangedFile ranged;
    std::string object;  ///< The name of its folder in the cache.
  };
  std::deque<File> files;  ///< Grows only; the elements stay where they are.
  std::shared_ptr<PieceCache> cache;  ///< Null: nothing is kept.
  std::atomic<bool> dropped = false;  ///< True: nobody needs the ranges any more.
  std::atomic<std::uint64_t> held = 0;  ///< Bytes of ranges that are in memory, or asked for.
  /// `steady_seconds()` from which on the cache is used again, after it could not keep a piece.
  std::atomic<std::int64_t> cannot_keep_until = 0;
  static constexpr std::int64_t seconds_without_pieces = 600;
};

/// Returns the time in seconds, by a clock that does not jump.
[[nodiscard]] DISTRIB_DECL auto steady_seconds() -> std::int64_t;

/// A range of a remote file. It is fetched once, by the thread that claims it first: a thread of the file's pool, or the
/// reader that needs it. A piece of the cache is fetched only if the cache does not have it.
///
/// Threads: any.
class RemoteRange {
 public:
  /// `is_piece`: it is a piece of the cache, which the set must have.
  RemoteRange(std::shared_ptr<RemoteSet> set, const FileExtent& extent, bool is_piece)
      : set_{std::move(set)},
        file_{&set_->files[extent.file]},
        extent_{extent},
        is_piece_{is_piece},
        held_{extent.bytes} {
    set_->held += held_;
  }
  RemoteRange(const RemoteRange&) = delete;
  auto operator=(const RemoteRange&) -> RemoteRange& = delete;
  ~RemoteRange() { set_->held -= held_; }

  [[nodiscard]] auto extent() const noexcept -> const FileExtent& { return extent_; }

  /// Fetches it, unless a thread has claimed it.
  DISTRIB_DECL void make() noexcept;

  /// Returns its bytes: fetches it, or waits for the thread that does. They are valid as long as this object. On failure
  /// sets `error`. Throws what fetching it threw.
  [[nodiscard]] DISTRIB_DECL auto bytes(Error& error) -> ByteView;

  /// True if it was fetched, or could not be: `bytes` does not wait.
  [[nodiscard]] auto done() const noexcept -> bool { return state_.load(std::memory_order_acquire) == State::done; }
  /// True if it could not be fetched. Only if `done()`.
  [[nodiscard]] auto failed() const noexcept -> bool { return error_ || thrown_; }
  /// Returns its bytes if they are here; none if they are still fetched, or could not be. Does not wait.
  [[nodiscard]] auto bytes_here() const noexcept -> ByteView { return done() ? view_ : ByteView{}; }
  /// True if its bytes lie in the cache, and take no memory of this process. Only if `done()`.
  [[nodiscard]] auto is_mapped() const noexcept -> bool { return piece_ != nullptr; }

  /// Returns false at the first call, and true later.
  auto was_asked() noexcept -> bool { return asked_.exchange(true); }

  /// Sets what the next call returns; the first call returns false. For `RemoteReads`, under its lock.
  auto was_kept(bool kept = true) noexcept -> bool { return kept_.exchange(kept); }
  [[nodiscard]] auto is_kept() const noexcept -> bool { return kept_; }

 private:
  enum class State : int { wanted, begun, done };

  DISTRIB_DECL void fetch();
  /// Gives the bytes to the cache.
  DISTRIB_DECL void keep(const std::string& number);

  std::shared_ptr<RemoteSet> set_;
  const RemoteSet::File* file_;  // found by the thread that may add files, not by a thread of the pool
  FileExtent extent_;
  bool is_piece_;
  std::uint64_t held_;  // how much of `set_->held` is its own
  std::atomic<State> state_ = State::wanted;
  std::vector<std::byte> bytes_;
  std::shared_ptr<const CachedPiece> piece_;
  ByteView view_;  // its bytes; none if they could not be fetched
  Error error_;
  std::exception_ptr thrown_;
  std::atomic<bool> asked_ = false;
  std::atomic<bool> kept_ = false;
};

/// Returns the payload of a whole frame of a record file. Sets `code` to `record_errc::corrupt_length` or
/// `corrupt_payload` if the frame is damaged.
[[nodiscard]] DISTRIB_DECL auto payload_of(ByteView frame, std::error_code& code) -> ByteView;

/// Returns a URL without what signs it for a while (X-Amz-..., X-Goog-...), which differs at each run. The rest of its
/// query stays: it may be all that tells two files apart, and an ETag is unique for one URL only.
[[nodiscard]] DISTRIB_DECL auto unsigned_url(std::string_view url) -> std::string;

/// The ranges of some remote files that are in memory, in the cache, or asked for.
///
/// Threads: const access from any thread.
class RemoteReads {
 public:
  /// `cache` may be null.
  explicit RemoteReads(std::shared_ptr<PieceCache> cache) : set_{std::make_shared<RemoteSet>()} {
    set_->cache = std::move(cache);
  }
  RemoteReads(const RemoteReads&) = delete;
  auto operator=(const RemoteReads&) -> RemoteReads& = delete;
  ~RemoteReads() { set_->dropped = true; }

  /// Adds a file and returns its number. `name`: names it in the cache.
  DISTRIB_DECL auto add(RangedFile file, const std::string& name) -> std::size_t;

  [[nodiscard]] auto file(std::size_t number) const noexcept -> const RangedFile& { return set_->files[number].ranged; }
  [[nodiscard]] auto cache() const noexcept -> const std::shared_ptr<PieceCache>& { return set_->cache; }
  [[nodiscard]] auto object(std::size_t number) const noexcept -> const std::string& {
    return set_->files[number].object;
  }

  /// Returns how many bytes of ranges are in memory or asked for, and how many may be.
  [[nodiscard]] auto held_bytes() const noexcept -> std::uint64_t { return set_->held; }
  [[nodiscard]] DISTRIB_DECL auto most_bytes() const noexcept -> std::uint64_t;

  /// True if records are read by pieces of the cache. False without a cache, and while it cannot keep pieces: whole pieces
  /// in memory would be many times the records.
  [[nodiscard]] DISTRIB_DECL auto by_pieces() const -> bool;

  /// Returns the ranges that have the bytes of `wanted`, sorted by file and offset, as `RangePlan` cuts. If not
  /// `by_pieces()`.
  [[nodiscard]] DISTRIB_DECL auto ranges_of(std::span<const FileExtent> wanted) const
      -> std::vector<std::shared_ptr<RemoteRange>>;

  /// Appends to `ranges` the pieces of the cache that have the bytes of `wanted`, in that order, and to `first` for each
  /// extent the number in `ranges` of the piece with its first byte; an extent of no bytes gets 0. Extents one behind the
  /// other share pieces. For `by_pieces()`.
  DISTRIB_DECL void pieces_of(std::span<const FileExtent> wanted, std::vector<std::shared_ptr<RemoteRange>>& ranges,
                              std::vector<std::size_t>& first) const;

  /// Returns piece `number` of a file. All who ask for the same piece while it is held get the same one.
  [[nodiscard]] DISTRIB_DECL auto piece(std::size_t file, std::uint64_t number) const -> std::shared_ptr<RemoteRange>;

  /// Lets a thread of the pool fetch a range, if there is a pool.
  DISTRIB_DECL void want_ahead(const std::shared_ptr<RemoteRange>& range) const;

  /// Keeps a piece that lies in the cache mapped, as long as there are not too many.
  DISTRIB_DECL void keep_mapped(const std::shared_ptr<RemoteRange>& range) const;

 private:
  static constexpr std::size_t most_mapped = 16'384;  // the system allows 65,530 mappings

  /// As `piece`; the lock must be held.
  auto piece_of(std::size_t file, std::uint64_t number) const -> std::shared_ptr<RemoteRange>;

  std::shared_ptr<RemoteSet> set_;
  std::uint64_t largest_piece_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::vector<std::weak_ptr<RemoteRange>>> pieces_;  // of each file; without a cache none
  mutable std::deque<std::shared_ptr<RemoteRange>> mapped_;
};

/// The bytes of a remote file in order, a `ByteSource`; its ranges are fetched ahead.
///
/// Threads: one at a time. `reads` must outlive it.
class RemoteBytes {
 public:
  /// `most_ahead`: most pieces that are fetched at once; `RangedFile::pieces_ahead` if that is less.
  RemoteBytes(const RemoteReads& reads, std::size_t file, std::size_t most_ahead = static_cast<std::size_t>(-1))
      : reads_{&reads}, file_{file}, most_ahead_{most_ahead} {}

  [[nodiscard]] DISTRIB_DECL auto read(std::span<std::byte> to, Error& error) -> std::size_t;

  /// From now on so many pieces are fetched at once.
  void read_ahead(std::size_t most) noexcept { most_ahead_ = most; }

 private:
  const RemoteReads* reads_;
  std::size_t file_;
  std::size_t most_ahead_;
  std::uint64_t at_ = 0;  // offset of the next byte
  std::uint64_t asked_ = 0;  // pieces that were asked for
  std::deque<std::shared_ptr<RemoteRange>> ahead_;  // the first has the next byte
};

/// Calls `job(i)` for each `i` below `count`: on this thread, and on up to `helpers` threads that `post` lends, if it is
/// not empty. Returns when all calls have ended, and throws the first exception of a call.
DISTRIB_DECL void share_out(const std::function<void(std::function<void()>)>& post, std::size_t helpers,
                            std::size_t count, const std::function<void(std::size_t)>& job);

/// Finds the records of a remote file: returns where each begins, and where the last one ends. Takes the list from the
/// cache if it has one; else from the index beside the file (`record/index_object.hpp`), which `open` opens; otherwise
/// reads the file once and verifies it. Keeps the list in the cache. `most_ahead`: as for `RemoteBytes`.
///
/// Errors: sets `error` to `record_errc::compressed`, to another `record_errc` with file, record and offset, or to what
/// reading reports.
[[nodiscard]] DISTRIB_DECL auto index_remote(const RemoteReads& reads, std::size_t file, const std::string& name,
                                             Error& error, const OpenRemote& open = {},
                                             std::size_t most_ahead = static_cast<std::size_t>(-1))
    -> std::vector<std::uint64_t>;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/data/impl/remote_ranges.ipp>
#endif
