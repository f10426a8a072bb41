// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/data/piece_cache.hpp>

#include <distrib/core/crc32c.hpp>
#include <distrib/core/file_descriptor.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/core/sha256.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::size_t piece_trailer_bytes = 16;

DISTRIB_DECL auto piece_trailer(ByteView bytes) -> std::array<std::byte, piece_trailer_bytes> {
  std::array<std::byte, piece_trailer_bytes> trailer{};
  std::memcpy(trailer.data(), "distrPCE", 8);
  store_le(trailer.data() + 12, crc32c_extend(crc32c(bytes), ByteView{trailer}.first(12)));
  return trailer;
}

DISTRIB_DECL TimedFileLock::TimedFileLock(const std::string& path, std::chrono::milliseconds within) noexcept {
  std::error_code ignored;
  file_ = FileDescriptor{path, O_RDWR | O_CREAT, ignored};
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (file_.is_open() && ::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR && errno != EWOULDBLOCK) return;
    timed_out_ = std::chrono::steady_clock::now() >= deadline;
    if (timed_out_) return;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

}  // namespace detail

DISTRIB_DECL PieceCache::PieceCache(std::string directory, std::uint64_t limit, Error& error,
                                    std::chrono::milliseconds lock_wait)
    : directory_{detail::absolute_path(directory)}, limit_{limit}, lock_wait_{lock_wait} {
  error = {};
  detail::make_directories(directory_, error.code);
  if (!error && ::access(directory_.c_str(), R_OK | W_OK | X_OK) != 0) error.code = detail::last_os_error();
  if (error) {
    error.where = "cache \"" + directory + '"';
    return;
  }
  const detail::TimedFileLock held = lock();
  if (held.timed_out()) return;
  ::unlink((directory_ + "/.used").c_str());  // so that it is counted again: a process may have died between two steps
  static_cast<void>(make_room(0));
}

DISTRIB_DECL auto PieceCache::object_of(std::string_view name, std::string_view of_version, std::uint64_t bytes)
    -> std::string {
  Sha256 hash;
  for (const std::string_view text : {name, of_version}) {
    std::array<std::byte, 8> size;
    store_le(size.data(), std::uint64_t{text.size()});
    hash.update(size);
    hash.update(as_bytes(text));
  }
  std::array<std::byte, 8> size;
  store_le(size.data(), bytes);
  hash.update(size);
  return to_hex(ByteView{hash.finish()}.first(16));
}

DISTRIB_DECL auto PieceCache::has_room_for(std::uint64_t bytes) const noexcept -> bool {
  return limit_ >= detail::piece_trailer_bytes && bytes <= limit_ - detail::piece_trailer_bytes;
}

DISTRIB_DECL auto PieceCache::lock() -> detail::TimedFileLock {
  detail::TimedFileLock lock{directory_ + "/.lock", is_stuck_ ? std::chrono::milliseconds{0} : lock_wait_};
  is_stuck_ = lock.timed_out();
  return lock;
}

DISTRIB_DECL auto PieceCache::path_of(const std::string& object, const std::string& name) const -> std::string {
  return directory_ + '/' + object + '/' + name;
}

DISTRIB_DECL auto PieceCache::load(const std::string& object, const std::string& name, std::uint64_t bytes)
    -> std::shared_ptr<const CachedPiece> {
  const std::string path = path_of(object, name);
  std::error_code ec;
  MappedFile file{path, ec};
  if (ec || file.bytes().size() < detail::piece_trailer_bytes) return nullptr;
  const ByteView content = file.bytes().first(file.bytes().size() - detail::piece_trailer_bytes);
  if (bytes != 0 && content.size() != bytes) return nullptr;
  const auto expected = detail::piece_trailer(content);
  if (std::memcmp(expected.data(), content.data() + content.size(), expected.size()) != 0) return nullptr;
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // it was used now; if that fails, it is only removed earlier
  return std::make_shared<const CachedPiece>(std::move(file), content.size());
}

