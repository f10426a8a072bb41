// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>
#include <distrib/record/mapped_file.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

// A directory with pieces of remote files. A piece is the file DIRECTORY/OBJECT/NAME: its bytes, then a trailer of 16
// bytes: "distrPCE" · 8 zero u32 · 12 CRC-32C of all bytes before it u32, little-endian. OBJECT names a file and its
// content, so a piece never changes; it appears by a rename, whole. DIRECTORY/.used has the number of bytes of all
// pieces, as 8 bytes; who changes it, or begins, names or removes a piece, holds the lock of DIRECTORY/.lock.

/// Bytes of a piece as they lie in the cache: mapped, so that the system may drop and reread its pages.
class CachedPiece {
 public:
  CachedPiece(MappedFile file, std::size_t bytes) noexcept : file_{std::move(file)}, bytes_{bytes} {}
  [[nodiscard]] auto bytes() const noexcept -> ByteView { return file_.bytes().first(bytes_); }

 private:
  MappedFile file_;
  std::size_t bytes_;
};

namespace detail {

/// Holds a lock as `FileLock` does, but waits for it only for a while, because the process that has it may be frozen.
class TimedFileLock {
 public:
  DISTRIB_DECL TimedFileLock(const std::string& path, std::chrono::milliseconds within) noexcept;

  /// True if another lock was held all the time, so that there is no lock.
  [[nodiscard]] auto timed_out() const noexcept -> bool { return timed_out_; }

 private:
  FileDescriptor file_;
  bool timed_out_ = false;
};

}  // namespace detail

/// A local directory that keeps pieces of remote files, with a limit of bytes, for any number of processes at once. The
/// pieces that were not used for the longest time are removed first. A piece that is damaged counts as none.
///
/// A piece that is removed while a process has it mapped keeps its room on the disk until then.
///
/// Threads: any.
class PieceCache {
 public:
  /// Opens the directory, which is created if it does not exist, and counts what is in it. `limit`: bytes of all pieces
  /// together.
  ///
  /// Waits for the lock of the directory at most `lock_wait`, because the process that has it may be frozen; then this one
  /// keeps nothing.
  ///
  /// Errors: sets `error` to the system's reason, with the directory.
  DISTRIB_DECL PieceCache(std::string directory, std::uint64_t limit, Error& error,
                          std::chrono::milliseconds lock_wait = std::chrono::seconds{10});

  /// Returns the name of the folder for a file with this name and this content: the same for every process.
  [[nodiscard]] DISTRIB_DECL static auto object_of(std::string_view name, std::string_view of_version,
                                                   std::uint64_t bytes) -> std::string;

  /// Returns a piece of `bytes` bytes (0: of any size), or null if it is missing, damaged, or has another size.
  [[nodiscard]] DISTRIB_DECL auto load(const std::string& object, const std::string& name, std::uint64_t bytes)
      -> std::shared_ptr<const CachedPiece>;

  /// Keeps a piece and returns it; removes older pieces for it if necessary. Returns null if it cannot be kept: it is
  /// larger than the limit, the disk is full or fails, or a process that has the lock is frozen. Then the caller goes on
  /// without.
  [[nodiscard]] DISTRIB_DECL auto store(const std::string& object, const std::string& name, ByteView bytes)
      -> std::shared_ptr<const CachedPiece>;

  [[nodiscard]] auto limit() const noexcept -> std::uint64_t { return limit_; }
  /// True if a piece of so many bytes is not too large for the limit.
  [[nodiscard]] DISTRIB_DECL auto has_room_for(std::uint64_t bytes) const noexcept -> bool;

 private:
  struct Kept {
    std::string path;
    std::uint64_t bytes;
    std::int64_t used;  // when it was used last, in nanoseconds since 1970
  };

  auto path_of(const std::string& object, const std::string& name) const -> std::string;
  /// Takes the lock of the directory.
  auto lock() -> detail::TimedFileLock;
  auto keep(const std::string& path, ByteView bytes) -> bool;
  /// Makes room for `bytes` bytes and counts them. The lock must be held.
  auto make_room(std::uint64_t bytes) -> bool;
  /// Returns all pieces. `unfinished`: bytes of those that are being written now.
  auto all_kept(std::uint64_t& unfinished) const -> std::vector<Kept>;

  std::string directory_;
  std::uint64_t limit_;
  std::chrono::milliseconds lock_wait_;
  std::atomic<bool> is_stuck_ = false;  // the last wait for the lock was too long: now nobody waits
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/data/impl/piece_cache.ipp>
#endif
