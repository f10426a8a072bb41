// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/record/remote_files.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace distrib {
inline namespace v0 {

/// A file on another machine that can be read at any place, in the state that it had when it was opened. A value;
/// copies share connections. Made by `RangedFiles`.
///
/// Threads: const access from any thread.
struct RangedFile {
  std::uint64_t bytes = 0;  ///< Size of the file.
  /// Names the content: another content has another text. Empty: the server does not tell. Only to be compared.
  std::string version = {};
  /// `read(first, to, dropped, error)` fills `to` with the bytes from `first` on, which must lie inside the file, or sets
  /// `error`: also if the file was replaced since it was opened. It must end soon after `dropped` became true.
  std::function<void(std::uint64_t first, std::span<std::byte> to, const std::atomic<bool>& dropped, Error& error)>
      read;
  /// `check(error)` asks for the version again: sets `error` if the file was replaced since it was opened.
  std::function<void(Error& error)> check = {};
  /// Runs a job on a thread that may wait for the network. Empty: there is none, the reader's thread does everything.
  std::function<void(std::function<void()> job)> post = {};
  std::size_t piece_bytes = 8 << 20;  ///< Most bytes that one request should ask for.
  std::size_t pieces_ahead = 4;  ///< How many times `piece_bytes` may be in memory for readers of this set of files.
};

/// `RemoteFiles` that can be read at any place: `files.ranged(name, error)` asks for size and version of a file; on
/// failure it sets `error` and returns nothing.
template <class F>
concept RangedFiles = RemoteFiles<F> && requires(const F& files, const std::string& name, Error& error) {
  { files.ranged(name, error) } -> std::same_as<std::optional<RangedFile>>;
};

/// Opens the file called `name` for reading any part of it. Returns nothing without an error if the file is on this
/// machine. An empty function means that no file can be opened so.
using OpenRanged = std::function<std::optional<RangedFile>(const std::string& name, Error& error)>;

}  // namespace v0
}  // namespace distrib