DISTRIB_DECL auto PieceCache::store(const std::string& object, const std::string& name, ByteView bytes)
    -> std::shared_ptr<const CachedPiece> {
  const std::string path = path_of(object, name);
  if (!keep(path, bytes)) return nullptr;
  std::error_code ec;
  MappedFile file{path, ec};
  if (ec || file.bytes().size() != bytes.size() + detail::piece_trailer_bytes) return nullptr;
  return std::make_shared<const CachedPiece>(std::move(file), bytes.size());
}

DISTRIB_DECL auto PieceCache::keep(const std::string& path, ByteView bytes) -> bool {
  const auto trailer = detail::piece_trailer(bytes);
  std::error_code ec;
  detail::NewFile made;
  {  // The file has its size before the lock is released, so it is counted from then on.
    const detail::TimedFileLock held = lock();
    if (held.timed_out()) return false;
    const std::uint64_t size = bytes.size() + trailer.size();
    if (!make_room(size)) return false;
    if (::mkdir(detail::directory_of(path).c_str(), 0777) != 0 && errno != EEXIST) return false;
    made = detail::create_hidden_file(path, ec);
    if (ec) return false;
    if (::ftruncate(made.file.get(), static_cast<::off_t>(size)) != 0) ec = detail::last_os_error();
  }
  if (!ec) made.file.write(bytes, ec);
  if (!ec) made.file.write(trailer, ec);
  std::error_code closing;
  made.file.close(closing);
  const detail::TimedFileLock held = lock();  // a count sees it under one of its names
  if (!ec && !closing && !held.timed_out() && std::rename(made.path.c_str(), path.c_str()) == 0) return true;
  ::unlink(made.path.c_str());
  return false;
}

DISTRIB_DECL auto PieceCache::all_kept(std::uint64_t& unfinished) const -> std::vector<Kept> {
  constexpr std::int64_t stale = std::int64_t{600} * 1'000'000'000;  // a process that died left it behind
  unfinished = 0;
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::vector<Kept> kept;
  std::error_code ignored;
  for (const std::string& object : detail::list_directory(directory_, ignored)) {
    if (object.starts_with('.')) continue;
    const std::string folder = directory_ + '/' + object;
    for (const std::string& name : detail::list_directory(folder, ignored)) {
      struct ::stat status{};
      std::string path = folder + '/' + name;
      if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
      const std::int64_t used = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
      if (name.starts_with('.')) {
        if (now - used > stale) ::unlink(path.c_str());
        else unfinished += static_cast<std::uint64_t>(status.st_size);
        continue;
      }
      kept.push_back({std::move(path), static_cast<std::uint64_t>(status.st_size), used});
    }
  }
  return kept;
}

DISTRIB_DECL auto PieceCache::make_room(std::uint64_t bytes) -> bool {
  if (bytes > limit_) return false;
  const std::string counter = directory_ + "/.used";
  std::error_code ec;
  const std::string text = detail::read_up_to(counter, 9, ec);
  std::uint64_t used = text.size() == 8 ? load_le<std::uint64_t>(as_bytes(text).data()) : limit_;
  if (text.size() != 8 || bytes > limit_ - std::min(used, limit_)) {
    std::vector<Kept> kept = all_kept(used);
    for (const Kept& piece : kept) used += piece.bytes;
    // A sixteenth more than necessary, so that not every piece makes all pieces be looked at.
    const std::uint64_t room = limit_ - bytes;
    if (used > room) {
      std::sort(kept.begin(), kept.end(),
                [](const Kept& a, const Kept& b) { return a.used != b.used ? a.used < b.used : a.path < b.path; });
      for (const Kept& piece : kept) {
        if (used <= room - room / 16) break;
        if (::unlink(piece.path.c_str()) != 0 && errno != ENOENT) continue;
        used -= piece.bytes;
        ::rmdir(detail::directory_of(piece.path).c_str());  // only if it was the last one there
      }
      if (used > room) return false;
    }
  }
  std::array<std::byte, 8> now;
  store_le(now.data(), used + bytes);
  const detail::FileDescriptor file{counter, O_WRONLY | O_CREAT, ec};
  return !ec && ::pwrite(file.get(), now.data(), now.size(), 0) == static_cast<::ssize_t>(now.size());
}

}  // namespace v0
}  // namespace distrib
